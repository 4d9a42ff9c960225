// Input rows of a convolution with open spatial extents in scratch, so that all tiles of a row are alike: with padding
// filled in, or, for one tap without padding, only the positions that are read. Formats that convert operands
// (codegen/space/ContractionFormat.h) find units in scratch.
#pragma once

#include "codegen/contraction/common/OpenConv.h"
#include "codegen/contraction/direct/DirectPlan.h"

namespace lathe {

/// What a work item has in scratch. Blocked: [block][row][column][channel of the block]; row-major:
/// [group][row][column][channel of the group]. Channels are units of a format that converts.
struct OpenRows {
  explicit OpenRows(const DirectPlan &plan);

  bool packed;           // one tap without padding: positions that are read, one row behind the other
  bool merged;           // the positions of an image are one row, of which a work item has a range
  int64_t before, after; // columns of padding; a tap that no position of a tile finds inside is left out
  bool skipsTaps;        // of the width: there is padding for whole tiles, or more than zeros
  Dim plane;             // positions of a block or group
  Dim columns;           // positions of a row
  Dim units;             // all; elements in formats that do not convert
};

/// Copies the input rows of output rows, or positions, [first, last) of an image to scratch.
class OpenRowsCopy {
public:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;
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
  ElementType type, to;     // of elements in the input and in scratch; those of floats are moved, not computed with
  int64_t pixel;            // elements of a position in scratch
  Value inColumns, inPlane; // extents of the input
  Value zero;               // zero point that the conversion subtracts, in the type of scratch; null: none
  Value outside;            // the value of a padding element
  Value image, firstHeld, rows, columns;

  Value value(const Dim &dim) const { return dims.value(k, dim); }
  bool converts() const { return plan.format.converts; }
  Value converted(Value elements);
  Value source(Value plane, Value row);
  void copyRows(Value plane, Value to);
  void copyBlocks();
  void copyPlanes();
  void clear(Value to, int64_t elements);
  void copyRow(Value from, Value to);
  void interleaveRow(Value from, Value to);
  void interleaveVectors(Value from, Value to);
  Values unitsOf(Value from, Value column);
};

} // namespace lathe
