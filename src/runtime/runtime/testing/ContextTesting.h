// Fixtures and helpers for tests of contexts.
#pragma once

#include "runtime/Context.h"
#include "runtime/testing/TestPlan.h"
#include "support/ErrorTesting.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace lathe::runtime::testing {

inline std::vector<float> floats(const Value &value) {
  const Tensor &tensor = value.tensor();
  return {tensor.as<float>(), tensor.as<float>() + tensor.elements()};
}
inline Tensor ramp(int64_t count, float first = 0) {
  Tensor tensor(ElementType::f32, {count});
  for (int64_t i = 0; i < count; ++i)
    tensor.as<float>()[i] = first + static_cast<float>(i);
  return tensor;
}
/// Returns the expected result of TestPlan::waves with `stages` stages over `width` units.
inline std::vector<int64_t> wavesAfter(int stages, size_t width) {
  std::vector<int64_t> numbers(width);
  std::iota(numbers.begin(), numbers.end(), 0);
  for (int stage = 1; stage < stages; ++stage) {
    std::vector<int64_t> from = numbers;
    for (size_t i = 0; i < width; ++i)
      numbers[i] = (from[(i + 1) % width] * 3 + from[(i + width - 1) % width]) % 10007;
  }
  return numbers;
}

/// Base class for tests of contexts whose plans may call the reference functions of TestPlan.h.
class WithTestReferences : public ::testing::Test {
protected:
  void SetUp() override { useTestReferences(); }
};

} // namespace lathe::runtime::testing
