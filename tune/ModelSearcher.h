// The searchers xgb and xgb_rank: simulated annealing over the scores of a learned cost model (Chen
// et al., "Learning to optimize tensor programs", NeurIPS 2018).
//
// Before the first report the model is the analytic one, or the one of SearcherKnowledge. After a
// report it is fitted to all trials of the task. Annealing ends with a descent from the best point of
// each algorithm. Proposals are the best points that were met on the way and not proposed before,
// chosen greedily: a point gains by values of parameters that no other point of the batch has. A few
// are random.
#pragma once

#include "tune/Features.h"
#include "tune/Searcher.h"

#include <map>

namespace lathe::tune {

/// The learned model of a searcher.
struct ModelKind {
  FeatureSet features = FeatureSet::itervar;
  Objective objective = Objective::regression;
};
/// Of "xgb", "xgb_knob", "xgb_rank_curve" and the like, with underscores; nothing for other names.
std::optional<ModelKind> modelKindOf(const std::string &searcher);

class ModelSearcher : public Searcher {
public:
  ModelSearcher(const Space &space, uint64_t seed, std::vector<Point> starts, const ModelKind &kind,
                SearcherKnowledge knowledge);

private:
  struct Scored {
    double score;
    Point point;
  };

  Features features;
  LearnedModel model;
  std::vector<Trial> reported;
  std::vector<TrainingExample> examples; // of `reported`
  std::vector<Point> chains;             // where annealing stands; kept from batch to batch
  std::map<Point, double> scores;        // by the current model
  std::vector<Point> batch;              // to be proposed, first one last

  std::optional<Point> next() override;
  void learn(const std::vector<Trial> &trials) override;
  std::optional<Point> drawNew();
  std::vector<double> scoresOf(const std::vector<Point> &points);
  void startChains();
  void anneal();
  void descend();
  void chooseBatch();
};

} // namespace lathe::tune
