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

/// A measured point of the search space with its outcome.
struct Trial {
  Point point;
  double seconds = std::numeric_limits<double>::infinity(); // seconds of one run; infinite: the trial failed

  bool passed() const { return seconds < std::numeric_limits<double>::infinity(); }
};

class Searcher {
public:
  Searcher(const Space &space, uint64_t seed, std::vector<Point> starts);
  virtual ~Searcher() = default;

  /// Returns at most `count` legal points that were not proposed or reported before; the points given as `starts` come
  /// first. Empty if the searcher finds no further point.
  std::vector<Point> propose(size_t count);
  /// Gives the searcher the outcomes of points that it proposed, or that earlier runs have measured.
  void report(const std::vector<Trial> &trials);
  /// Expected speedup of the next proposals: seconds of the fastest trial so far / expected seconds of the best next
  /// proposal. Cost models of other tasks give the expectation; without such a model there is none.
  virtual std::optional<double> expectedSpeedup() { return std::nullopt; }
  /// The fastest trial so far; null before a trial has passed.
  const Trial *best() const { return passed.empty() ? nullptr : &passed.front(); }

protected:
  const Space &space;
  Random random;
  std::vector<Trial> passed; // trials that passed, sorted by time, the fastest first

  /// The next point that the searcher proposes and that is not in `known`; nothing if there is none.
  virtual std::optional<Point> next() = 0;
  /// Called once for each report with the reported trials, so that a searcher may learn from them.
  virtual void learn(const std::vector<Trial> &) {}
  bool isNew(const Point &point) const { return !known.contains(point); }

private:
  std::vector<Point> starts; // points to propose before all others, in reverse order
  std::set<Point> known;     // points that were proposed or reported
};

/// Function that returns the model from which a searcher with a learned model starts: of the searcher's kind
/// (modelKindOf in tune/ModelSearcher.h) and trained on other tasks; null if there is none. It is called at most once,
/// when the searcher first needs the model. Other searchers do not call it.
using StartModel = std::function<std::shared_ptr<const LearnedModel>()>;

/// Returns the names of all searchers, each with one line about it, the default first.
const std::vector<std::pair<std::string, std::string>> &searcherNames();
/// Throws Error unless there is a searcher of this name. AutoTVM's `gridsearch` and hyphens instead of
/// underscores are accepted, too.
void requireSearcher(const std::string &name);
/// Makes the searcher of this name. Throws Error for names that requireSearcher refuses.
std::unique_ptr<Searcher> makeSearcher(const std::string &name, const Space &space, uint64_t seed,
                                       std::vector<Point> starts = {}, StartModel startModel = {});

} // namespace lathe::tune
