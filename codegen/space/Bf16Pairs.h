// Contractions whose operands are rounded to bf16 (`type=bf16` in a schedule): which targets have them, what they mean
// for a plan, and rounding itself. codegen/contraction/Bf16.h emits the code.
//
// Two neighbouring steps of the reduction lie in one unit of 32 bits, the earlier one in its lower half: what
// AVX512-BF16's vdpbf16ps multiplies, adding both products to a sum in fp32. An odd last step is paired with zero.
#pragma once

#include "codegen/space/KernelFacts.h"

#include <cstdint>

namespace lathe::bf16 {

/// Bytes of a unit, and steps of it.
inline constexpr int64_t unitBytes = 4, pair = 2;
inline int64_t pairsOf(int64_t steps) { return (steps + 1) / pair; }

/// Why a target multiplies no pairs; "" where it does.
std::string obstacle(const Target &target);

/// True when the prior of a contraction of `type` should round its operands.
bool wanted(const KernelFacts &facts, ElementType type);

/// Products of vectors of pairs a cycle, of which fp32's multiply-adds are two: what was measured (docs/notes/bf16.md).
double productsACycle(const Target &target);
/// Pairs are no faster than as many multiply-adds: only what waits for weights from memory gains from them.
bool pairsAreSlow(const Target &target);

/// Whether a schedule's `type` rounds the operands of a contraction of `type`. Throws Illegal ("bf16") for operands
/// that are not f32 and for targets without products of pairs.
bool scheduled(const Schedule &schedule, const Target &target, ElementType type);

/// To nearest, ties to even; a NaN stays one.
uint16_t rounded(float value);

} // namespace lathe::bf16
