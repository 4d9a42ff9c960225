#include "lab/judging/Difference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lathe::lab {
namespace {

/// Smaller numbers count as zero in kernels, which also return zero for them; 0 if kernels keep small numbers.
double smallestNormal(ElementType type) {
  if (type == ElementType::f64)
    return std::numeric_limits<double>::min();
  return type == ElementType::f32 || type == ElementType::bf16 ? std::numeric_limits<float>::min() : 0;
}

/// x / y for a difference x; a difference of 0 gives 0 for any y.
double ratio(double x, double y) { return x == 0 ? 0 : y == 0 ? INFINITY : x / y; }

Difference differenceOfFloats(const Tensor &computed, const Tensor &expected) {
  Difference result;
  result.elements = computed.elements();
  Tensor rounded = expected.convertedTo(computed.type(), /*saturate=*/false);
  Tensor ours = computed.convertedTo(ElementType::f64), theirs = rounded.convertedTo(ElementType::f64);
  double least = smallestNormal(computed.type());
  auto flushed = [&](double value) { return std::abs(value) < least ? 0 : value; };
  double squares = 0, expectedSquares = 0, largest = 0, expectedLargest = 0;
  int64_t odd = 0, firstOdd = -1;
  for (int64_t i = 0; i < result.elements; ++i) {
    double x = flushed(ours.as<double>()[i]), y = flushed(theirs.as<double>()[i]);
    if (!std::isfinite(x) || !std::isfinite(y)) {
      bool bothNan = std::isnan(x) && std::isnan(y), same = bothNan || x == y;
      result.nan += bothNan;
      result.infinite += same && !bothNan;
      if (!same && odd++ == 0)
        firstOdd = i;
      continue;
    }
    double d = std::abs(x - y);
    squares += d * d;
    expectedSquares += y * y;
    expectedLargest = std::max(expectedLargest, std::abs(y));
    if (d > largest || result.worst < 0) {
      largest = std::max(largest, d);
      result.worst = i;
      result.computed = x;
      result.expected = y;
    }
  }
  result.relative = ratio(std::sqrt(squares), std::sqrt(expectedSquares));
  result.maximum = ratio(largest, expectedLargest);
  if (odd) {
    result.worst = firstOdd;
    result.computed = ours.as<double>()[firstOdd];
    result.expected = theirs.as<double>()[firstOdd];
    result.broken = fmt::format("{} of {} elements are not finite on one side; element {} is {}, expected {}", odd,
                                result.elements, firstOdd, result.computed, result.expected);
  }
  return result;
}

Difference differenceOfIntegers(const Tensor &computed, const Tensor &expected) {
  Difference result;
  result.elements = computed.elements();
  double squares = 0, expectedSquares = 0, largest = 0, expectedLargest = 0;
  int64_t different = 0;
  for (int64_t i = 0; i < result.elements; ++i) {
    int64_t x = computed.asInteger(i), y = expected.asInteger(i);
    expectedSquares += expected.asDouble(i) * expected.asDouble(i);
    expectedLargest = std::max(expectedLargest, std::abs(expected.asDouble(i)));
    if (x == y)
      continue;
    ++different;
    double d = double(x > y ? uint64_t(x) - uint64_t(y) : uint64_t(y) - uint64_t(x)); // exact, unlike in doubles
    squares += d * d;
    if (d > largest) {
      largest = d;
      result.worst = i;
    }
  }
  if (different == 0)
    return result;
  result.relative = ratio(std::sqrt(squares), std::sqrt(expectedSquares));
  result.maximum = ratio(largest, expectedLargest);
  result.computed = computed.asDouble(result.worst);
  result.expected = expected.asDouble(result.worst);
  if (isQuantised(computed.type())) {
    result.steps = largest;
    result.different = different;
  } else {
    result.broken = fmt::format("{} of {} elements differ; element {} is {}, expected {}", different, result.elements,
                                result.worst, computed.asInteger(result.worst), expected.asInteger(result.worst));
  }
  return result;
}

Difference differenceOfTexts(const Tensor &computed, const Tensor &expected) {
  Difference result;
  result.elements = computed.elements();
  for (int64_t i = 0; i < result.elements && result.worst < 0; ++i)
    if (computed.strings()[i] != expected.strings()[i]) {
      result.worst = i;
      result.broken = fmt::format("element {} is another text", i);
    }
  return result;
}

} // namespace

bool Difference::within(const Tolerance &tolerance) const {
  bool small = relative <= tolerance.relative && maximum <= tolerance.maximum;
  bool fewSteps =
      steps <= tolerance.steps && static_cast<double>(different) <= tolerance.share * static_cast<double>(elements);
  return broken.empty() && (different == 0 ? small : fewSteps || (tolerance.behind && small));
}

std::string Difference::str() const {
  if (!broken.empty())
    return broken;
  if (different)
    return fmt::format("{} of {} elements differ, by {:g} at most (element {} is {:g}, expected {:g})", different,
                       elements, steps, worst, computed, expected);
  std::string text = fmt::format("relative error {:.2e}, largest difference {:.2e} of the maximum", relative, maximum);
  auto count = [&](const char *what, int64_t number) {
    if (number)
      text += fmt::format("; {} in {} of {} elements, in both", what, number, elements);
  };
  count("NaN", nan);
  count("infinity", infinite);
  return text;
}

bool comparable(const Tensor &computed, const Tensor &expected) {
  bool judged = isFloat(computed.type()) && expected.type() == ElementType::f64;
  return computed.dims() == expected.dims() && (computed.type() == expected.type() || judged);
}

Difference difference(const Tensor &computed, const Tensor &expected) {
  Difference result;
  if (!comparable(computed, expected)) {
    result.broken = fmt::format("is {} {}, expected {} {}", name(computed.type()), fmt::join(computed.dims(), "x"),
                                name(expected.type()), fmt::join(expected.dims(), "x"));
    return result;
  }
  if (isFloat(computed.type()))
    return differenceOfFloats(computed, expected);
  return computed.type() == ElementType::string ? differenceOfTexts(computed, expected)
                                                : differenceOfIntegers(computed, expected);
}

} // namespace lathe::lab
