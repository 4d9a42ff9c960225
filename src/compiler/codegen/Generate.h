// Entry points of the kernel families. They make loops and vectors from a kernel function of nn operators and a
// schedule.
#pragma once

#include "codegen/Declined.h"
#include "codegen/cost/BestPrediction.h"
#include "ir/Bridge.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe {

/// The form in which a package stores a constant operand of a kernel.
struct Packing {
  /// Function that returns the bytes of the packed form; `data` is the constant in row-major order.
  std::function<std::vector<char>(const nn::ConstantData &data)> pack;
  std::string text; // name of the form, such as "OIhw16i16o", for listings and as part of the kernel's identity
  ElementType stored = ElementType::invalid; // element type of the packed form; invalid: the type of the constant
};

/// The code of a kernel as loops and vectors, before it is lowered to LLVM.
struct GeneratedKernel {
  mlir::OwningOpRef<mlir::ModuleOp> module; // module with the function `kernel`, which callers call
  Dim units = 1;                            // number of work items
  Dim scratchBytes = 0;                     // bytes of scratch memory for each slot
  /// Number of stages: equal ranges of the work items, each of which begins when the previous range is done on all
  /// slots. With several stages, all slots share one scratch memory. 1: all work items are independent.
  Dim stages = 1;
  /// Number of images: equal ranges of the work items, one for each index of the first axis. All operands and results
  /// with the rank of the anchor have this axis. 1: unknown.
  Dim images = 1;
  /// For a concatenation: number of work items, at the beginning, that copy the first operand. They need not run if
  /// this operand already lies at its place in the result.
  Dim firstOperandUnits = 0;
  Dims dims; // extents that are known at run time, in the order in which the code receives them
  /// For each argument of the kernel: how it is packed; empty: it is used unchanged, in the layout of its type.
  std::vector<std::optional<Packing>> packings;
  Schedule schedule; // the schedule, with every parameter on which the code depends
};

/// Value that cost predictions assume for a symbol in the height or width of an image if none is given: the usual size
/// of images for classifiers.
inline constexpr int64_t typicalImage = 224;

/// A kernel function in the form that passes/kernels/Partition.h makes, and its target and options. The function is a
/// private func.func of nn operators with attributes
///
///   nn.family    "contraction", "map", ... (the anchor's `lowering`)
///   nn.schedule  schedule as text; absent: the prior chooses
///
/// and each argument has
///
///   nn.dims      symbolic extents as texts, for arguments with `?` extents
///   nn.constant  unit attribute: the caller always passes a constant
///
/// The buffers of the kernel are the buffers of the arguments, then the buffers of the results.
struct KernelProblem : KernelOptions {
  mlir::func::FuncOp function;
  const Target &target;
};

/// Reads the facts about a kernel function. Declines, with the reason, a function that no schedule of its family
/// computes; it then runs on references. `legal` (codegen/space/KernelFacts.h) tells which schedules are legal.
Outcome<std::unique_ptr<KernelFacts>> readFacts(const KernelProblem &problem);

/// Returns the schedule that the prior chooses, without measuring: among all algorithms, or of the algorithm `only`.
/// Declines with a reason if no schedule is legal, or if `only` cannot compute the kernel.
Outcome<ScheduleChoice> priorChoice(const KernelFacts &facts, const std::optional<AlgorithmChoice> &only = {});
/// Returns the schedule that priorChoice chooses.
Outcome<Schedule> priorSchedule(const KernelFacts &facts, const std::optional<AlgorithmChoice> &only = {});

/// Generates the code of a kernel with a schedule. `facts` come from readFacts for the same problem. Declines an
/// illegal schedule. Throws Error for a schedule that schedule/Algorithms.h does not declare.
Outcome<GeneratedKernel> generate(const KernelProblem &problem, const KernelFacts &facts, const Schedule &schedule);

/// These functions first read the facts of `problem`, then do the same as the functions above that take facts.
Outcome<Schedule> priorSchedule(const KernelProblem &problem, const std::optional<AlgorithmChoice> &only = {});
/// Returns the predicted cycles of the kernel with the prior's schedule.
Outcome<double> predictCycles(const KernelProblem &problem);
Outcome<GeneratedKernel> generate(const KernelProblem &problem, const Schedule &schedule);

/// Extents of an argument of the kernel function; open extents are the symbols of nn.dims.
Dims dimsOf(mlir::func::FuncOp function, unsigned argument);

/// A kernel family for one kind of device, registered in codegen/Generate.cpp.
struct KernelFamily {
  const char *name; // name of the family, which operator records give in `lowering`
  /// Reads the facts of a kernel function of this family, except those that KernelFacts has for every family. Throws
  /// Declined.
  std::unique_ptr<KernelFacts> (*read)(const KernelProblem &problem);
  /// Generates the code of a kernel with a legal schedule. Declines nothing, because `read` and `legal` have found
  /// every reason.
  GeneratedKernel (*generate)(const KernelProblem &problem, const KernelFacts &facts, const Schedule &schedule);
  DeviceKind device = DeviceKind::host;
};

} // namespace lathe
