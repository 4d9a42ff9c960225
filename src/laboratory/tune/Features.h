// Features of a schedule for the learned cost model, in three sets with AutoTVM's names (Chen et
// al., "Learning to optimize tensor programs", NeurIPS 2018).
//
//   knob     the values of the schedule's parameters
//   itervar  every loop of the schedule's loop nest: extent, kind, products of extents, bytes touched and reuse
//   curve    samples of the relations between iterations, bytes touched and reuse of the loop nest
//
// Each set begins with the same features: the problem, the machine, the algorithm, and the analytic
// prediction, part by part. A feature means the same for every family, algorithm, problem and
// machine, so that a model trained on some serves others. NaN: the feature does not apply.
#pragma once

#include "codegen/space/KernelFacts.h"
#include "tune/LearnedModel.h"

#include <string>
#include <string_view>
#include <vector>

namespace lathe::tune {

enum class FeatureSet { knob, itervar, curve };
inline constexpr FeatureSet featureSets[] = {FeatureSet::knob, FeatureSet::itervar, FeatureSet::curve};
std::string_view name(FeatureSet set);

/// Raised when a feature changes its meaning without changing its name: models that were trained before no
/// longer fit (tune/ModelFile.h).
inline constexpr int featureVersion = 1;

/// Names of the features of a set, in their order: "cost.compute", "knob.px", "loop.3.extent".
const std::vector<std::string> &featureNames(FeatureSet set);

/// Computes the features of schedules of one kernel.
class Features {
public:
  /// `facts` must outlive the object. Chooses the schedule of lowest predicted cost, to which
  /// predictions are compared.
  Features(const KernelFacts &facts, FeatureSet set);

  /// Features of a legal schedule, and its predicted cycles.
  Example example(const Schedule &schedule, size_t task = 0) const;

private:
  const KernelFacts &facts;
  FeatureSet set;
  std::vector<float> problem; // features that all schedules of the kernel have in common
  double leastCycles = 0;     // lowest predicted cost; NaN if no schedule is known
};

} // namespace lathe::tune
