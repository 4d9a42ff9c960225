// Transfer: models trained on measured schedules of other tasks, from which searchers start (the global model of Chen
// et al., NeurIPS 2018, section 4).
#pragma once

#include "tune/Evaluation.h"
#include "tune/ModelSearcher.h"

#include <map>
#include <set>

namespace lathe::tune {

/// Limits on the training data of one cost model, so that training takes seconds (docs/tuning.md).
struct TransferLimits {
  size_t tasks = 200, schedules = 4000;
};

/// Draws a random sample of the measured tasks if they exceed the limits: random tasks, then as many random schedules
/// of each task as possible. Leaves out tasks with fewer than two schedules, from which no order can be learned. Equal
/// seeds give equal samples.
std::vector<MeasuredTask> sampled(std::vector<MeasuredTask> tasks, const TransferLimits &limits, uint64_t seed);

/// Models for the measured schedules of one kernel family.
///
/// A task that is tuned may also be among the measured ones. Its searcher already gets its times as trials, so the
/// model for it is trained without them. The tasks that are both measured and tuned are divided into at most five
/// parts, and a model is trained without each part.
class TransferModels {
public:
  /// Groups of `known` distinguish tasks: the same task on two machines has two groups. `tuned`: the groups of all
  /// tasks that are tuned. `known` is a result of `sampled`. The models start from `start`, which was trained
  /// elsewhere, or from the analytic model (null).
  TransferModels(std::vector<MeasuredTask> known, const std::set<std::string> &tuned, const ModelKind &kind,
                 std::shared_ptr<const LearnedModel> start = nullptr);

  /// The model from which the search of the task with this group starts; `start` if no other task is known. The first
  /// call trains the models.
  std::shared_ptr<const LearnedModel> modelFor(const std::string &group);

  /// Number of tasks that the models are trained on.
  size_t tasks() const;
  size_t schedules() const;

private:
  std::vector<MeasuredTask> known; // measured tasks, except those that no model may use
  ModelKind kind;
  std::shared_ptr<const LearnedModel> start;
  std::map<std::string, size_t> parts;   // part of each group that is both measured and tuned
  std::vector<TrainingExample> examples; // training examples made from `known`; empty before the first training
  // trained models, by the part that was left out of their training
  std::map<size_t, std::shared_ptr<const LearnedModel>> trained;
};

} // namespace lathe::tune
