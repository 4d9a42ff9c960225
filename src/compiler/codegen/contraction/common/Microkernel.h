// The register-blocked microkernel of all dense contractions: multiplies rows of broadcast scalars by vectors of
// output channels and accumulates in registers over any number of reductions.
#pragma once

#include "codegen/builder/KernelBuilder.h"
#include "codegen/space/ContractionFormat.h"
#include "codegen/space/RegisterBlock.h"

namespace lathe {

/// Layout of the vector operand: the vectors of step k start at k * stepStride, and vector v at v *
/// lanes * laneStride from there.
struct VectorOperand {
  mlir::Value base;
  int64_t stepStride = 0;
  int64_t laneStride = 1;
  int64_t validLanes = -1; // number of valid lanes over all vectors; -1: all (packed operands)
};

/// Prefetches the next panel of the vector operand while the current one is used: each loop
/// iteration prefetches the next `lines` cache lines.
struct PanelPrefetch {
  mlir::Value first; // first line, as an offset from the operand's base in elements; null: no prefetching
  int64_t lines = 0; // cache lines per iteration
};

class Microkernel {
public:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;
  /// A step is a unit of `format` in both operands.
  Microkernel(KernelBuilder &kernel, const ContractionFormat &format, int64_t lanes, int64_t unroll)
      : k(kernel), format(format), type(format.unit), leftType(format.leftUnit()), lanes(lanes), unroll(unroll) {}

  /// acc[row * vectors + v] += sum over k of a[aOffset + rowOffsets[row] + at(k)] * b[bOffset +
  /// at(k)][v], for the given rows.
  Values reduce(mlir::ValueRange accumulators, llvm::ArrayRef<int64_t> rows, llvm::ArrayRef<int64_t> rowOffsets,
                int64_t vectors, Value a, Value aOffset, const ReductionAxis &axis, const VectorOperand &b,
                Value bOffset);

  /// The same for all rows, over one run of `extent` steps, in a format that multiplies pairs of rows.
  Values reducePairs(Values sums, llvm::ArrayRef<int64_t> rowOffsets, int64_t vectors, Value a, Value aOffset,
                     int64_t extent, const VectorOperand &b, Value bOffset);

  PanelPrefetch prefetch; // used by the next reduce()
  Value runStride;        // distance of runs where only a run of the program knows it; null: that of the axis
  /// Vectors of a whole tile. A narrower tile at the edge sums in the same order, so that equal
  /// columns have equal results.
  int64_t widest = 0;

  /// The part of a panel of `elements` elements at `panel` that register block `block` of `blocks`
  /// prefetches during its `reductions` calls of reduce over `axis`: a contiguous range, so that
  /// memory sees sequential streams.
  PanelPrefetch shareOfPanel(Value panel, int64_t elements, Value block, int64_t blocks, const ReductionAxis &axis,
                             int64_t reductions);
  /// The part of `share` for reduction number `number` of a register block.
  PanelPrefetch continued(const PanelPrefetch &share, Value number, const ReductionAxis &axis);

  Values zeros(int64_t count);

  /// Returns an equal address that LLVM treats as unrelated, so that loads through it are not
  /// grouped with loads through `pointer`, which would need more registers than there are.
  Value launder(Value pointer);

private:
  KernelBuilder &k;
  ContractionFormat format;
  ElementType type;     // of units
  ElementType leftType; // of units of `a`
  int64_t lanes, unroll;

  void steps(Values &acc, llvm::ArrayRef<int64_t> rowOffsets, int64_t vectors, Value a, const ReductionAxis &axis,
             const VectorOperand &b, Value bPointer, int64_t first, int64_t count);
  void addedSteps(Values &acc, llvm::ArrayRef<int64_t> rowOffsets, int64_t vectors, Value a, const ReductionAxis &axis,
                  const VectorOperand &b, Value bPointer, int64_t first, int64_t count);
  void addChains(Values &acc, int64_t chains);
  void stepOfPairs(Values &acc, llvm::ArrayRef<int64_t> rowOffsets, int64_t vectors, Value a, const VectorOperand &b,
                   Value bPointer, int64_t step);
  /// The type of addresses in an operand of `type`.
  mlir::Type stepType(ElementType type);
  Value at(Value pointer, int64_t elements) { return at(pointer, elements, type); }
  Value at(Value pointer, int64_t elements, ElementType type);
  void fetchAhead(Value base, Value iteration);
  int64_t iterationsOfRun(int64_t steps) const { return std::max<int64_t>(1, steps / unroll); }
  /// Loop iterations of one reduction.
  int64_t iterations(const ReductionAxis &axis) const;
  int64_t lineElements() const; // elements per cache line
  Value loadVector(const VectorOperand &b, Value pointer, int64_t elements, int64_t v);
};

} // namespace lathe
