// Plan of a kernel that computes a matrix product by the algorithm `gemm`: the sizes that follow from a schedule.
#pragma once

#include "codegen/contraction/common/ContractionFacts.h"

namespace lathe {

struct GemmPlan {
  GemmGeometry gemm;
  int64_t lanes, unroll, rows, vectors, mc, kc;
  ContractionFormat format;
  bool packB, prefetch;
  /// True if the kernel multiplies the integer codes of packed weights as it loads them. With packB, it first converts
  /// the codes to numbers in scratch memory.
  bool readsCodes() const { return gemm.packed && !packB; }
  /// Number of reduction steps for one row, in units (groups of elements that one instruction multiplies at once;
  /// ContractionFormat).
  int64_t allSteps() const { return format.unitsOf(gemm.k); }
  int64_t passes() const { return (allSteps() + kc - 1) / kc; }
  /// Number of reduction steps in the last pass over the reduction (`last`) or in each of the other passes, in units
  /// like kc.
  int64_t steps(bool last) const { return last ? allSteps() - (passes() - 1) * kc : kc; }
  int64_t tiles() const { return (columnVectors() + vectors - 1) / vectors; }
  int64_t columnVectors() const { return (gemm.n + lanes - 1) / lanes; }
  int64_t tailVectors() const { return columnVectors() - (tiles() - 1) * vectors; }
  /// Number of register blocks into which the rows of the result are divided.
  Dim pieces() const { return ceilDiv(gemm.m, rows); }
  Dim chunks() const { return ceilDiv(pieces(), mc); }
  /// If the number of rows is open: number of rows of every chunk but the last one, at most mc register blocks. The
  /// register blocks are spread evenly over the chunks, so that threads which share the chunks get equal work.
  Dim evenChunk() const { return ceilDiv(pieces(), maximum(chunks(), 1)) * Dim(rows); }
  /// Largest number of rows of a chunk.
  int64_t chunkRows() const { return gemm.m.isConstant() ? std::min(gemm.m.constant(), mc * rows) : mc * rows; }
  int64_t partialBytes() const { return bitWidth(format.sum) / 8; }
  /// Partial sums in scratch memory: their number for one tile, and the offset of those of the first tile in bytes.
  /// They follow a tile of the right operand and the converted rows of the left operand.
  int64_t partialStride() const { return chunkRows() * vectors * lanes; }
  int64_t partialStart() const { return rowSumsStart() + (weightsZero() ? (chunkRows() * 4 + 63) / 64 * 64 : 0); }
  /// True if the constant right operand has a zero point. Scratch memory then contains, from byte rowSumsStart() on,
  /// the sum of each row times the zero point.
  bool weightsZero() const { return gemm.constantB && gemm.rightZero; }
  int64_t rowSumsStart() const {
    return leftStart() + (format.converts ? chunkRows() * convertedRow() * format.unitBytes() : 0);
  }
  /// Offset of the converted rows of the left operand in scratch memory, in bytes.
  int64_t leftStart() const { return packB ? (kc * vectors * lanes * format.unitBytes() + 63) / 64 * 64 : 0; }
  /// Distance between converted rows in units: whole cache lines, and one more if rows would otherwise share sets of
  /// the first-level cache.
  int64_t convertedRow() const {
    int64_t line = 64 / format.unitBytes(), units = (allSteps() + line - 1) / line * line;
    return units % (16 * line) ? units : units + line;
  }
};

/// Largest number of rows of a register block that multiplies the codes of packed weights as they are loaded.
inline constexpr int64_t mostPackedRows = 4;
/// Number of vector registers that a register block of `rows` rows x `vectors` vectors of columns needs if it
/// multiplies the codes of packed weights.
int64_t packedRegisters(const PackedColumnsFacts &packed, int64_t rows, int64_t vectors);

/// Number of columns in one vector of columns.
int64_t gemmLanes(const Target &target, const GemmGeometry &gemm);
/// Makes the plan for a schedule of `gemm`. Throws Illegal for an illegal schedule.
GemmPlan makeGemmPlan(const Target &target, const GemmGeometry &gemm, const Schedule &schedule);

/// Returns the schedule of `gemm` that the hand-written rules choose.
Schedule gemmPrior(const KernelFacts &facts, const GemmGeometry &gemm);

Prediction predict(const ContractionFacts &facts, const GemmPlan &plan);
std::vector<LoopNest> nestsOf(const GemmPlan &plan);
/// Returns how the right operand is packed, if it is constant.
Packing packingOf(const GemmPlan &plan);
GeneratedKernel generateFrom(const ContractionProblem &problem, const GemmPlan &plan, const Schedule &schedule);

} // namespace lathe
