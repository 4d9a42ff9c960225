#include "tune/NestFeatures.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lathe::tune {
namespace {

constexpr float unknown = std::numeric_limits<float>::quiet_NaN();
constexpr const char *classNames[operandClasses] = {"input", "weights", "output", "scratch"};

// ---- itervar ----

constexpr size_t firstLoops = 13, secondLoops = 10;

/// Totals over the innermost loops up to one loop of a nest, as logarithms to base 2; -infinity for 0.
struct Level {
  double iterations = 0;
  PerClass bytes{};
  double allBytes = 0;

  double reuse(size_t of, const PerClass &element) const { return iterations + element[of] - bytes[of]; }
};

/// The levels of a nest: the innermost body, then the level of each loop.
struct Levels {
  PerClass element{};
  std::vector<Level> levels;

  explicit Levels(const LoopNest &nest) {
    PerClass bytes = nest.element;
    double iterations = 1;
    auto add = [&] {
      Level level{std::log2(iterations), {}, 0};
      for (size_t i = 0; i < operandClasses; ++i) {
        level.bytes[i] = std::log2(bytes[i]);
        level.allBytes += bytes[i];
      }
      level.allBytes = std::log2(level.allBytes);
      levels.push_back(level);
    };
    add();
    element = levels.front().bytes;
    for (const Loop &loop : nest.loops) {
      iterations *= loop.extent;
      for (size_t i = 0; i < operandClasses; ++i)
        bytes[i] *= loop.growth[i];
      add();
    }
  }

  /// Interpolates between levels `next - 1` and `next`: `share` of the way.
  Level between(size_t next, double share) const {
    const Level &low = levels[next - 1], &high = levels[next];
    auto mix = [&](double a, double b) { return a + (b - a) * share; };
    Level level{mix(low.iterations, high.iterations), {}, mix(low.allBytes, high.allBytes)};
    for (size_t i = 0; i < operandClasses; ++i)
      level.bytes[i] = std::isfinite(element[i]) ? mix(low.bytes[i], high.bytes[i]) : element[i];
    return level;
  }

  /// The level at which `amount` reaches `value`; the whole nest if it never does.
  Level at(double value, double Level::*amount) const {
    for (size_t i = 1; i < levels.size(); ++i)
      if (levels[i].*amount > value) {
        double from = levels[i - 1].*amount, to = levels[i].*amount;
        return between(i, std::clamp((value - from) / (to - from), 0.0, 1.0));
      }
    return levels.back();
  }
};

float given(double value) { return std::isfinite(value) ? float(value) : unknown; }

std::string numbered(const char *nest, size_t loop, const std::string &what) {
  return std::string(nest) + "." + std::to_string(loop) + "." + what;
}

// ---- curve ----

constexpr double sampledIterations[] = {4, 6, 8, 10, 12, 14, 16, 18, 20, 24}; // logarithms to base 2
constexpr const char *capacityNames[] = {"registers", "l1_half", "l1", "l2_half", "l2", "l3"};
constexpr size_t capacities = std::size(capacityNames);

/// Logarithms to base 2 of bytes.
std::array<double, capacities> capacitiesOf(const Target &target) {
  const MachineFacts &machine = target.machine;
  double l1 = std::log2(machine.bytesPerCore(0)), l2 = std::log2(machine.bytesPerCore(1));
  return {std::log2(double(target.vectorRegisters) * target.vectorBits / 8),
          l1 - 1,
          l1,
          l2 - 1,
          l2,
          std::log2(machine.bytesPerCore(2))};
}

/// Bytes of all classes that pass a memory of the size of `level`'s touched bytes in a whole run.
double passing(const Levels &levels, const Level &level) {
  double bytes = 0;
  for (size_t i = 0; i < operandClasses; ++i)
    if (std::isfinite(levels.element[i])) {
      double accesses = levels.levels.back().iterations + levels.element[i];
      bytes += std::exp2(std::max(accesses - level.reuse(i, levels.element), levels.levels.back().bytes[i]));
    }
  return std::log2(bytes);
}

} // namespace

