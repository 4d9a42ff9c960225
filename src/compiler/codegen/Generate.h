// Entry points of the kernel families: from a kernel function of nn operators and a schedule to
// loops and vectors.
#pragma once

#include "codegen/Declined.h"
#include "codegen/cost/BestPrediction.h"
#include "ir/Bridge.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe {

/// Storage of a constant operand in the package.
struct Packing {
  /// Returns the packed bytes; `data` is the constant in row-major order.
  std::function<std::vector<char>(const nn::ConstantData &data)> pack;
  std::string text;                          // "OIhw16i16o", for listings and as part of the kernel's identity
  ElementType stored = ElementType::invalid; // element type of the packed form; invalid: the constant's type
};

/// A kernel as loops and vectors, before LLVM.
struct GeneratedKernel {
  mlir::OwningOpRef<mlir::ModuleOp> module; // entry function `kernel`
  Dim units = 1;                            // number of work items
  Dim scratchBytes = 0;                     // scratch per slot
  /// Number of stages: the work items divide into that many equal ranges, each of which begins when
  /// the previous one is done on all slots; all slots then share one scratch. 1: all work items are
  /// independent.
  Dim stages = 1;
  /// Number of images: the work items divide into that many equal ranges, one for each index of the
  /// first axis of all operands and results with the rank of the anchor. 1: unknown.
  Dim images = 1;
  /// Of a concatenation: the first work items, which copy the first operand. They need not run if this operand already
  /// lies at its place in the result.
  Dim firstOperandUnits = 0;
  Dims dims; // run-time extents, in the order in which the code receives them
  /// One per kernel argument; empty: the argument is used unchanged, in the layout of its type.
  std::vector<std::optional<Packing>> packings;
  Schedule schedule; // with every parameter that the code depends on
};

/// The typical value that costs assume for a symbol in the height or width of an image, if none is given: the side of
/// images for classifiers.
inline constexpr int64_t typicalImage = 224;

/// A kernel function as passes/kernels/Partition.h makes it: a private func.func of nn operators with attributes
///   nn.family    "contraction", "map", ... (the anchor's `lowering`)
///   nn.schedule  schedule as text; absent: the prior chooses
/// and on each argument
///   nn.dims      symbolic extents as texts, for arguments with `?` extents
///   nn.constant  unit attribute: the caller always passes a constant
/// The buffers of the results follow the buffers of the arguments.
struct KernelProblem : KernelOptions {
  mlir::func::FuncOp function;
  const Target &target;
};

/// Reads the facts about the function. Declines, with the reason, a function that no schedule of
/// its family computes; the kernel then stays with references. `legal`
/// (codegen/space/KernelFacts.h) tells which schedules are legal.
Outcome<std::unique_ptr<KernelFacts>> readFacts(const KernelProblem &problem);

/// The prior's choice among all algorithms or for one. Declines if no schedule is legal, or, with the reason, if that
/// algorithm cannot compute the kernel.
Outcome<ScheduleChoice> priorChoice(const KernelFacts &facts, const std::optional<AlgorithmChoice> &only = {});
/// The schedule that the prior chooses.
Outcome<Schedule> priorSchedule(const KernelFacts &facts, const std::optional<AlgorithmChoice> &only = {});

/// Generates the code of a schedule. `facts` come from readFacts for the same problem. Declines an
/// illegal schedule. Throws Error for a schedule that schedule/Algorithms.h does not declare.
Outcome<GeneratedKernel> generate(const KernelProblem &problem, const KernelFacts &facts, const Schedule &schedule);

/// Like the functions above, but read the facts of `problem` first.
Outcome<Schedule> priorSchedule(const KernelProblem &problem, const std::optional<AlgorithmChoice> &only = {});
/// Predicted cycles with the schedule of the prior.
Outcome<double> predictCycles(const KernelProblem &problem);
Outcome<GeneratedKernel> generate(const KernelProblem &problem, const Schedule &schedule);

/// Extents of a kernel argument or result with symbols (from nn.dims).
Dims dimsOf(mlir::func::FuncOp function, unsigned argument);

/// A kernel family for one kind of device, registered in codegen/Generate.cpp.
struct KernelFamily {
  const char *name; // records give it in `lowering`
  /// Reads the facts, except those that KernelFacts has for every family. Throws Declined.
  std::unique_ptr<KernelFacts> (*read)(const KernelProblem &problem);
  /// Generates the code of a legal schedule. `read` and `legal` have found every reason to decline.
  GeneratedKernel (*generate)(const KernelProblem &problem, const KernelFacts &facts, const Schedule &schedule);
  DeviceKind device = DeviceKind::host;
};

} // namespace lathe
