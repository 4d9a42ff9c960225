// The searchers xgb and xgb_rank: simulated annealing over the scores of a learned cost model (Chen et al., "Learning
// to optimize tensor programs", NeurIPS 2018).
//
// The model is fitted to all trials of the task and starts from the analytic model. With a model of other tasks
// (StartModel), proposals alternate between this start and the analytic start, until enough trials have passed; then
// the better start stays. Annealing ends with a descent from the best point of each algorithm. Proposals are the best
// visited points that were not proposed before, chosen greedily: a point gains by parameter values that no other point
// of the batch has. A few are random.
#pragma once

#include "tune/Features.h"
#include "tune/Searcher.h"

#include <map>

namespace lathe::tune {

/// The kind of learned model that a searcher uses.
struct ModelKind {
  FeatureSet features = FeatureSet::itervar;
  Objective objective = Objective::regression;

  friend bool operator==(const ModelKind &, const ModelKind &) = default;
};
/// The name of the searcher that uses this kind of model, such as "xgb_itervar".
std::string name(const ModelKind &kind);
/// Parses the name of a searcher with a learned model: "xgb", "xgb_knob", "xgb-rank-curve" and similar names; nothing
/// for other names.
std::optional<ModelKind> modelKindOf(const std::string &searcher);

class ModelSearcher : public Searcher {
public:
  ModelSearcher(const Space &space, uint64_t seed, std::vector<Point> starts, const ModelKind &kind,
                StartModel startModel);

  /// Returns the speedup that the model of other tasks expects, if its scores have a unit.
  std::optional<double> expectedSpeedup() override;

private:
  struct Scored {
    double score;
    Point point;
  };

  ModelKind kind;
  uint64_t seed;
  Features features;
  StartModel startModel; // function that gives the model of other tasks; empty after the first proposal
  std::shared_ptr<const LearnedModel> start; // model trained on other tasks; null: none
  std::shared_ptr<const LearnedModel> base;  // model whose scores `model` corrects; null: the analytic model
  std::optional<LearnedModel> model;         // the fitted model; empty if trials were reported since it was fitted
  std::vector<Trial> reported;
  std::vector<TrainingExample> examples; // one example for each trial in `reported`
  std::vector<Point> chains;             // current points of simulated annealing, kept between batches
  std::map<Point, double> scores;        // scores of points by the current cost model
  std::vector<Point> batch;              // points to propose, in reverse order

  std::optional<Point> next() override;
  void learn(const std::vector<Trial> &trials) override;
  std::optional<Point> drawNew();
  void makeModel(std::shared_ptr<const LearnedModel> from);
  bool startIsWorse() const;
  void takeStart();
  void fillBatch();
  std::vector<Point> proposalsFrom(const std::shared_ptr<const LearnedModel> &from);
  std::vector<double> scoresOf(const std::vector<Point> &points);
  void startChains();
  void anneal();
  void descend();
  std::vector<Point> chooseBatch() const;
};

} // namespace lathe::tune
