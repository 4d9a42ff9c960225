// The matrices of Winograd's minimal filtering F(m, r), computed from interpolation points.
//
// y = A^T [(G g) (.) (B^T d)] gives m outputs of a correlation of d (m + r - 1 values) with g (r values) in m + r - 1
// multiplications. Construction: Toom-Cook evaluation at finite points and infinity, transposed (Lavin and Gray, "Fast
// Algorithms for Convolutional Neural Networks", 2015; Barabasz and others, "Error Analysis and Improving the Accuracy
// of Winograd Convolution", 2018).
#pragma once

#include <cstdint>
#include <vector>

namespace lathe {

/// A matrix of coefficients: rows of equal length.
using CoefficientRows = std::vector<std::vector<double>>;

struct WinogradTransform {
  int64_t outputs, taps;                 // m and r of F(m, r)
  CoefficientRows output, filter, input; // A^T (m x alpha), G (alpha x r) and B^T (alpha x alpha)
  int64_t resultShift = 0; // the transform, applied along both axes, gives 2^resultShift times the outputs

  int64_t size() const { return outputs + taps - 1; } // alpha
};

/// Returns Winograd's transform F(m, 3) for m = `outputs` = 2, 4 or 6, on the points 0, 1, -1, 2, -2, 1/2, -1/2 (as
/// many as needed) and infinity. `rounded`: the transform is for factors rounded to few bits; it allows m = 2, 3 and
/// 4, on the points that amplify rounding errors least (docs/notes/bf16.md). Throws Illegal ("m") for other m.
WinogradTransform winogradTransform(int64_t outputs, bool rounded = false);
/// Returns Winograd's transform F(2, 3) in whole numbers, with the filter's rows doubled. It is exact in integers: if
/// the inputs are below 2^8, all values at points have at most 12 bits, and four times an output fits the sums. Throws
/// Illegal ("m") for other m.
WinogradTransform integerWinogradTransform(int64_t outputs);

/// Number of additions and multiply-adds that applyRows (codegen/contraction/winograd/WinogradCode.h) emits for a
/// matrix.
int64_t operationsOf(const CoefficientRows &rows);

} // namespace lathe
