#include "codegen/space/GemmPlan.h"

#include "codegen/space/RegisterBlock.h"

namespace lathe {

int64_t gemmLanes(const Target &target, const GemmGeometry &gemm) {
  unsigned bits = bitWidth(gemm.type);
  return target.lanes(isFloat(gemm.type) ? std::max(32u, bits) : bits);
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
  plan.format = scheduledFormat(schedule, target, gemm.operandType(), gemm.type);
  if (plan.format.converts && plan.gemm.aStepStride != 1)
    illegal("transposed", "type={} is not for transposed left operands", plan.format.name);
  plan.kc = plan.kc == 0 ? plan.allSteps() : std::min(plan.kc, plan.allSteps());
  plan.packB = schedule.number("packb") == 1 && !plan.gemm.constantB;
  if (plan.format.converts && !plan.gemm.constantB && !plan.packB)
    illegal("packb", "type={} copies a right operand that is not constant (packb=1)", plan.format.name);
  plan.prefetch = schedule.number("prefetch") == 1 && plan.gemm.constantB;
  if (!fitsRegisters(target, plan.rows, plan.vectors))
    illegal("registers", "mr={} vectors={} needs more than {} registers", plan.rows, plan.vectors,
            target.vectorRegisters);
  return plan;
}

} // namespace lathe
