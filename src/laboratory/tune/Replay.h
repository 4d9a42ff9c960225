// Runs searchers on tables of measured schedules, to count the trials that each searcher needs, without measuring
// again.
#pragma once

#include "tune/Evaluation.h"
#include "tune/Searcher.h"

#include <cmath>
#include <functional>
#include <map>

namespace lathe::tune {

/// The search space of the schedules in a table of measurements. Points outside the table are not legal and never
/// drawn. The neighbours of a point are the 16 points of its algorithm that differ from it in the fewest knobs.
class TableSpace : public Space {
public:
  /// `facts` must outlive the space. Leaves out a schedule that no point represents, or whose point belongs to another
  /// schedule.
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
  std::vector<std::vector<Point>> byAlgorithm; // points of the table by algorithm; no list is empty
  mutable std::map<Point, std::vector<Point>> near;

  const std::vector<Point> &nearest(const Point &point) const;
};

/// Times for all schedules of a space, interpolated from a table of measurements. A time is the analytic prediction
/// times a correction: the mean of measured over predicted time for the nearest measured schedules of the same
/// algorithm, and up to 3 % that depend only on the schedule's text. No machine has these times, but searchers can be
/// compared with them on whole spaces.
class InterpolatedMachine {
public:
  /// Interpolates times in `space`, which must outlive the object and have the knobs of the table.
  InterpolatedMachine(const Space &space, const std::vector<MeasuredSchedule> &table);
  double secondsOf(const Point &point) const;

private:
  struct Measured {
    std::vector<double> place; // coordinates of the schedule, one for each knob
    double error;              // log(measured seconds / predicted cycles)
  };

  const Space &space;
  std::vector<std::vector<Measured>> byAlgorithm;
  double meanError = 0;

  std::vector<double> placeOf(const Point &point) const;
};

struct ReplayOptions {
  size_t trials = 500, batch = 8; // trials: limit on all trials; batch: trials per report
  double enough = 0;              // a search ends after the batch with a trial of at most this many seconds
};

/// Runs a searcher with times from a table. Returns the seconds of its trials, in order.
std::vector<double> replay(const Space &space, const std::function<double(const Point &)> &secondsOf,
                           const std::string &searcher, uint64_t seed, const ReplayOptions &options,
                           const StartModel &startModel = {});

/// Number of trials of a search up to and including the first one that takes at most `seconds`; infinite if there is
/// none.
double trialsUntil(const std::vector<double> &trials, double seconds);

/// Lower quartile, median and upper quartile of a list of numbers.
struct Spread {
  double low = 0, median = 0, high = 0;
};
Spread spreadOf(std::vector<double> values);

} // namespace lathe::tune
