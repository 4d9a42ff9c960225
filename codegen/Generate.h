// From an outlined kernel (a function of nn ops) and a schedule to loops and vectors: the door to the kernel families.
#pragma once

#include "codegen/Declined.h"
#include "codegen/space/KernelFacts.h"
#include "ir/Bridge.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe {

/// How a constant operand is stored in the package.
struct Packing {
  /// Bytes of the packed form; `data` is the constant in row-major order.
  std::function<std::vector<char>(const nn::ConstantData &data)> pack;
  std::string text;                          // "OIhw16i16o", for listings and the kernel's identity
  ElementType stored = ElementType::invalid; // of the packed form's elements; invalid: the constant's own
};

/// A kernel at level (c), before LLVM.
struct GeneratedKernel {
  mlir::OwningOpRef<mlir::ModuleOp> module; // entry function `kernel`
  Dim units = 1;                            // extent of the parallel range
  Dim scratchBytes = 0;                     // per slot
  /// Units are so many equal runs, each of which begins when all units of the one before are done; the scratch is one
  /// for all slots. 1: all units are independent.
  Dim stages = 1;
  /// Units are so many equal runs, one for each index of the first axis of the operands and results of the anchor's
  /// rank; 1: not known.
  Dim images = 1;
  Dims dims; // run-time extents the code takes, in order
  /// By kernel argument; empty function: the argument is used as it is (in its type's layout).
  std::vector<std::optional<Packing>> packings;
  Schedule schedule; // complete: every parameter the code depends on
};

/// A kernel function as passes/Partition leaves it: private func.func with body of nn ops and attributes
///   nn.family    "contraction", "map", ... (the anchor's `lowering`)
///   nn.schedule  text form; absent: the prior decides
/// and on each argument
///   nn.dims      symbolic extents as texts, for arguments with `?`
///   nn.constant  unit attribute: the caller always passes a constant
/// Results are written to buffers after the arguments.
struct KernelProblem {
  mlir::func::FuncOp function;
  const Target &target;
  int threads = 1;
  bool exactMath = false;
  bool smallMemory = false; // nothing that stores weights in more bytes than they have, padding to whole vectors aside
  Precision precision = Precision::fp32; // the priors choose for
};

/// Reads the function once. Declines, with the reason, a function that no schedule of its family computes (the kernel
/// then stays with references). Which schedules are legal is said by `legal` (codegen/space/KernelFacts.h).
Outcome<std::unique_ptr<KernelFacts>> readFacts(const KernelProblem &problem);

/// The schedule the prior chooses; declines where none is legal.
Outcome<Schedule> priorSchedule(const KernelFacts &facts);

/// Generates code. `facts`: what readFacts gave for the same problem. Declines when the schedule is not legal; throws
/// Error for what schedule/Algorithms.h does not declare.
Outcome<GeneratedKernel> generate(const KernelProblem &problem, const KernelFacts &facts, const Schedule &schedule);

/// Likewise, the function read first.
Outcome<Schedule> priorSchedule(const KernelProblem &problem);
Outcome<GeneratedKernel> generate(const KernelProblem &problem, const Schedule &schedule);

/// Extents of a kernel argument or result with symbols (from nn.dims).
Dims dimsOf(mlir::func::FuncOp function, unsigned argument);

/// A kernel family, registered in codegen/Generate.cpp's table.
struct KernelFamily {
  const char *name;
  /// The facts, but for what KernelFacts has for every family. Throws Declined.
  std::unique_ptr<KernelFacts> (*read)(const KernelProblem &problem);
  /// The code of a legal schedule: every reason not to make it has been found by `read` or `legal`.
  GeneratedKernel (*generate)(const KernelProblem &problem, const KernelFacts &facts, const Schedule &schedule);
};

} // namespace lathe
