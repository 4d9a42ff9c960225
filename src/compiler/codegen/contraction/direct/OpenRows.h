// Copies of input rows in scratch, for convolutions with open spatial extents. They make all tiles of a row alike:
// padding is filled in, or, for one tap without padding, only the positions that are read are copied. For formats that
// convert operands (codegen/space/ContractionFormat.h) the copies are units.
#pragma once

#include "codegen/contraction/common/OpenConv.h"
#include "codegen/contraction/direct/DirectPlan.h"

namespace lathe {

/// The input rows that a work item has in scratch. Blocked: [block][row][column][channel of the block]; row-major:
/// [group][row][column][channel of the group]. If the format converts, channels are units.
struct OpenRows {
  explicit OpenRows(const DirectPlan &plan);

  // true for one tap without padding: only the positions that are read are copied, one row after the other
  bool packed;
  bool merged; // true: all positions of an image are one row, and a work item has a range of it
  /// Columns of padding in front of and behind a row; taps that are outside for all positions of a tile are left out.
  int64_t before, after;
  /// True if taps of the width may be left out for a tile: there is padding for whole tiles, or more than the zeros in
  /// scratch.
  bool skipsTaps;
  Dim plane;   // number of positions of one block or group
  Dim columns; // number of positions of one row
  Dim units;   // size of all rows in units; in elements for formats that do not convert
};

/// Emits copies to scratch of the input that the output rows (or positions) [first, last) of an image read.
class OpenRowsCopy {
public:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;
  OpenRowsCopy(KernelBuilder &k, const DirectPlan &plan, const OpenRows &held, const RunTimeDims &dims);

  void emit(Value image, Value first, Value last);
  /// The first input row that the code of the last emit() copies to scratch.
  Value firstRow() const { return firstHeld; }

private:
  KernelBuilder &k;
  const DirectPlan &plan;
  const ConvGeometry &conv;
  const OpenRows &held;
  const RunTimeDims &dims;
  ElementType type, to;     // types of elements in the input and in scratch; 16-bit floats are moved as i16
  int64_t pixel;            // number of elements of one position in scratch
  Value inColumns, inPlane; // extents of the input: columns of a row; positions of a plane
  Value zero;               // zero point that the conversion subtracts, in the type of scratch; null: none
  Value outside;            // value of an element in the padding
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
