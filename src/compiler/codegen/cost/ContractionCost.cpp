#include "codegen/cost/ContractionCost.h"

namespace lathe {

Prediction ContractionFacts::predict(const Schedule &schedule) const {
  return std::visit([&](const auto &plan) { return lathe::predict(*this, plan); }, planOf(*this, schedule));
}

} // namespace lathe
