// Taps of an axis that nn.resize resizes: the elements of x that contribute to a position of the result, and their
// weights.
#pragma once

#include "codegen/builder/KernelHarness.h"

namespace lathe {

/// Taps of one resized axis whose extents are static. Position `i` of the result is the sum over t of weights[t][i] *
/// x[indices[t][i]].
struct Taps {
  std::vector<std::vector<int32_t>> indices;
  std::vector<std::vector<float>> weights;
  size_t count() const { return indices.size(); }
};

/// Computes the taps of an axis by the formulas of ONNX Resize. `length` is the exact extent of the result, which is a
/// fraction if scales are given. Declines results that are too long for a table in the code.
Taps makeTaps(const ResizeAttrs &attrs, int64_t in, int64_t out, double scale, double length);

/// Taps of one resized axis that the kernel computes at run time. They lie in scratch: `capacity` rows of i32 indices,
/// then as many rows of f32 weights. A row has `padded` positions.
class OpenTaps {
public:
  /// `scale`: extent of the result divided by the extent of x. 0: the scale is element `axis` of `scales`, or without
  /// this operand the quotient of the extents. `place`: first byte of the table in scratch. `lanes`: number of float64
  /// elements in a vector.
  OpenTaps(const ResizeAttrs &attrs, Dim in, Dim out, double scale, const KernelTensor *scales, int64_t axis, Dim place,
           int64_t lanes);

  /// Returns the number of input elements (taps) that contribute to an output position; 0 if it is known only at run
  /// time, because antialias depends on the scale.
  int64_t count() const { return fixed; }
  /// Place of the first byte after the table of taps in scratch.
  Dim end() const { return weightsPlace + capacity * padded * 4; }
  /// Extents that the code of the table of taps needs at run time.
  Dims extents() const;

  /// Emits the code that writes the table of taps, and returns the number of taps as a value of the code.
  mlir::Value emit(KernelHarness &h) const;
  /// Emit the address of row `tap` of the table's indices, or of its weights.
  mlir::Value indices(KernelHarness &h, mlir::Value tap) const { return row(h, place, tap); }
  mlir::Value weights(KernelHarness &h, mlir::Value tap) const { return row(h, weightsPlace, tap); }

private:
  const ResizeAttrs &attrs;
  Dim in, out;
  double scale;
  const KernelTensor *scales;
  int64_t axis, lanes, fixed = 1;
  Dim padded, capacity = 1, place, weightsPlace;

  mlir::Value row(KernelHarness &h, const Dim &first, mlir::Value tap) const;
};

} // namespace lathe
