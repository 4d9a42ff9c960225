// The search space of one kernel: every schedule of the algorithms of its family, as points.
//
// A point consists of an algorithm and the index of a value for each of the algorithm's knobs. Different points have
// different schedules.
#pragma once

#include "codegen/space/KernelFacts.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace lathe::tune {

/// The generator of all random numbers in tuning; its seed is printed. The function `drawn` gives the same numbers
/// with every standard library.
using Random = std::mt19937_64;
/// A random integer from 0 to `count` - 1.
inline size_t drawn(Random &random, size_t count) { return static_cast<size_t>(random() % count); }
/// A random number in [0, 1).
inline double drawnShare(Random &random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

struct Point {
  size_t algorithm = 0;         // index of the algorithm in Space::algorithms
  std::vector<uint32_t> values; // for each knob of the algorithm: index of the knob's value
  auto operator<=>(const Point &) const = default;
};

/// The points of one algorithm in a search space.
struct Subspace {
  const Algorithm *algorithm;
  std::vector<Knob> knobs;
  /// For each knob: true if its last index leaves the parameter out of the schedule, because the parameter's default
  /// depends on the problem.
  std::vector<bool> mayBeAbsent;

  size_t values(size_t knob) const { return knobs[knob].size() + mayBeAbsent[knob]; }
  /// Number of points of the algorithm, including illegal ones.
  double points() const;
};

class Space {
public:
  /// Makes the search space of a kernel. Schedules that round operands are in the space only if the kernel's precision
  /// asks for them. Includes an algorithm of the kernel's family if at least one of `probes` random points, or one of
  /// `starts`, is legal for it. The values in `starts` (schedules of the prior or of records) become values of the
  /// knobs. `facts` must outlive the space.
  explicit Space(const KernelFacts &facts, const std::vector<Schedule> &starts = {}, size_t probes = 20000);
  virtual ~Space() = default;

  const KernelFacts &kernel() const { return facts; }
  const std::vector<Subspace> &algorithms() const { return subspaces; }
  /// Number of points of all algorithms, including illegal ones.
  double points() const;

  Schedule schedule(const Point &point) const;
  /// The point of a schedule; nothing if the schedule's algorithm or one of its values is not in the space.
  std::optional<Point> point(const Schedule &schedule) const;
  virtual bool isLegal(const Point &point) const { return static_cast<bool>(legal(facts, schedule(point))); }

  /// Draws a random legal point; each algorithm is equally likely. Nothing if `tries` draws find no legal one.
  virtual std::optional<Point> draw(Random &random, size_t tries = 20000) const;
  /// Draws a random legal point of the same algorithm that differs from `point` in one knob. Nothing if `tries` draws
  /// find no legal one.
  virtual std::optional<Point> drawNeighbour(const Point &point, Random &random, size_t tries = 64) const;
  /// All legal points that differ from `point` in the value of one knob.
  virtual std::vector<Point> neighbours(const Point &point) const;

private:
  const KernelFacts &facts;
  std::vector<Subspace> subspaces;
};

} // namespace lathe::tune