void addLoopNames(std::vector<std::string> &names) {
  for (size_t loop = 0; loop < firstLoops; ++loop) {
    for (const char *what : {"extent", "kind", "inside", "outside"})
      names.push_back(numbered("loop", loop, what));
    for (const char *of : classNames) {
      names.push_back(numbered("loop", loop, std::string(of) + "_bytes"));
      names.push_back(numbered("loop", loop, std::string(of) + "_reuse"));
    }
  }
  for (size_t loop = 0; loop < secondLoops; ++loop)
    for (const char *what : {"extent", "inside", "bytes"})
      names.push_back(numbered("second", loop, what));
}

void addLoopFeatures(std::vector<float> &features, const std::vector<LoopNest> &nests) {
  const LoopNest &first = nests.front();
  Levels levels(first);
  double all = levels.levels.back().iterations;
  for (size_t i = 0; i < firstLoops; ++i) {
    if (i >= first.loops.size()) {
      features.insert(features.end(), 4 + 2 * operandClasses, unknown);
      continue;
    }
    const Level &level = levels.levels[i + 1];
    features.push_back(float(std::log2(first.loops[i].extent)));
    features.push_back(float(first.loops[i].kind));
    features.push_back(float(level.iterations));
    features.push_back(float(all - level.iterations));
    for (size_t of = 0; of < operandClasses; ++of) {
      features.push_back(given(level.bytes[of]));
      features.push_back(given(level.reuse(of, levels.element)));
    }
  }
  if (nests.size() < 2) {
    features.insert(features.end(), 3 * secondLoops, unknown);
    return;
  }
  Levels second(nests[1]);
  for (size_t i = 0; i < secondLoops; ++i) {
    bool has = i < nests[1].loops.size();
    features.push_back(has ? float(std::log2(nests[1].loops[i].extent)) : unknown);
    features.push_back(has ? float(second.levels[i + 1].iterations) : unknown);
    features.push_back(has ? given(second.levels[i + 1].allBytes) : unknown);
  }
}

void addCurveNames(std::vector<std::string> &names) {
  for (double iterations : sampledIterations)
    for (const char *of : classNames)
      names.push_back("curve.2^" + std::to_string(int(iterations)) + "." + of + "_bytes");
  for (const char *capacity : capacityNames) {
    std::string prefix = std::string("curve.") + capacity + ".";
    names.push_back(prefix + "iterations");
    names.push_back(prefix + "passing");
    for (const char *of : classNames)
      names.push_back(prefix + of + "_reuse");
  }
  for (const char *capacity : capacityNames)
    for (const char *what : {"iterations", "passing"})
      names.push_back(std::string("second_curve.") + capacity + "." + what);
}

void addCurveFeatures(std::vector<float> &features, const std::vector<LoopNest> &nests, const Target &target) {
  Levels levels(nests.front());
  for (double iterations : sampledIterations) {
    Level level = levels.at(iterations, &Level::iterations);
    for (double bytes : level.bytes)
      features.push_back(given(bytes));
  }
  std::array<double, capacities> sizes = capacitiesOf(target);
  for (double size : sizes) {
    Level level = levels.at(size, &Level::allBytes);
    features.push_back(float(level.iterations));
    features.push_back(given(passing(levels, level)));
    for (size_t of = 0; of < operandClasses; ++of)
      features.push_back(given(level.reuse(of, levels.element)));
  }
  if (nests.size() < 2) {
    features.insert(features.end(), 2 * capacities, unknown);
    return;
  }
  Levels second(nests[1]);
  for (double size : sizes) {
    Level level = second.at(size, &Level::allBytes);
    features.push_back(float(level.iterations));
    features.push_back(given(passing(second, level)));
  }
}

} // namespace lathe::tune
