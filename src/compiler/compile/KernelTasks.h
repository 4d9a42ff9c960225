// The distinct kernels of a model, by the text of their task: tuners search them, and `--export-space` lists them.
#pragma once

#include "codegen/Generate.h"
#include "compile/Compile.h"

#include <map>

namespace lathe {

/// Kernels with one task (codegen/Task.h).
struct KernelTask {
  std::string task;
  std::string text;                 // the kernel function @kernel, from which its facts can be read again
  std::string label;                // for tables: "conv 1x64x56x56 * 64x64x3x3, relu"
  std::vector<std::string> kernels; // names of the functions
  std::vector<std::string> nodes;   // source nodes of all of them
  int64_t calls = 0;                // in one run, bodies of control flow counted once
  std::unique_ptr<KernelFacts> facts;
  /// Values of the kernel's symbols for measuring it: from --optimize-for, else for height and width of images the
  /// values that costs assume (KernelFacts::assumed), else 1.
  Extents extents;
  double flops = 0,
         bytes = 0; // of one call with these extents: operations, and bytes that it reads and writes (bytesMoved)
};

/// Returns the tasks of a module in the order of their first kernels. Lowers the module to kernels level. Throws Error.
std::vector<KernelTask> kernelTasks(mlir::ModuleOp module, const CompileOptions &options);

/// The task of one kernel, without names, nodes and calls. Declines a kernel that no schedule computes.
Outcome<KernelTask> kernelTask(const KernelProblem &problem);

/// The text of a kernel function as KernelTask::text: under the name @kernel, without locations and without nn.schedule.
std::string kernelText(mlir::func::FuncOp kernel);

} // namespace lathe
