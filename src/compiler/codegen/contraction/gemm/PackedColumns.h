// The right operand of a matrix product if it is stored as integers of 4 or 8 bits (ir/PackedWeights.h).
//
// It is stored tile of columns by tile of columns, in the order in which gemm walks them:
//
//   codes   [tile][block][unit][vector][lane]. 4 bits: a unit is 32 bits with eight steps, the earliest in the lowest
//           bits. 8 bits: a unit is a byte with one step. Unsigned codes are stored minus half their range, as signed
//           ones. Steps and columns beyond the last are zero.
//   scale   [tile][block][vector][lane], f32
//   zero    the same order, minus the same half
#pragma once

#include "codegen/contraction/common/Contraction.h"
#include "codegen/contraction/gemm/GemmPlan.h"
#include "ir/PackedWeights.h"

namespace lathe {

/// Returns the facts about packed weights that a kernel needs. Throws Declined if a parameter of the weights is not an
/// argument of the kernel.
PackedColumnsFacts packedColumnsFacts(const nn::PackedWeights &weights);

/// Emits the code that reads packed weights, which stay packed in memory.
class PackedColumns {
public:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;
  PackedColumns(KernelBuilder &kernel, const GemmPlan &plan)
      : k(kernel), plan(plan), packed(*plan.gemm.packed), lanes(plan.lanes) {}

  /// Emits the sums of products for one tile of `vectors` vectors of columns. `rowOffsets`: the offset of each row of
  /// `a` from `aOffset`. The sum for a row and vector v is element row * vectors + v of the result. Codes become
  /// numbers in registers; scales are applied to the sum of a block.
  Values sums(Value tile, int64_t vectors, Value a, Value aOffset, llvm::ArrayRef<int64_t> rowOffsets);
  /// Emits code that converts a tile to float32 and writes it to scratch memory, in the order in which packColumns
  /// (WeightPacking.cpp) stores float32.
  void toScratch(Value tile, int64_t vectors);

private:
  KernelBuilder &k;
  const GemmPlan &plan;
  const PackedColumnsFacts &packed;
  int64_t lanes;

  /// Function that receives the numbers of reduction step `step` of a group, in vector `v` of columns.
  using Use = llvm::function_ref<void(int64_t step, int64_t v, Value numbers)>;
  void emitGroup(Value unit, int64_t vectors, int64_t count, const Values &zeros, Use use);
  Value load(Value unit);
  Value decode(Value code, int64_t step);
  Values parameters(const PackedColumnsFacts::Parameter &parameter, Value tile, Value block, int64_t vectors);
  Values zerosOf(Value tile, Value block, int64_t vectors);
  Value firstUnit(Value tile, Value block, int64_t vectors);
};

/// Sets the packings of the codes, the scales and the zero points of the right operand in `packings`.
void addPackedPackings(const GemmPlan &plan, std::vector<std::optional<Packing>> &packings);

} // namespace lathe
