// A matrix product in the form that libraries need: a view of a Problem whose operator is gemm, matmul or
// matmul_integer.
#pragma once

#include "lab/problems/Problem.h"

#include <optional>

namespace lathe::lab {

/// A matrix product y[i] = alpha * a[i] * b[i] + beta * c for every i of a batch. a is rows x inner, b is inner x
/// columns, y is rows x columns.
struct MatrixProblem {
  int64_t rows = 1, columns = 1, inner = 1;
  bool transA = false, transB = false; // true: a is stored as inner x rows, b as columns x inner
  double alpha = 1, beta = 1;
  /// `batch`: extents of the batch. firstA (firstB): for each product of the batch, the offset of the first element of
  /// its matrix in a (b). Offsets repeat if a (b) broadcasts.
  std::vector<int64_t> batch;
  std::vector<int64_t> firstA, firstB;
  bool addend = false; // false: there is no c
  /// Strides of c, in elements: element (row, column) is at row * addendRow + column * addendColumn.
  int64_t addendRow = 0, addendColumn = 0;
  std::vector<int64_t> batchOfA, batchOfB; // batch extents of a and b, with the rank of `batch`
  // leading dimension: distance of two lines of a in elements
  int64_t lda() const { return transA ? rows : inner; }
  int64_t ldb() const { return transB ? inner : columns; }
  bool broadcasts() const { return batchOfA != batch || batchOfB != batch; }
};

/// Returns the problem as a matrix product; nothing for other operators. Ignores the epilogue and
/// zero points.
std::optional<MatrixProblem> matrixOf(const Problem &problem);

} // namespace lathe::lab
