// The plan of a schedule of `gemm`.
#pragma once

#include "codegen/space/Bf16Pairs.h"
#include "codegen/space/ContractionFacts.h"

namespace lathe {

struct GemmPlan {
  GemmGeometry gemm;
  int64_t lanes, unroll, rows, vectors, mc, kc;
  bool packB, prefetch, bf16;
  int64_t allSteps() const { return bf16 ? bf16::pairsOf(gemm.k) : gemm.k; }
  int64_t passes() const { return (allSteps() + kc - 1) / kc; }
  /// Reduction steps of each pass but the last one, and of the last one. With bf16 steps are pairs,
  /// and kc counts pairs.
  int64_t steps(bool last) const { return last ? allSteps() - (passes() - 1) * kc : kc; }
  int64_t tiles() const { return (columnVectors() + vectors - 1) / vectors; }
  int64_t columnVectors() const { return (gemm.n + lanes - 1) / lanes; }
  int64_t tailVectors() const { return columnVectors() - (tiles() - 1) * vectors; }
  /// Number of register blocks of rows.
  Dim pieces() const { return ceilDiv(gemm.m, rows); }
  Dim chunks() const { return ceilDiv(pieces(), mc); }
  /// Largest number of rows of a chunk.
  int64_t chunkRows() const { return gemm.m.isConstant() ? std::min(gemm.m.constant(), mc * rows) : mc * rows; }
  /// Type of the accumulators and of partial sums kept in scratch.
  ElementType partialType() const {
    return isFloat(gemm.type) && bitWidth(gemm.type) == 16 ? ElementType::f32 : gemm.type;
  }
  int64_t partialBytes() const { return bitWidth(partialType()) / 8; }
  /// Elements of the partial sums of one tile, and the offset of the first partial sums in scratch
  /// in bytes, behind a tile of the right operand and rounded rows of the left one.
  int64_t partialStride() const { return chunkRows() * vectors * lanes; }
  int64_t partialStart() const { return leftStart() + (bf16 ? chunkRows() * roundedRow() * bf16::unitBytes : 0); }
  /// Offset of the rounded rows of the left operand in scratch, in bytes. A unit of bf16 has the
  /// size of an element.
  int64_t leftStart() const { return packB ? (kc * vectors * lanes * bitWidth(gemm.type) / 8 + 63) / 64 * 64 : 0; }
  /// Distance of rounded rows in units: whole vectors, and one more cache line if rows would share
  /// sets of the first-level cache.
  int64_t roundedRow() const {
    int64_t line = 64 / bf16::unitBytes, units = (allSteps() + line - 1) / line * line;
    return units % (16 * line) ? units : units + line;
  }
};

/// Number of lanes of a vector of columns.
int64_t gemmLanes(const Target &target, const GemmGeometry &gemm);
/// Makes the plan. Throws Illegal for an illegal schedule.
GemmPlan makeGemmPlan(const Target &target, const GemmGeometry &gemm, const Schedule &schedule);

} // namespace lathe
