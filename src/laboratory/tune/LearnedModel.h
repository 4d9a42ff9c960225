// The learned cost model: gradient-boosted trees (XGBoost, Chen and Guestrin, KDD 2016) that correct the analytic cost
// model.
//
// The trees start from the analytic prediction and learn its errors: the margin of a schedule is minus the logarithm of
// its predicted cycles, and the trees add to it. So an untrained model orders schedules like the analytic model. A
// model may also start from the scores of another model, which was trained on other tasks (the global and the local
// model of Chen et al., NeurIPS 2018). Only the order within a task is learned; times of different tasks are never
// compared.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lathe::tune {

class LearnedModel;

enum class Objective {
  regression, // the model learns times; the loss is the squared error of the logarithm of the time
  ranking     // the model learns to put pairs of schedules of a task in the right order
};

/// A schedule as input of the learned cost model. NaN: the feature does not apply to the schedule.
struct Example {
  size_t task = 0; // number of the schedule's task, the same for all schedules of the task
  std::vector<float> features;
  double cycles = 0; // cycles that the analytic model predicts; above 0
};

/// A measured schedule, from which the cost model learns.
struct TrainingExample : Example {
  double seconds = 0; // measured seconds; above 0
};

struct LearnedModelOptions {
  Objective objective = Objective::regression;
  int rounds = 120; // number of trees
  int depth = 6;    // depth of a tree
  double rate = 0.1;
  uint64_t seed = 1;
  int threads = 1;
  // model whose scores the trees correct; null: they correct the analytic model's
  std::shared_ptr<const LearnedModel> start;
};

class LearnedModel {
public:
  explicit LearnedModel(const LearnedModelOptions &options = {});
  ~LearnedModel();
  LearnedModel(LearnedModel &&) noexcept;
  LearnedModel &operator=(LearnedModel &&) noexcept;

  /// Discards what the model has learned and learns from `examples`, which all have the same number of features. Does
  /// nothing without examples.
  void fit(const std::vector<TrainingExample> &examples);
  /// True if the model can score: after fit() with examples, or after load().
  bool trained() const;
  /// Scores of schedules: of two schedules of the same task, the one with the higher score is expected to be faster.
  /// With the objective regression, differences of scores are logarithms of ratios of times.
  std::vector<double> score(const std::vector<Example> &examples) const;

  /// The trees of the model as XGBoost's JSON, without the model that they start from. Throws Error if the model is
  /// not trained, or was loaded.
  std::string save() const;
  /// Replaces the trees of the model by saved ones. `columns`: the position in examples of each feature that the trees
  /// were trained on; empty: unchanged positions. Throws Error for a text that is not a saved model, or that has
  /// another number of features.
  void load(const std::string &text, std::vector<size_t> columns = {});

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace lathe::tune
