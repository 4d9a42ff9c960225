// The one register-blocked microkernel under every dense contraction: rows of broadcast scalars times vectors of output
// channels, accumulated in registers over any number of reductions.
#pragma once

#include "codegen/builder/KernelBuilder.h"
#include "codegen/space/RegisterBlock.h"

namespace lathe {

/// How the vector operand is stepped through: step k's vectors start at k * stepStride, vector v `v * lanes *
/// laneStride` on.
struct VectorOperand {
  mlir::Value base;
  int64_t stepStride = 0;
  int64_t laneStride = 1;
  int64_t validLanes = -1; // lanes that exist over all vectors; -1: all (packed operands)
};

/// Brings the next panel of the vector operand nearer while the current one is worked on: each loop iteration fetches
/// `lines` cache lines, one iteration behind the other.
struct PanelPrefetch {
  mlir::Value
      first; // where the first iteration's lines lie, in elements behind the operand's base; null: nothing is fetched
  int64_t lines = 0;
};

class Microkernel {
public:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;
  /// With `bf16Pairs` a step is a unit of codegen/contraction/Bf16.h in both operands, and `type` f32: what sums are, and as wide
  /// as a unit.
  Microkernel(KernelBuilder &kernel, ElementType type, int64_t lanes, int64_t unroll, bool bf16Pairs = false)
      : k(kernel), type(type), lanes(lanes), unroll(unroll), bf16Pairs(bf16Pairs) {}

  /// acc[row * vectors + v] += sum over k of a[aOffset + rowOffsets[row] + at(k)] * b[bOffset + at(k)][v] for the rows
  /// listed.
  Values reduce(mlir::ValueRange accumulators, llvm::ArrayRef<int64_t> rows, llvm::ArrayRef<int64_t> rowOffsets,
                int64_t vectors, Value a, Value aOffset, const ReductionAxis &axis, const VectorOperand &b,
                Value bOffset);

  PanelPrefetch prefetch; // of the reduction to come
  /// Vectors of whole tiles: a narrower one at the edge sums in their order, so that equal columns have equal results.
  int64_t widest = 0;

  /// What register block `block` of `blocks`, each `reductions` calls of reduce over `axis`, fetches of a panel of
  /// `elements` elements at `panel`: a run of lines of its own, so that memory sees one stream.
  PanelPrefetch shareOfPanel(Value panel, int64_t elements, Value block, int64_t blocks, const ReductionAxis &axis,
                             int64_t reductions);
  /// `share` as reduction number `number` of a register block continues it.
  PanelPrefetch continued(const PanelPrefetch &share, Value number, const ReductionAxis &axis);

  Values zeros(int64_t count);

  /// The same address, which LLVM takes for another: loads through it are not merged with loads through `pointer` and
  /// then kept in registers that are not there.
  Value launder(Value pointer);

private:
  KernelBuilder &k;
  ElementType type;
  int64_t lanes, unroll;
  bool bf16Pairs;

  void steps(Values &acc, llvm::ArrayRef<int64_t> rowOffsets, int64_t vectors, Value a, const ReductionAxis &axis,
             const VectorOperand &b, Value bPointer, int64_t first, int64_t count);
  Value at(Value pointer, int64_t elements);
  void fetchAhead(Value base, Value iteration);
  int64_t iterationsOfRun(int64_t steps) const { return std::max<int64_t>(1, steps / unroll); }
  /// Loop iterations of one reduction.
  int64_t iterations(const ReductionAxis &axis) const;
  int64_t lineElements() const; // of a cache line
  Value loadVector(const VectorOperand &b, Value pointer, int64_t elements, int64_t v);
};

} // namespace lathe
