// Contractions whose operands are rounded to bf16 (`type=bf16` in a schedule). Two neighbouring steps of the reduction
// lie in one unit of 32 bits, the earlier one in its lower half: what AVX512-BF16's vdpbf16ps multiplies, adding both
// products to a sum in fp32. An odd last step is paired with zero.
#pragma once

#include "codegen/builder/KernelBuilder.h"
#include "schedule/Schedule.h"

#include <cstdint>

namespace lathe {

struct KernelProblem;

namespace bf16 {

/// Bytes of a unit, and channels of it.
inline constexpr int64_t unitBytes = 4, pair = 2;
inline int64_t pairsOf(int64_t steps) { return (steps + 1) / pair; }

/// Why a target multiplies no pairs; "" where it does.
std::string obstacle(const Target &target);

/// True when the prior of a contraction of `type` should round its operands.
bool wanted(const KernelProblem &problem, ElementType type);

/// Products of vectors of pairs a cycle, of which fp32's multiply-adds are two: what was measured (docs/notes/bf16.md).
double productsACycle(const Target &target);
/// Pairs are no faster than as many multiply-adds: only what waits for weights from memory gains from them.
bool pairsAreSlow(const Target &target);

/// What a schedule's `type` means for a contraction of `type`; throws Declined for what
/// cannot be had.
bool scheduled(const Schedule &schedule, const Target &target, ElementType type);

/// To nearest, ties to even; a NaN stays one.
uint16_t rounded(float value);

/// `vector` (16 of fp32) rounded, as 8 units: bytes of a vector<16xbf16>.
mlir::Value rounded(KernelBuilder &k, mlir::Value vector);
/// Neighbouring steps, 16 in `low` and 16 in `high` (null: zeros), as 16 units typed as fp32.
mlir::Value units(KernelBuilder &k, mlir::Value low, mlir::Value high);
/// Stores `vector` (16 of fp32: channels 2i and 2i + 1 become unit i) as units [offset, offset + 8) of `base`.
void storeNeighbours(KernelBuilder &k, mlir::Value vector, mlir::Value base, mlir::Value offset);
/// Stores 16 units, the lanes of `low` in their lower and those of `high` (null: zeros) in their upper halves.
void storeInterleaved(KernelBuilder &k, mlir::Value low, mlir::Value high, mlir::Value base, mlir::Value offset);

/// sum + products of the pairs in `a` and `b`, vectors of units typed as fp32.
mlir::Value multiplyAdd(KernelBuilder &k, mlir::Value a, mlir::Value b, mlir::Value sum);

} // namespace bf16
} // namespace lathe
