// Measures how well scores order schedules by their measured times, and how well a learned cost model orders
// schedules that it was not trained on.
#pragma once

#include "tune/Features.h"

#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace lathe::tune {

struct MeasuredSchedule {
  Schedule schedule;
  std::vector<double> seconds; // samples of the time of one run; at least one, each above 0

  /// Returns the shortest measured time of the schedule, in seconds.
  double best() const;
};

struct MeasuredTask {
  std::string label;
  /// Name of a group, such as a network: tasks of the same group are held out together.
  std::string group;
  std::shared_ptr<const KernelFacts> facts;
  std::vector<MeasuredSchedule> schedules;
};

/// True if `slow` is more than 5 % slower than `fast`, both in the samples with even indices and in the samples with
/// odd indices: noise alone rarely does that.
bool differ(const MeasuredSchedule &fast, const MeasuredSchedule &slow);

/// Quality of scores that order the schedules of tasks by speed. Accuracy, peaks and squared errors are means over
/// tasks, weighted by their numbers of schedules, as in the evaluation of TenSet (Zheng et al., NeurIPS 2021, Datasets
/// and Benchmarks; scripts/train_model.py).
struct Ranking {
  size_t tasks = 0, schedules = 0;
  size_t pairs = 0; // number of pairs of schedules that differ (see `differ`)
  /// Share of the pairs of a task that the scores order correctly; the mean over tasks with pairs. Equal scores count
  /// half.
  double accuracy = 0;
  /// Let f(i) be the speed of the fastest among the i schedules of highest score, over the speed of
  /// the fastest of all. peak@k is the mean of f(1) ... f(k), as in TenSet.
  double peak1 = 0, peak5 = 0;
  /// Root of the mean squared difference between score and logarithm of speed, each minus its mean over the task. If
  /// scores are logarithms of speeds, an rmse of 0.1 is an error of about 10 %.
  double rmse = 0;
};

/// Sums up the figures of a Ranking over tasks.
class RankingSum {
public:
  /// Adds the schedules of a task with their scores, where higher means faster. Ignores a task with less than two
  /// schedules.
  void add(std::span<const MeasuredSchedule *const> schedules, std::span<const double> scores);
  Ranking mean() const;

private:
  Ranking sums;
  double weights = 0, pairWeights = 0;
};

/// Which schedules are held out from training together.
enum class HeldOut {
  schedules, // a share of each task's schedules, so the model knows other schedules of the task
  groups,    // whole groups of tasks
  chosen     // the groups in EvaluationOptions::chosen, in a single training
};

struct EvaluationOptions {
  HeldOut heldOut = HeldOut::schedules;
  size_t parts = 5; // number of parts; each part is held out once, and a model is trained on the others
  uint64_t seed = 1;
  std::set<std::string> chosen = {}; // groups of tasks that are held out; only for HeldOut::chosen

  /// Number of models that an evaluation with these options trains and tests.
  size_t trainings() const { return heldOut == HeldOut::chosen ? 1 : parts; }
};

/// The result of an evaluation of a cost model: one model was trained and tested for each part.
struct Evaluation {
  Ranking ranking;
  double fitSeconds = 0;   // seconds of one training
  double scoreSeconds = 0; // seconds for computing the score of one schedule, features included
};

/// Returns for each schedule of each task the number of the part in which it is held out; trainings() or more if it is
/// in no part.
std::vector<std::vector<size_t>> partsOf(const std::vector<MeasuredTask> &tasks, const EvaluationOptions &options);

Evaluation evaluate(const std::vector<MeasuredTask> &tasks, FeatureSet set, const LearnedModelOptions &model,
                    const EvaluationOptions &options);
/// Evaluates the analytic cost model (which needs no training) on the same parts as `evaluate`.
Evaluation evaluateAnalytic(const std::vector<MeasuredTask> &tasks, const EvaluationOptions &options);

/// Makes every measured schedule an example for a learned cost model; the task's number is its index in `tasks`.
std::vector<TrainingExample> trainingExamples(const std::vector<MeasuredTask> &tasks, FeatureSet set);

} // namespace lathe::tune
