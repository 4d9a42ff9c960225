// Ridge regression from sums: rows are added once, and fits of any subset of the groups follow from the groups' sums.
#pragma once

#include <array>
#include <cstddef>

namespace lathe::predict {

/// Weighted sums over rows of features x (the first feature is 1) and targets y: all that a linear fit needs.
template <size_t n> class RidgeSums {
public:
  using Vector = std::array<double, n>;

  void add(const Vector &x, double y, double weight = 1) {
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j)
        squares[i][j] += weight * x[i] * x[j];
      products[i] += weight * x[i] * y;
    }
  }
  void add(const RidgeSums &other) {
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j)
        squares[i][j] += other.squares[i][j];
      products[i] += other.products[i];
    }
  }
  double weight() const { return squares[0][0]; }

  /// Returns the coefficients b near `center` that minimise sum of weight * (y - x b)^2 + penalty * |b - center|^2.
  /// `penalty` is positive and counts in units of weight. With `freeConstant`, the first coefficient has no penalty if
  /// there is a row.
  Vector fit(double penalty, const Vector &center, bool freeConstant) const {
    std::array<std::array<double, n + 1>, n> system{};
    for (size_t i = 0; i < n; ++i) {
      double own = i == 0 && freeConstant && weight() > 0 ? 0 : penalty;
      for (size_t j = 0; j < n; ++j)
        system[i][j] = squares[i][j];
      system[i][i] += own;
      system[i][n] = products[i] + own * center[i];
    }
    // The matrix is positive definite: elimination needs no exchange of rows.
    for (size_t i = 0; i < n; ++i)
      for (size_t row = i + 1; row < n; ++row) {
        double factor = system[row][i] / system[i][i];
        for (size_t j = i; j <= n; ++j)
          system[row][j] -= factor * system[i][j];
      }
    Vector result{};
    for (size_t i = n; i-- > 0;) {
      result[i] = system[i][n];
      for (size_t j = i + 1; j < n; ++j)
        result[i] -= system[i][j] * result[j];
      result[i] /= system[i][i];
    }
    return result;
  }

private:
  std::array<Vector, n> squares{};
  Vector products{};
};

template <size_t n> double dot(const std::array<double, n> &a, const std::array<double, n> &b) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i)
    sum += a[i] * b[i];
  return sum;
}

} // namespace lathe::predict
