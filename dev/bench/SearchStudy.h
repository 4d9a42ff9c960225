// What the study `search` knows of each task, and the tables that it prints.
#pragma once

#include "tune/Tuner.h"

#include <limits>

namespace lathe::study {

using namespace tune;

inline constexpr double never = std::numeric_limits<double>::infinity();
// a search has ended well if its best time is within this factor of the best known
inline constexpr double near = 1.03;

/// A task that was drawn for the study.
struct StudyTask {
  TaskToTune task;
  std::unique_ptr<KernelFacts> facts;
  std::string network;
  int threads;
};

/// One search for a task: the seconds of its trials in order (infinite: failed), and what the trials cost.
struct Search {
  std::vector<double> seconds, cost; // cost: seconds of building and running each trial
};

/// The results of the study for one task.
struct Studied {
  const StudyTask *task;
  std::vector<double> random, randomCost;              // searches by name of the searcher
  std::map<std::string, std::vector<Search>> searches; // by searcher
  // best: best known time in seconds; priorOff: time of the prior's schedule / best
  double points = 0, best = never, priorOff = 0;
  size_t failed = 0;

  /// Ratio of times: median of the first 300 random schedules / best known.
  double randomOff() const;
  /// True if searching matters for the task: the median of random schedules is more than 5 % above the best known.
  bool counts() const;
};

/// Prints a table with one row for each task.
void printTasks(const std::vector<Studied> &all);
/// Prints a table with one row for each searcher, over the tasks that count: trials needed, and the best time after
/// numbers of trials and after seconds, as ratios to the best known with their 10th and 90th percentiles.
void printSearchers(const std::vector<Studied> &all, const std::vector<std::string> &searchers);
/// Prints a table of the trials that each searcher needs, by task that counts.
void printSearches(const std::vector<Studied> &all, const std::vector<std::string> &searchers);

} // namespace lathe::study
