// Input rows of a convolution with open spatial extents in scratch, so that all tiles of a row are alike: with the zeros
// of the padding, or, for one tap without padding, only the positions that are read.
#pragma once

#include "codegen/contraction/OpenConv.h"
#include "codegen/space/DirectPlan.h"

namespace lathe {

/// What a work item has in scratch. Blocked: [block][row][column][channel of the block]; row-major:
/// [group][row][column][channel of the group].
struct OpenRows {
  explicit OpenRows(const DirectPlan &plan);

  bool packed;           // one tap without padding: positions that are read, one row behind the other
  int64_t before, after; // columns of zeros; a tap that no position of a tile finds inside is left out
  bool skipsTaps;        // of the width: there is padding for whole tiles, or more than zeros
  Dim plane;             // positions of a block or group
  Dim columns;           // positions of a row
  Dim elements;          // all
};

/// Copies the input rows of output rows [first, last) of an image to scratch.
class OpenRowsCopy {
public:
  using Value = mlir::Value;
  OpenRowsCopy(KernelBuilder &k, const DirectPlan &plan, const OpenRows &held, const RunTimeDims &dims);

  void emit(Value image, Value first, Value last);
  /// The first input row in scratch, of the last emit().
  Value firstRow() const { return firstHeld; }

private:
  KernelBuilder &k;
  const DirectPlan &plan;
  const ConvGeometry &conv;
  const OpenRows &held;
  const RunTimeDims &dims;
  ElementType type;         // elements are moved, not computed with
  int64_t pixel;            // elements of a position in scratch
  Value inColumns, inPlane; // extents of the input
  Value image, firstHeld, rows, columns;

  Value value(const Dim &dim) const { return dims.value(k, dim); }
  Value source(Value plane, Value row);
  void copyRows(Value plane, Value to);
  void copyBlocks();
  void copyPlanes();
  void clear(Value to, int64_t elements);
  void copyRow(Value from, Value to);
  void interleaveRow(Value from, Value to);
  void interleaveVectors(Value from, Value to);
};

} // namespace lathe
