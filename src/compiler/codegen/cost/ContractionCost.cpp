#include "codegen/cost/ContractionCost.h"

namespace lathe {

Prediction ContractionFacts::predict(const Schedule &schedule) const {
  const std::string &algorithm = schedule.algorithm;
  if (algorithm == "separable")
    return predictSeparable(*this, makeSeparablePlan(*this, *separable, schedule));
  if (algorithm == "amx")
    return predictTiles(*this, conv ? makeTilePlan(target, *conv, schedule) : makeTilePlan(target, *gemm, schedule));
  if (algorithm == "gemm")
    return predictGemm(*this, makeGemmPlan(target, *gemm, schedule));
  if (algorithm == "direct")
    return predictDirect(*this, makeDirectPlan(*this, *conv, schedule));
  if (algorithm == "winograd")
    return predictWinograd(*this, makeWinogradPlan(*this, *conv, schedule));
  return predictLanewise(*this, makeLanewisePlan(target, *conv, schedule));
}

} // namespace lathe
