// The levels of a machine's memory from the view of one core, and the cost of reading from them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace lathe {

/// A level of the memory hierarchy of a machine.
struct MemoryLevel {
  double bytes = 0; // capacity for one core, in bytes
  /// Cycles that one core waits for a byte from this level; 0 for the innermost level, for which computing never
  /// waits.
  double cyclesPerByte = 0;
};

/// The levels of a machine's memory hierarchy, innermost first. The last level is memory, which holds everything.
class MemoryLevels {
public:
  MemoryLevels() = default;
  explicit MemoryLevels(std::vector<MemoryLevel> levels) : levels(std::move(levels)) {}

  size_t size() const { return levels.size(); }
  const MemoryLevel &operator[](size_t index) const { return levels[index]; }

  /// Index of the innermost level that can hold `bytes` bytes.
  size_t levelOf(double bytes) const {
    size_t level = 0;
    while (level + 1 < levels.size() && levels[level].bytes < bytes)
      ++level;
    return level;
  }
  /// Calls visit(level, share) for the levels that deliver a set of `bytes` bytes when it is read a second time.
  /// `share` is the part of the set that comes from the level: as much as the level holds; levels farther away deliver
  /// the rest.
  template <class Visit> void eachShare(double bytes, const Visit &visit) const {
    double rest = 1;
    for (size_t level = 0; level < levels.size() && rest > 0; ++level) {
      double kept = level + 1 == levels.size() || bytes <= 0 ? rest : levels[level].bytes / bytes - (1 - rest);
      kept = std::clamp(kept, 0.0, rest);
      visit(level, kept);
      rest -= kept;
    }
  }
  /// Mean number of cycles that a core waits for each byte of a set of `bytes` bytes that is read a second time.
  double cyclesPerByte(double bytes) const {
    double cycles = 0;
    eachShare(bytes, [&](size_t level, double share) { cycles += share * levels[level].cyclesPerByte; });
    return cycles;
  }

private:
  std::vector<MemoryLevel> levels;
};

} // namespace lathe
