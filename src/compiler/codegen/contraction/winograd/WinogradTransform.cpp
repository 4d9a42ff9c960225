#include "codegen/contraction/winograd/WinogradTransform.h"

#include "codegen/contraction/winograd/LinearForms.h"
#include "codegen/space/KernelFacts.h"

#include <cmath>
#include <map>

namespace lathe {
namespace {

/// Coefficients of the product of (x - p) over all points but the one at `left` (-1: over all), lowest power first.
std::vector<double> productOfRoots(const std::vector<double> &points, int64_t left) {
  std::vector<double> product{1};
  for (size_t i = 0; i < points.size(); ++i) {
    if (int64_t(i) == left)
      continue;
    std::vector<double> next(product.size() + 1, 0);
    for (size_t power = 0; power < product.size(); ++power) {
      next[power + 1] += product[power];
      next[power] -= points[i] * product[power];
    }
    product = std::move(next);
  }
  return product;
}

} // namespace

WinogradTransform winogradTransform(int64_t outputs, bool rounded) {
  static const std::map<int64_t, std::vector<double>> exact{
      {2, {0, 1, -1}}, {4, {0, 1, -1, 2, -2}}, {6, {0, 1, -1, 2, -2, 0.5, -0.5}}};
  static const std::map<int64_t, std::vector<double>> small{
      {2, {0, 1, -1}}, {3, {0.375, -0.375, 1.25, -1.25}}, {4, {0, 0.625, -0.625, 1.5, -1.5}}};
  constexpr int64_t taps = 3;
  int64_t size = outputs + taps - 1;
  const auto &known = rounded ? small : exact;
  auto found = known.find(outputs);
  if (found == known.end())
    illegal("m", "there is no transform for {} outputs{}", outputs, rounded ? " of rounded operands" : "");
  const std::vector<double> &points = found->second;
  WinogradTransform transform{outputs, taps, CoefficientRows(outputs, std::vector<double>(size, 0)), {}, {}};
  for (int64_t j = 0; j + 1 < size; ++j) {
    for (int64_t i = 0; i < outputs; ++i)
      transform.output[i][j] = std::pow(points[j], i);
    double scale = 1;
    for (int64_t other = 0; other + 1 < size; ++other)
      if (other != j)
        scale *= points[j] - points[other];
    transform.filter.push_back({1 / scale, points[j] / scale, points[j] * points[j] / scale});
    transform.input.push_back(productOfRoots(points, j));
    transform.input.back().resize(size, 0);
  }
  transform.output[outputs - 1][size - 1] = 1;
  transform.filter.push_back({0, 0, 1});
  transform.input.push_back(productOfRoots(points, -1));
  return transform;
}

WinogradTransform integerWinogradTransform(int64_t outputs) {
  if (outputs != 2)
    illegal("m", "m={}: integers have tiles of 2 outputs", outputs);
  WinogradTransform transform = winogradTransform(outputs);
  for (std::vector<double> &row : transform.filter)
    for (double &coefficient : row)
      coefficient *= 2;
  transform.resultShift = 2;
  return transform;
}

int64_t operationsOf(const CoefficientRows &rows) {
  int64_t count = 0;
  auto two = [&](int, int) { return ++count, 0; };
  linear::Arithmetic<int> arithmetic{two, two, [&](int, double) { return ++count, 0; },
                                     [&](int, double, int) { return ++count, 0; }};
  linear::apply(arithmetic, rows, std::vector<int>(rows[0].size(), 0));
  return count;
}

} // namespace lathe
