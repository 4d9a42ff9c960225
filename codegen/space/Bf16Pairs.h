// Contractions with operands rounded to bf16 (`type=bf16` in a schedule): targets that support them, their plans, and
// the rounding. codegen/contraction/Bf16.h emits the code.
//
// A unit of 32 bits has two adjacent reduction steps, the earlier one in the lower half, as AVX512-BF16's vdpbf16ps
// reads them; it adds both products to a sum in fp32. An odd last step is paired with zero.
#pragma once

#include "codegen/space/KernelFacts.h"

#include <cstdint>

namespace lathe::bf16 {

/// Bytes and steps of a unit.
inline constexpr int64_t unitBytes = 4, pair = 2;
inline int64_t pairsOf(int64_t steps) { return (steps + 1) / pair; }

/// Reason why a target has no products of pairs; "": it has.
std::string obstacle(const Target &target);

/// True if the prior should round the operands of a contraction of `type`.
bool wanted(const KernelFacts &facts, ElementType type);

/// Vector products of pairs that begin in one cycle (MachineFacts::bf16PerCycle).
double productsACycle(const Target &target);
/// True if products of pairs are not faster than as many multiply-adds. Only contractions that wait
/// for weights from memory gain from them then.
bool pairsAreSlow(const Target &target);

/// True if the schedule rounds the operands of a contraction of `type`. Throws Illegal ("bf16") for
/// operands other than f32 and for targets without products of pairs.
bool scheduled(const Schedule &schedule, const Target &target, ElementType type);

/// Rounds to nearest even; NaN stays NaN.
uint16_t rounded(float value);

} // namespace lathe::bf16
