// Features of a schedule for the learned cost model, in three sets with AutoTVM's names (Chen et al., "Learning to
// optimize tensor programs", NeurIPS 2018).
//
//   knob     the values of the schedule's parameters
//   itervar  every loop of the schedule's loop nest: extent, kind, products of extents, bytes touched and reuse
//   curve    samples of the relations between iterations, bytes touched and reuse of the loop nest
//
// Each set begins with the same features: the problem, the machine, the algorithm, and the parts of the analytic
// prediction. A feature has the same meaning for every family, algorithm, problem and machine, so a model that is
// trained on some of them also serves others. NaN: the feature does not apply.
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

/// Version of the features. Raise it when a feature changes its meaning but not its name: models trained before then no
/// longer fit (tune/ModelFile.h).
inline constexpr int featureVersion = 1;

/// Names of the features of a set, in the order of the features: "cost.compute", "knob.px", "loop.3.extent".
const std::vector<std::string> &featureNames(FeatureSet set);

/// Computes the features of schedules of one kernel.
class Features {
public:
  /// `facts` must outlive the object. Finds the schedule of lowest predicted cost, with which all predictions are
  /// compared.
  Features(const KernelFacts &facts, FeatureSet set);

  /// Returns the features of a legal schedule with its predicted cycles.
  Example example(const Schedule &schedule, size_t task = 0) const;

private:
  const KernelFacts &facts;
  FeatureSet set;
  std::vector<float> problem; // the features that all schedules of the kernel share
  double leastCycles = 0;     // lowest predicted cost of a schedule; NaN if none is known
};

} // namespace lathe::tune
