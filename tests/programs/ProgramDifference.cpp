#include "tests/programs/ProgramCheck.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace lathe {

std::string programDifference(const Value &expectedValue, const Value &actualValue, double tolerance) {
  const Tensor &expected = expectedValue.tensor(), &actual = actualValue.tensor();
  // Without iterations, the other extents of a scanned value are what is known of them (docs/control-flow.md).
  if (expected.rank() == 3 && actual.rank() == 3 && expected.elements() == 0 && actual.elements() == 0)
    return "";
  if (expected.dims() != actual.dims())
    return fmt::format("extents {}, expected {}", fmt::join(actual.dims(), "x"), fmt::join(expected.dims(), "x"));
  double largest = 0;
  for (int64_t i = 0; i < expected.elements(); ++i)
    largest = std::max(largest, std::abs(expected.asDouble(i)));
  for (int64_t i = 0; i < expected.elements(); ++i)
    if (!(std::abs(expected.asDouble(i) - actual.asDouble(i)) <= tolerance * (1 + largest)))
      return fmt::format("element {} is {}, expected {}", i, actual.asDouble(i), expected.asDouble(i));
  return "";
}

} // namespace lathe
