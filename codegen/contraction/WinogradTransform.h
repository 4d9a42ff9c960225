// The matrices of Winograd's minimal filtering F(m, r), made from interpolation points, and the code that applies them.
//
// y = A^T [(G g) (.) (B^T d)] gives m outputs of a correlation of d (m + r - 1 values) with g (r values) in m + r - 1
// multiplications. Construction: Toom-Cook evaluation at finite points and infinity, transposed (Lavin and Gray, "Fast
// Algorithms for Convolutional Neural Networks", 2015; Barabasz and others, "Error Analysis and Improving the Accuracy
// of Winograd Convolution", 2018).
#pragma once

#include "codegen/builder/KernelBuilder.h"

#include <vector>

namespace lathe {

/// Rows of equal length.
using CoefficientRows = std::vector<std::vector<double>>;

struct WinogradTransform {
  int64_t outputs, taps;                 // m, r
  CoefficientRows output, filter, input; // A^T: m x alpha, G: alpha x r, B^T: alpha x alpha

  int64_t size() const { return outputs + taps - 1; } // alpha
};

/// F(m, 3) for m of 2, 4 and 6, on the points 0, 1, -1, 2, -2, 1/2, -1/2 (as many as needed) and infinity. Where what
/// is multiplied is `rounded` to few bits, for m of 2, 3 and 4 on the points that magnify those errors least
/// (docs/notes/bf16.md).
WinogradTransform winogradTransform(int64_t outputs, bool rounded = false);

/// The linear forms `rows` of `inputs`. Rows, or columns, that differ in signs only share their sums.
KernelBuilder::Values applyRows(KernelBuilder &k, const CoefficientRows &rows, mlir::ValueRange inputs);

/// Additions and multiply-adds that applyRows emits.
int64_t operationsOf(const CoefficientRows &rows);

} // namespace lathe
