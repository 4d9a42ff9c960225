// The learned cost model: gradient-boosted trees (XGBoost, Chen and Guestrin, KDD 2016) that
// correct the analytic cost model.
//
// The trees start from the analytic prediction and learn what it gets wrong: the margin of a
// schedule is minus the logarithm of its predicted cycles, and the trees add to it. So a model
// without training orders schedules as the analytic model does. A model may also start from the
// scores of another model: of one that was trained on other tasks (the global and the local model
// of Chen et al., NeurIPS 2018). Only the order within a task is learned; times of different tasks
// are never compared.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lathe::tune {

class LearnedModel;

enum class Objective {
  regression, // squared error of the logarithm of the time
  ranking     // pairs of schedules of a task in the right order
};

/// A schedule as the model sees it. NaN: the feature does not apply to the schedule.
struct Example {
  size_t task = 0; // schedules of one task have one number
  std::vector<float> features;
  double cycles = 0; // predicted by the analytic model, above 0
};

/// A measured schedule.
struct TrainingExample : Example {
  double seconds = 0; // above 0
};

struct LearnedModelOptions {
  Objective objective = Objective::regression;
  int rounds = 120; // trees
  int depth = 6;    // of a tree
  double rate = 0.1;
  uint64_t seed = 1;
  int threads = 1;
  std::shared_ptr<const LearnedModel> start; // its scores are what the trees add to; null: the analytic model
};

class LearnedModel {
public:
  explicit LearnedModel(const LearnedModelOptions &options = {});
  ~LearnedModel();
  LearnedModel(LearnedModel &&) noexcept;
  LearnedModel &operator=(LearnedModel &&) noexcept;

  /// Forgets what it learned and learns from the examples. All have equally many features. Does
  /// nothing without examples.
  void fit(const std::vector<TrainingExample> &examples);
  /// True after fit() with examples, or after load().
  bool trained() const;
  /// Scores of schedules: of two of one task the one with the higher score is expected to be
  /// faster. With the objective regression differences are logarithms of ratios of times.
  std::vector<double> score(const std::vector<Example> &examples) const;

  /// The trees as XGBoost's JSON, without the model that they start from. Throws Error if the model
  /// is not trained, or was loaded.
  std::string save() const;
  /// Replaces the trees by saved ones. `columns`: the place in examples of each feature that the trees were trained on;
  /// empty: their own places. Throws Error for a text that is not a saved model, or is of another number of features.
  void load(const std::string &text, std::vector<size_t> columns = {});

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace lathe::tune
