// Searchers decide which schedules of a space are measured next.
//
//   random   legal points at random, each algorithm equally likely (AutoTVM's `random`)
//   grid     all points in order (AutoTVM's `gridsearch`)
//   ga       a genetic algorithm (AutoTVM's `ga`)
//   descent  neighbours of the fastest points so far, in the order of their predicted costs
//   xgb      simulated annealing over the scores of a learned cost model, which is fitted again
//            after every report; with a set of features (tune/Features.h): xgb_knob, xgb_itervar,
//            xgb_curve
//   xgb_rank the same with a model that learns the order of pairs: xgb_rank_knob, ...
//
// A searcher proposes points; the caller measures and reports them. Searchers are deterministic: equal seeds and equal
// reports give equal proposals.
#pragma once

#include "tune/LearnedModel.h"
#include "tune/Space.h"

#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>

namespace lathe::tune {

/// A measured point of the space with its outcome.
struct Trial {
  Point point;
  double seconds = std::numeric_limits<double>::infinity(); // infinite: the trial failed

  bool passed() const { return seconds < std::numeric_limits<double>::infinity(); }
};

class Searcher {
public:
  Searcher(const Space &space, uint64_t seed, std::vector<Point> starts);
  virtual ~Searcher() = default;

  /// Returns at most `count` legal points that were not proposed or reported before; the starts come first. Empty if
  /// the searcher finds no further point.
  std::vector<Point> propose(size_t count);
  /// Tells the searcher outcomes: of points that it proposed, or that earlier runs have measured.
  void report(const std::vector<Trial> &trials);
  /// Expected speedup of the next proposals: seconds of the fastest trial so far / expected seconds of the best next
  /// proposal. Models of other tasks give the expectation; without such a model there is none.
  virtual std::optional<double> expectedSpeedup() { return std::nullopt; }
  /// The fastest trial so far; null before one has passed.
  const Trial *best() const { return passed.empty() ? nullptr : &passed.front(); }

protected:
  const Space &space;
  Random random;
  std::vector<Trial> passed; // trials that passed, the fastest first

  /// The next point that is not in `known`; nothing if there is none.
  virtual std::optional<Point> next() = 0;
  /// Called once for each report with the reported trials; a searcher may learn from them.
  virtual void learn(const std::vector<Trial> &) {}
  bool isNew(const Point &point) const { return !known.contains(point); }

private:
  std::vector<Point> starts; // points to propose first, the last one of the list before the others
  std::set<Point> known;     // points that were proposed or reported
};

/// Gives the model that a searcher with a learned model starts from: of the searcher's kind (modelKindOf in
/// tune/ModelSearcher.h) and trained on other tasks; null if there is none. It is called at most once, when the
/// searcher first needs the model. Other searchers ignore it.
using StartModel = std::function<std::shared_ptr<const LearnedModel>()>;

/// Returns the names of all searchers with one line about each, the default first.
const std::vector<std::pair<std::string, std::string>> &searcherNames();
/// Throws Error unless there is a searcher of this name. AutoTVM's `gridsearch` and hyphens instead of
/// underscores are accepted, too.
void requireSearcher(const std::string &name);
/// Makes the searcher of this name. Throws Error for names that requireSearcher refuses.
std::unique_ptr<Searcher> makeSearcher(const std::string &name, const Space &space, uint64_t seed,
                                       std::vector<Point> starts = {}, StartModel startModel = {});

} // namespace lathe::tune
