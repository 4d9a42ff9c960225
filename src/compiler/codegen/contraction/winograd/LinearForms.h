// Multiplies a constant matrix by a vector of values with few additions: sums that two rows have in common are
// computed once. An `Arithmetic` computes the values: it emits code, or only counts operations.
#pragma once

#include "codegen/contraction/winograd/WinogradTransform.h"

#include <cmath>
#include <functional>
#include <optional>
#include <stdexcept>

namespace lathe::linear {

/// Two rows a and b of the matrix whose coefficients have equal magnitudes, written as a = same + opposite and b =
/// same - opposite.
struct Shared {
  std::vector<double> same, opposite;
};
/// Splits two rows of a matrix into the parts of Shared. Returns nothing if the magnitudes differ, or if the split
/// would save no addition.
inline std::optional<Shared> shared(const std::vector<double> &a, const std::vector<double> &b) {
  Shared result{std::vector<double>(a.size()), std::vector<double>(a.size())};
  int64_t sames = 0, opposites = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::fabs(a[i]) != std::fabs(b[i]))
      return std::nullopt;
    (a[i] == b[i] ? result.same : result.opposite)[i] = a[i];
    (a[i] == b[i] ? sames : opposites) += a[i] != 0;
  }
  if (sames == 0 || opposites == 0 || sames + opposites < 3)
    return std::nullopt;
  return result;
}

inline std::vector<double> column(const CoefficientRows &rows, size_t at) {
  std::vector<double> values;
  for (const auto &row : rows)
    values.push_back(row[at]);
  return values;
}

/// The operations with which the product of matrix and vector is computed.
template <class V> struct Arithmetic {
  std::function<V(V, V)> add, sub;
  std::function<V(V, double)> mul;
  std::function<V(V, double, V)> multiplyAdd; // emits x * factor + y
};

/// Returns the product of one row and the vector: the sum of row[i] * inputs[i]. The row must have at least one
/// coefficient other than 0.
template <class V> V form(const Arithmetic<V> &a, const std::vector<double> &row, const std::vector<V> &inputs) {
  // Begin with a term whose factor is 1, if there is one.
  size_t first = row.size();
  for (double wanted : {1.0, 0.0})
    for (size_t i = 0; i < row.size() && first == row.size(); ++i)
      if (wanted != 0 ? row[i] == wanted : row[i] != 0)
        first = i;
  if (first == row.size())
    throw std::logic_error("a transform has a row of zeros");
  V sum = row[first] == 1 ? inputs[first] : a.mul(inputs[first], row[first]);
  for (size_t i = 0; i < row.size(); ++i)
    if (i != first && row[i] != 0)
      sum = row[i] == 1    ? a.add(sum, inputs[i])
            : row[i] == -1 ? a.sub(sum, inputs[i])
                           : a.multiplyAdd(inputs[i], row[i], sum);
  return sum;
}

/// Returns the product of the matrix `rows` and the vector `inputs`. Shares sums between pairs of inputs, else between
/// pairs of rows.
template <class V> std::vector<V> apply(const Arithmetic<V> &a, CoefficientRows rows, std::vector<V> inputs) {
  // Two columns i and j of equal magnitudes: x + y replaces input x, x - y replaces input y. A row in which both
  // coefficients are equal then reads only the sum, and a row in which they are opposite only the difference.
  bool byColumns = false;
  for (size_t i = 0; i < inputs.size(); ++i)
    for (size_t j = i + 1; j < inputs.size(); ++j) {
      if (!shared(column(rows, i), column(rows, j)))
        continue;
      V sum = a.add(inputs[i], inputs[j]), difference = a.sub(inputs[i], inputs[j]);
      inputs[i] = sum;
      inputs[j] = difference;
      for (auto &row : rows) {
        bool same = row[i] == row[j];
        row[j] = same ? 0 : row[i];
        row[i] = same ? row[i] : 0;
      }
      byColumns = true;
      break;
    }
  std::vector<V> results(rows.size());
  std::vector<bool> done(rows.size(), false);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (done[i])
      continue;
    for (size_t j = i + 1; j < rows.size() && !byColumns && !done[i]; ++j)
      if (auto parts = shared(rows[i], rows[j]); parts && !done[j]) {
        V same = form(a, parts->same, inputs), opposite = form(a, parts->opposite, inputs);
        results[i] = a.add(same, opposite);
        results[j] = a.sub(same, opposite);
        done[i] = done[j] = true;
      }
    if (!done[i])
      results[i] = form(a, rows[i], inputs);
  }
  return results;
}

} // namespace lathe::linear
