// Searchers on tables of measured schedules: how many trials each needs, without a machine.
#pragma once

#include "tune/Evaluation.h"
#include "tune/Searcher.h"

#include <cmath>
#include <functional>
#include <map>

namespace lathe::tune {

/// The space of the schedules that a table has. Points outside the table do not exist: they are not
/// legal and never drawn. The neighbours of a point are the 16 points of its algorithm that differ
/// from it in the fewest knobs.
class TableSpace : public Space {
public:
  /// `facts` must outlive the space. A schedule is left out if no point stands for it, or if another schedule has the
  /// same point.
  TableSpace(const KernelFacts &facts, const std::vector<MeasuredSchedule> &table);

  size_t size() const { return times.size(); }
  double secondsOf(const Point &point) const { return times.at(point); }
  double leastSeconds() const;

  bool isLegal(const Point &point) const override { return times.contains(point); }
  std::optional<Point> draw(Random &random, size_t tries) const override;
  std::optional<Point> drawNeighbour(const Point &point, Random &random, size_t tries) const override;
  std::vector<Point> neighbours(const Point &point) const override;

private:
  std::map<Point, double> times;
  std::vector<std::vector<Point>> byAlgorithm; // not empty
  mutable std::map<Point, std::vector<Point>> near;

  const std::vector<Point> &nearest(const Point &point) const;
};

/// Times of all schedules of a space, from the times of a table. A time is the analytic prediction times a correction:
/// the mean of measured over predicted time for the nearest measured schedules of the same algorithm, and up to 3 %
/// that depend on the schedule's text alone. The times are not a machine's, but searchers can be compared on whole
/// spaces with them.
class InterpolatedMachine {
public:
  /// `space` must outlive the object and have the knobs of the table.
  InterpolatedMachine(const Space &space, const std::vector<MeasuredSchedule> &table);
  double secondsOf(const Point &point) const;

private:
  struct Measured {
    std::vector<double> place; // by knob
    double error;              // logarithm of measured seconds over predicted cycles
  };

  const Space &space;
  std::vector<std::vector<Measured>> byAlgorithm;
  double meanError = 0;

  std::vector<double> placeOf(const Point &point) const;
};

struct ReplayOptions {
  size_t trials = 500, batch = 8; // trials at most; reported in batches
  double enough = 0;              // seconds: a search ends with the batch that has a trial as fast
};

/// Runs a searcher. Returns the seconds of its trials in their order.
std::vector<double> replay(const Space &space, const std::function<double(const Point &)> &secondsOf,
                           const std::string &searcher, uint64_t seed, const ReplayOptions &options,
                           const StartModel &startModel = {});

/// Trials until one takes at most `seconds`, that one included; infinite if none does.
double trialsUntil(const std::vector<double> &trials, double seconds);

/// Median, and the values that a quarter are below and above.
struct Spread {
  double low = 0, median = 0, high = 0;
};
Spread spreadOf(std::vector<double> values);

} // namespace lathe::tune
