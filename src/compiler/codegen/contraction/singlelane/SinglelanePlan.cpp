#include "codegen/contraction/singlelane/SinglelanePlan.h"

namespace lathe {

SinglelanePlan makeSinglelanePlan(const Target &target, const ConvGeometry &conv, Schedule schedule) {
  schedule.algorithm = "lanewise";
  schedule.numbers["rows"] = conv.out[0] * conv.out[1];
  return {makeLanewisePlan(target, conv, schedule)};
}

} // namespace lathe
