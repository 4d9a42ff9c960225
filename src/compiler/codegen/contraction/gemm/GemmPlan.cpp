#include "codegen/contraction/gemm/GemmPlan.h"

#include "codegen/space/RegisterBlock.h"

namespace lathe {

int64_t gemmLanes(const Target &target, const GemmGeometry &gemm) {
  unsigned bits = bitWidth(gemm.type);
  return target.lanes(isFloat(gemm.type) ? std::max(32u, bits) : bits);
}

namespace {

/// Throws Illegal for schedules that cannot multiply packed weights.
void requirePacked(const GemmPlan &plan, const Target &target) {
  if (plan.format.converts)
    illegal("packed", "packed weights are multiplied in type f32, not {}", plan.format.name);
  if (plan.passes() > 1)
    illegal("packed", "packed weights are multiplied in one pass (kc=0)");
  if (plan.packB)
    return;
  if (plan.rows > mostPackedRows)
    illegal("packed", "mr={} is more than {} rows, of which sums are made from codes (packb=0)", plan.rows,
            mostPackedRows);
  if (packedRegisters(*plan.gemm.packed, plan.rows, plan.vectors) > target.vectorRegisters)
    illegal("registers", "mr={} vectors={} needs more than {} registers for codes", plan.rows, plan.vectors,
            target.vectorRegisters);
}

} // namespace

int64_t packedRegisters(const PackedColumnsFacts &packed, int64_t rows, int64_t vectors) {
  constexpr int64_t others = 3; // the table of codes, and what is being decoded
  int64_t sums = 2 * rows * vectors, codes = vectors * (packed.zero.argument ? 2 : 1);
  return sums + codes + rows + others;
}

GemmPlan makeGemmPlan(const Target &target, const GemmGeometry &gemm, const Schedule &schedule) {
  GemmPlan plan;
  plan.gemm = gemm;
  plan.lanes = gemmLanes(target, gemm);
  plan.rows = schedule.number("mr");
  if (plan.gemm.m.isConstant())
    plan.rows = std::max<int64_t>(1, std::min(plan.rows, plan.gemm.m.constant()));
  plan.vectors = std::min(schedule.number("vectors"), plan.columnVectors());
  plan.unroll = schedule.number("unroll");
  plan.mc = schedule.number("mc");
  plan.kc = schedule.number("kc");
  plan.format = scheduledFormat(schedule, target, gemm.types());
  if (plan.format.converts && plan.gemm.aStepStride != 1)
    illegal("transposed", "type={} is not for transposed left operands", plan.format.name);
  plan.kc = plan.kc == 0 ? plan.allSteps() : std::min(plan.kc, plan.allSteps());
  plan.packB = schedule.number("packb") == 1 && (!plan.gemm.constantB || plan.gemm.packed);
  if (plan.format.converts && !plan.gemm.constantB && !plan.packB)
    illegal("packb", "type={} copies a right operand that is not constant (packb=1)", plan.format.name);
  plan.prefetch = schedule.number("prefetch") == 1 && plan.gemm.constantB && !plan.gemm.packed;
  if (plan.gemm.packed)
    requirePacked(plan, target);
  if (!fitsRegisters(target, plan.rows, plan.vectors))
    illegal("registers", "mr={} vectors={} needs more than {} registers", plan.rows, plan.vectors,
            target.vectorRegisters);
  return plan;
}

} // namespace lathe
