// The plan of a schedule of `gemm`.
#pragma once

#include "codegen/contraction/common/ContractionFacts.h"

namespace lathe {

struct GemmPlan {
  GemmGeometry gemm;
  int64_t lanes, unroll, rows, vectors, mc, kc;
  ContractionFormat format;
  bool packB, prefetch;
  /// True if sums are made of the codes of packed weights as they are loaded. packB brings them to scratch as numbers.
  bool readsCodes() const { return gemm.packed && !packB; }
  /// Reduction steps of a row, in units.
  int64_t allSteps() const { return format.unitsOf(gemm.k); }
  int64_t passes() const { return (allSteps() + kc - 1) / kc; }
  /// Reduction steps of each pass but the last one, and of the last one. Steps and kc count units.
  int64_t steps(bool last) const { return last ? allSteps() - (passes() - 1) * kc : kc; }
  int64_t tiles() const { return (columnVectors() + vectors - 1) / vectors; }
  int64_t columnVectors() const { return (gemm.n + lanes - 1) / lanes; }
  int64_t tailVectors() const { return columnVectors() - (tiles() - 1) * vectors; }
  /// Number of register blocks of rows.
  Dim pieces() const { return ceilDiv(gemm.m, rows); }
  Dim chunks() const { return ceilDiv(pieces(), mc); }
  /// Rows of every chunk but the last one, where the number of rows is open: at most mc register blocks. The
  /// register blocks are spread evenly over the chunks, so that threads which share the chunks get equal work.
  Dim evenChunk() const { return ceilDiv(pieces(), maximum(chunks(), 1)) * Dim(rows); }
  /// Largest number of rows of a chunk.
  int64_t chunkRows() const { return gemm.m.isConstant() ? std::min(gemm.m.constant(), mc * rows) : mc * rows; }
  int64_t partialBytes() const { return bitWidth(format.sum) / 8; }
  /// Elements of the partial sums of one tile, and the offset of the first partial sums in scratch
  /// in bytes, behind a tile of the right operand and converted rows of the left one.
  int64_t partialStride() const { return chunkRows() * vectors * lanes; }
  int64_t partialStart() const { return rowSumsStart() + (weightsZero() ? (chunkRows() * 4 + 63) / 64 * 64 : 0); }
  /// True if the constant right operand has a zero point: sums of rows times it are in scratch, in bytes from here on.
  bool weightsZero() const { return gemm.constantB && gemm.rightZero; }
  int64_t rowSumsStart() const {
    return leftStart() + (format.converts ? chunkRows() * convertedRow() * format.unitBytes() : 0);
  }
  /// Offset of the converted rows of the left operand in scratch, in bytes.
  int64_t leftStart() const { return packB ? (kc * vectors * lanes * format.unitBytes() + 63) / 64 * 64 : 0; }
  /// Distance of converted rows in units: whole vectors, and one more cache line if rows would share
  /// sets of the first-level cache.
  int64_t convertedRow() const {
    int64_t line = 64 / format.unitBytes(), units = (allSteps() + line - 1) / line * line;
    return units % (16 * line) ? units : units + line;
  }
};

/// Rows of a register block that makes sums from the codes of packed weights, at most.
inline constexpr int64_t mostPackedRows = 4;
/// Vector registers that such a block of `rows` x `vectors` takes.
int64_t packedRegisters(const PackedColumnsFacts &packed, int64_t rows, int64_t vectors);

/// Number of lanes of a vector of columns.
int64_t gemmLanes(const Target &target, const GemmGeometry &gemm);
/// Makes the plan. Throws Illegal for an illegal schedule.
GemmPlan makeGemmPlan(const Target &target, const GemmGeometry &gemm, const Schedule &schedule);

/// Schedule of `gemm`.
Schedule gemmPrior(const KernelFacts &facts, const GemmGeometry &gemm);

Prediction predict(const ContractionFacts &facts, const GemmPlan &plan);
std::vector<LoopNest> nestsOf(const GemmPlan &plan);
/// For the right operand, where it is constant.
Packing packingOf(const GemmPlan &plan);
GeneratedKernel generateFrom(const ContractionProblem &problem, const GemmPlan &plan, const Schedule &schedule);

} // namespace lathe
