// Transfer: models of measured schedules of other tasks, which searchers start from (the global model
// of Chen et al., NeurIPS 2018, section 4).
#pragma once

#include "tune/Evaluation.h"
#include "tune/ModelSearcher.h"

#include <map>
#include <set>

namespace lathe::tune {

/// Limits on what one model learns from, so that its training takes seconds (docs/tuning.md).
struct TransferLimits {
  size_t tasks = 200, schedules = 4000;
};

/// Takes a sample where there is more than the limits allow: tasks at random, then as many schedules of each task as
/// possible, at random. Leaves out tasks with less than two schedules, because they teach nothing. Equal seeds give
/// equal samples.
std::vector<MeasuredTask> sampled(std::vector<MeasuredTask> tasks, const TransferLimits &limits, uint64_t seed);

/// Models of the measured schedules of one kernel family.
///
/// A task that is tuned may be among the measured ones. Its searcher gets its times as trials, so the
/// model for it is trained without them. The tasks that are both measured and tuned divide into at
/// most five parts, and each part has a model trained without it.
class TransferModels {
public:
  /// Groups of `known` tell tasks apart: of one task on two machines two. `tuned`: the groups of all
  /// tasks that are tuned. `known` is what `sampled` returns. The models start from `start`, which was
  /// trained elsewhere; null: from the analytic model.
  TransferModels(std::vector<MeasuredTask> known, const std::set<std::string> &tuned, const ModelKind &kind,
                 std::shared_ptr<const LearnedModel> start = nullptr);

  /// The model for the task of this group; `start` if nothing is known of others. It is trained when it
  /// is first asked for.
  std::shared_ptr<const LearnedModel> modelFor(const std::string &group);

  /// What the models are trained on.
  size_t tasks() const;
  size_t schedules() const;

private:
  std::vector<MeasuredTask> known; // none that no model may use
  ModelKind kind;
  std::shared_ptr<const LearnedModel> start;
  std::map<std::string, size_t> parts;                           // of groups that are measured and tuned
  std::vector<TrainingExample> examples;                         // of `known`; empty before the first training
  std::map<size_t, std::shared_ptr<const LearnedModel>> trained; // by the part that is left out
};

} // namespace lathe::tune
