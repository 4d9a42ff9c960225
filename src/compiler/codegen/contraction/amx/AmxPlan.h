// Plan of a kernel that computes a contraction by the algorithm `amx` (tile registers of AMX): the sizes that follow
// from a schedule.
#pragma once

#include "codegen/contraction/common/ContractionFacts.h"

namespace lathe {

// Sizes of a tile register of AMX. A tile register holds 16 rows of 64 bytes: 32 channels in bf16, 64 of 8 bits, or
// 16 sums in fp32 or i32.
inline constexpr int64_t tileRows = 16, tileBytes = 1024, tileLineBytes = 64, tileLanes = 16;
// Offsets of the parts of scratch memory in bytes: the configuration of the tile registers, the sums of a register
// block, the converted input.
inline constexpr int64_t tileConfigAt = 0, tileSumsAt = 64, tileInputAt = tileSumsAt + 4 * tileBytes;

/// One tap of a convolution's kernel. The input is divided into phases by its positions modulo the strides; the tap
/// reads the plane of one phase, at an offset in rows and columns.
struct TileTap {
  int64_t phase, row, column;
};

struct TilePlan {
  // Extents of the problem as a convolution; a matrix product counts as one with one column and one tap.
  Dim images = 1, height; // height: number of output rows; if the rows are merged: number of output positions
  int64_t width = 1, channels = 0, outputs = 0;
  std::optional<ConvGeometry> conv;
  std::optional<GemmGeometry> gemm;
  /// For each phase: row and column, modulo the strides, of the inputs that belong to it.
  std::vector<std::pair<int64_t, int64_t>> phases;
  std::vector<TileTap> taps;
  int64_t moreRows = 0, moreColumns = 0; // rows and columns that taps read beyond an output position
  int64_t rows, oc;
  bool prefetch;
  ContractionFormat format = formatNamed("bf16", ElementType::f32);

  /// Number of channels in a row of a tile register.
  int64_t depth() const { return tileLanes * format.group; }
  int64_t pitch() const { return width + moreColumns; }
  /// Number of positions in the plane of one phase. It is odd, so that planes do not share cache sets. The plane has
  /// room for whole tiles that are read beyond its end.
  int64_t plane() const { return ((rows + moreRows) * pitch() + 2 * tileRows) | 1; }
  int64_t blocks() const { return (channels + depth() - 1) / depth(); }
  int64_t blockStride() const { return int64_t(phases.size()) * plane(); }
  int64_t vectors() const { return (outputs + tileLanes - 1) / tileLanes; }
  int64_t tiles() const { return (vectors() + oc - 1) / oc; }
  int64_t tailVectors() const { return vectors() - (tiles() - 1) * oc; }
  Dim chunks() const { return ceilDiv(height, rows); }
  /// Size in bytes of the weights of a tile of `count` vectors.
  int64_t panel(int64_t count) const { return int64_t(taps.size()) * blocks() * count * tileBytes; }
  int64_t scratchBytes() const { return tileInputAt + blocks() * blockStride() * tileLineBytes; }
};

/// Makes the plan for a schedule of `amx`. Throws Illegal for an illegal schedule.
TilePlan makeTilePlan(const ContractionFacts &facts, const Schedule &schedule);

/// Returns the schedule of `amx` that the hand-written rules choose. Returns nothing if `amx` does not apply, or if
/// the operands are f32 and rounding to bf16 was not requested.
std::optional<Schedule> tilePrior(const ContractionFacts &facts);
/// Returns the schedule of `amx` that the hand-written rules choose, even if it rounds more than was requested. Throws
/// Illegal if `amx` does not apply.
Schedule tilePriorOf(const ContractionFacts &facts);

Prediction predict(const ContractionFacts &facts, const TilePlan &plan);
std::vector<LoopNest> nestsOf(const TilePlan &plan);
Packing packingOf(const TilePlan &plan);
GeneratedKernel generateFrom(const ContractionProblem &problem, const TilePlan &plan, const Schedule &schedule);

} // namespace lathe
