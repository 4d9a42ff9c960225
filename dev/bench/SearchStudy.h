// What the study `search` knows of a task, and its tables.
#pragma once

#include "tune/Tuner.h"

#include <limits>

namespace lathe::study {

using namespace tune;

inline constexpr double never = std::numeric_limits<double>::infinity();
inline constexpr double near = 1.03; // a search has ended well within this of the best known

/// A drawn task.
struct StudyTask {
  TaskToTune task;
  std::unique_ptr<KernelFacts> facts;
  std::string network;
  int threads;
};

/// One search: the seconds of its trials in order (infinite: failed), and what they cost.
struct Search {
  std::vector<double> seconds, cost; // cost: seconds of building and running
};

/// What is known of a task.
struct Studied {
  const StudyTask *task;
  std::vector<double> random, randomCost;              // seconds of the random schedules in the order of the draw
  std::map<std::string, std::vector<Search>> searches; // by searcher
  double points = 0, best = never, priorOff = 0;       // best: seconds; priorOff: the prior's time over the best's
  size_t failed = 0;

  /// Time of the median of the first 300 random schedules over the best known.
  double randomOff() const;
  /// Search matters: the median is more than 5 % above the best known.
  bool counts() const;
};

/// One row for each task.
void printTasks(const std::vector<Studied> &all);
/// One row for each searcher, over the tasks that count: trials needed, and the best time after numbers of trials and after
/// seconds, as ratios to the best known with their 10th and 90th percentiles.
void printSearchers(const std::vector<Studied> &all, const std::vector<std::string> &searchers);
/// Trials that each searcher needs, by task that counts.
void printSearches(const std::vector<Studied> &all, const std::vector<std::string> &searchers);

} // namespace lathe::study
