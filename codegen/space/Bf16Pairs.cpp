#include "codegen/space/Bf16Pairs.h"

#include <cmath>
#include <cstring>

namespace lathe::bf16 {

std::string obstacle(const Target &target) {
  if (!target.has("avx512bf16") || target.lanes(32) != 16)
    return fmt::format("{} has no products of bf16 (avx512bf16)", target.str());
  return "";
}

double productsACycle(const Target &target) { return target.machine.bf16PerCycle; }

bool pairsAreSlow(const Target &target) { return productsACycle(target) * pair <= target.fmaPerCycle(); }

bool wanted(const KernelFacts &facts, ElementType type) {
  return facts.precision == Precision::bf16 && type == ElementType::f32 && obstacle(facts.target).empty();
}

bool scheduled(const Schedule &schedule, const Target &target, ElementType type) {
  if (schedule.word("type") == "f32")
    return false;
  if (type != ElementType::f32)
    illegal("bf16", "type=bf16 rounds operands of type f32, these are {}", name(type));
  if (std::string reason = obstacle(target); !reason.empty())
    throw Illegal{"bf16", reason};
  return true;
}

uint16_t rounded(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (std::isnan(value))
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

} // namespace lathe::bf16
