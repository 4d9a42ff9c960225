// Checks that the elements of a buffer are in the ranges that a kernel takes for granted (ElementRange in
// package/plan.fbs).
#pragma once

#include "runtime/ThreadPool.h"
#include "support/ElementType.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace lathe::runtime {

/// A check that the elements of a buffer are in range: an ElementRange whose extents have values.
class ElementCheck {
public:
  ElementCheck() = default;
  /// Creates the check that element i is from least[i % n] to most[i % n]; n is at least 1.
  ElementCheck(ElementType type, int64_t count, const std::vector<int64_t> &least, const std::vector<int64_t> &most);

  /// Returns the position of the first element out of range, if there is one. Many elements are divided over the
  /// slots of `team`.
  std::optional<int64_t> findOutside(const void *elements, const ThreadPool::Team &team) const;

  int64_t least(int64_t position) const { return lows[static_cast<size_t>(position) % period]; }
  int64_t most(int64_t position) const { return highs[static_cast<size_t>(position) % period]; }

private:
  ElementType type = ElementType::invalid;
  int64_t count = 0;
  size_t period = 1;
  std::vector<int64_t> lows, highs;
  // Bounds for each element of a block of rows, in unsigned arithmetic of the element's width. An element x is in
  // range if x - low, which may wrap around, is at most high - low.
  std::vector<uint32_t> low32, span32;
  std::vector<uint64_t> low64, span64;
  bool empty = false; // true if the range of an existing element contains no number

  bool inside(const void *elements, int64_t begin, int64_t end) const;
};

} // namespace lathe::runtime
