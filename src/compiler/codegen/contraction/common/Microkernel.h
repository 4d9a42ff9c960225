// The register-blocked microkernel of all dense contractions. It multiplies rows of broadcast scalars by vectors of
// output channels, and adds the products up in registers over any number of reduction steps.
#pragma once

#include "codegen/builder/KernelBuilder.h"
#include "codegen/space/ContractionFormat.h"
#include "codegen/space/RegisterBlock.h"

namespace lathe {

/// The operand of the microkernel that is read in vectors. The vectors of step k begin at k * stepStride from the
/// base, and vector v at v * lanes * laneStride from there.
struct VectorOperand {
  mlir::Value base;
  int64_t stepStride = 0;
  int64_t laneStride = 1;
  int64_t validLanes = -1; // number of valid lanes over all vectors; -1: all lanes are valid (packed operands)
};

/// Prefetches the next panel of the vector operand while the current panel is used: `lines` cache lines in each loop
/// iteration.
struct PanelPrefetch {
  mlir::Value first; // offset of the first line from the operand's base, in elements; null: nothing is prefetched
  int64_t lines = 0; // number of cache lines for each loop iteration
};

class Microkernel {
public:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;
  /// Makes a microkernel whose steps are units of `format` in both operands.
  Microkernel(KernelBuilder &kernel, const ContractionFormat &format, int64_t lanes, int64_t unroll)
      : k(kernel), format(format), type(format.unit), leftType(format.leftUnit()), lanes(lanes), unroll(unroll) {}

  /// Emits a reduction that is added to accumulators: acc[row * vectors + v] += sum over k of a[aOffset +
  /// rowOffsets[row] + at(k)] * b[bOffset + at(k)][v], for the given rows. Returns the new accumulators.
  Values reduce(mlir::ValueRange accumulators, llvm::ArrayRef<int64_t> rows, llvm::ArrayRef<int64_t> rowOffsets,
                int64_t vectors, Value a, Value aOffset, const ReductionAxis &axis, const VectorOperand &b,
                Value bOffset);

  /// Emits a reduction like reduce(), for all rows and one run of `extent` steps, in a format whose products take
  /// pairs of rows.
  Values reducePairs(Values sums, llvm::ArrayRef<int64_t> rowOffsets, int64_t vectors, Value a, Value aOffset,
                     int64_t extent, const VectorOperand &b, Value bOffset);

  PanelPrefetch prefetch; // what the next call of reduce() emits prefetches for
  Value runStride;        // distance of runs if it is known only at run time; null: the ReductionAxis has it
  /// Number of vectors of a whole tile. A narrower tile at the edge adds its products in the same order, so that equal
  /// columns have equal results.
  int64_t widest = 0;

  /// Returns the part of a panel that one register block prefetches: a contiguous range, so that memory sees sequential
  /// streams. The panel begins at `panel` and has `elements` elements; `block` is the number of the register block, one
  /// of `blocks`, which calls reduce() `reductions` times over `axis`.
  PanelPrefetch shareOfPanel(Value panel, int64_t elements, Value block, int64_t blocks, const ReductionAxis &axis,
                             int64_t reductions);
  /// The part of `share` that call `number` of reduce() prefetches; each register block counts its calls of reduce()
  /// from 0.
  PanelPrefetch continued(const PanelPrefetch &share, Value number, const ReductionAxis &axis);

  Values zeros(int64_t count);

  /// Returns an equal address that LLVM treats as unrelated. Otherwise LLVM would group loads through it with loads
  /// through `pointer`, which needs more registers than there are.
  Value launder(Value pointer);

private:
  KernelBuilder &k;
  ContractionFormat format;
  ElementType type;     // type of the units of the vector operand
  ElementType leftType; // type of the units of the broadcast operand
  int64_t lanes, unroll;

  void steps(Values &acc, llvm::ArrayRef<int64_t> rowOffsets, int64_t vectors, Value a, const ReductionAxis &axis,
             const VectorOperand &b, Value bPointer, int64_t first, int64_t count);
  void addedSteps(Values &acc, llvm::ArrayRef<int64_t> rowOffsets, int64_t vectors, Value a, const ReductionAxis &axis,
                  const VectorOperand &b, Value bPointer, int64_t first, int64_t count);
  void addChains(Values &acc, int64_t chains);
  void stepOfPairs(Values &acc, llvm::ArrayRef<int64_t> rowOffsets, int64_t vectors, Value a, const VectorOperand &b,
                   Value bPointer, int64_t step);
  /// The MLIR type in whose size addresses of an operand of `type` are counted.
  mlir::Type stepType(ElementType type);
  Value at(Value pointer, int64_t elements) { return at(pointer, elements, type); }
  Value at(Value pointer, int64_t elements, ElementType type);
  void fetchAhead(Value base, Value iteration);
  int64_t iterationsOfRun(int64_t steps) const { return std::max<int64_t>(1, steps / unroll); }
  /// Number of loop iterations of one call of reduce().
  int64_t iterations(const ReductionAxis &axis) const;
  int64_t lineElements() const; // number of elements of the vector operand in a cache line
  Value loadVector(const VectorOperand &b, Value pointer, int64_t elements, int64_t v);
};

} // namespace lathe
