// The distinct kernels of a model, by the text of their task: tuners search them, and `--export-space` lists them.
#pragma once

#include "codegen/Generate.h"
#include "compile/Compile.h"

#include <map>

namespace lathe {

/// One task (codegen/Task.h) with all kernels of the model that have it.
struct KernelTask {
  std::string task;
  std::string text;  // text of the kernel function under the name @kernel; KernelFacts can be read from it again
  std::string label; // short description for tables: "conv 1x64x56x56 * 64x64x3x3, relu"
  std::vector<std::string> kernels; // names of the kernel functions with this task
  std::vector<std::string> nodes;   // source nodes that these kernel functions compute
  int64_t calls = 0;                // number of calls of these kernels in one run; bodies of control flow count once
  std::unique_ptr<KernelFacts> facts;
  /// Values of the kernel's symbols with which it is measured: from --optimize-for, else for height and width of
  /// images the values that cost predictions assume (KernelFacts::assumed), else 1.
  Extents extents;
  /// Number of operations of one call with these extents, and of bytes that the call reads and writes (bytesMoved).
  double flops = 0, bytes = 0;
};

/// Returns the tasks of a module's kernels, in the order of the first kernel of each. Lowers the module to kernels
/// level. Throws Error.
std::vector<KernelTask> kernelTasks(mlir::ModuleOp module, const CompileOptions &options);

/// Makes the task of one kernel; names, nodes and calls are left empty. Declines a kernel whose family has no
/// schedules.
Outcome<KernelTask> kernelTask(const KernelProblem &problem);

/// The text of a kernel function in the form of KernelTask::text: under the name @kernel, without locations and without
/// nn.schedule.
std::string kernelText(mlir::func::FuncOp kernel);

} // namespace lathe
