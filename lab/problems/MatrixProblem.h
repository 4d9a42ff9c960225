// A product of matrices as libraries want it told: a view of a Problem (gemm, matmul or matmul_integer).
#pragma once

#include "lab/problems/Problem.h"

#include <optional>

namespace lathe::lab {

/// y[i] = alpha * a[i] * b[i] + beta * c for every i of a batch: a is rows x inner, b inner x columns, y rows x
/// columns.
struct MatrixProblem {
  int64_t rows = 1, columns = 1, inner = 1;
  bool transA = false, transB = false; // a lies inner x rows, b columns x inner
  double alpha = 1, beta = 1;
  /// Extents of the batch and, by product, the first element of a and of b: those broadcast.
  std::vector<int64_t> batch;
  std::vector<int64_t> firstA, firstB;
  bool addend = false;                                  // c, of which element (row, column) lies at
  int64_t addendRow = 0, addendColumn = 0;              // row * addendRow + column * addendColumn
  std::vector<int64_t> batchOfA, batchOfB;              // their extents, of the rank of `batch`
  int64_t lda() const { return transA ? rows : inner; } // elements from one line of a to the next
  int64_t ldb() const { return transB ? inner : columns; }
  bool broadcasts() const { return batchOfA != batch || batchOfB != batch; }
};

/// None of other operators. The epilogue and zero points are not looked at.
std::optional<MatrixProblem> matrixOf(const Problem &problem);

} // namespace lathe::lab
