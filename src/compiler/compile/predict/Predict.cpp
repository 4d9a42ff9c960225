#include "compile/predict/Predict.h"

#include "codegen/cost/Cost.h"
#include "compile/PlanCompilation.h"

namespace lathe {
namespace {

PredictedInstruction predicted(const plan::PlanT &plan, const plan::InstructionT &instruction) {
  PredictedInstruction result;
  if (const auto *call = instruction.operation.AsCallKernel()) {
    const plan::KernelT &kernel = *plan.kernels[call->kernel];
    result.name = kernel.name;
    result.family = kernel.family;
    result.schedule = kernel.schedule;
    result.shapes = kernel.shapes;
    result.nodes = kernel.nodes;
    result.flops = valueOf(Dim::parse(kernel.flops));
    result.bytes = valueOf(Dim::parse(kernel.bytes));
    result.cycles = kernel.predicted_cycles;
    for (uint32_t buffer : call->buffers)
      if (const plan::ValueT &value = *plan.values[buffer]; value.storage == plan::Storage::Constant)
        result.constantBytes += valueOf(Dim::parse(value.bytes));
  } else if (const auto *reference = instruction.operation.AsCallReference()) {
    result.name = reference->op;
    result.nodes = reference->nodes;
  } else {
    result.name = instruction.operation.AsLoop() ? "loop" : instruction.operation.AsIf() ? "if" : "compute_shape";
  }
  return result;
}

} // namespace

PlanPrediction predictPlan(mlir::ModuleOp module, const CompileOptions &options) {
  PackageParts parts(module, options);
  addPlans(module, parts);
  PlanPrediction result;
  const plan::PlanT &plan = *parts.plans.back();
  for (size_t block = 0; block < plan.blocks.size(); ++block)
    for (const auto &instruction : plan.blocks[block]->instructions) {
      result.instructions.push_back(predicted(plan, *instruction));
      result.instructions.back().repeats = block > 0;
    }
  result.besideOthers = parts.report.streams.sequenceCycles - parts.report.streams.cycles;
  result.target = parts.target;
  result.report = std::move(parts.report);
  return result;
}

} // namespace lathe
