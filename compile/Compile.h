// The one facade of the compiler: a module of nn ops in, a package out.
//
//   auto context = makeContext();
//   auto module = importModel(*context, "resnet50.onnx");
//   CompileReport report = compile(*module, {.target = "native", .threads = 2}, "resnet50.lathe");
//
// The module may be at graph level or at kernels level (text that `--emit kernels` wrote, edited or not): the second
// skips the passes.
#pragma once

#include "compile/PlanBuilder.h"
#include "ir/ModelText.h"
#include "support/Precision.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lathe {

struct CompileProgress {
  std::string what; // "passes", "kernels", "package"
  size_t done = 0, total = 0;
  double seconds = 0; // since compile() began
};

struct CompileOptions {
  std::string target = "native"; // codegen/target/Target.h
  std::string machineText;       // machine/MachineFacts.h; "": the target's own facts
  std::string machineName = "machine";
  int threads = 1; // the schedules are chosen for; any number may run the package
  int level = 3;   // 0..4
  bool exactMath = false;
  bool smallMemory = false;              // no algorithm that grows the weights
  Precision precision = Precision::fp32; // a target that cannot is an Error
  bool shareStorage = true;              // PipelineOptions::shareStorage
  bool referencesOnly = false;           // no code is made: every operator runs on its reference
  std::string scheduleText;              // compile/ScheduleBook.h
  std::string scheduleName = "schedule";
  int jobs = 1;            // threads the compiler itself uses
  std::string kernelCache; // folder of compile/KernelCache.h; empty: no kernel is kept or taken
  std::function<void(const CompileProgress &)> progress; // may be empty; called from compiler threads, one at a time
};

struct CompileReport {
  double seconds = 0, passSeconds = 0, codeSeconds = 0;
  uint64_t packageBytes = 0, constantBytes = 0, codeBytes = 0;
  uint64_t sourceConstantBytes = 0; // of the module's constants before compilation
  int kernels = 0, distinctKernels = 0;
  int cachedKernels = 0;                // of the distinct ones: machine code that CompileOptions::kernelCache held
  int layoutConversions = 0;            // kept in the plan
  std::vector<std::string> conversions; // each: "conv1: from -> to, bytes"
  std::vector<ReferenceUse> references; // operators the plan leaves to references
  std::vector<std::string> notes;       // what passes declined and why
  double flops = 0, compiledFlops = 0;  // of one run at batch 1 where the batch is symbolic
  std::string target;
};

/// Compiles `module` (which is rewritten) and writes the package. Throws Error.
CompileReport compile(mlir::ModuleOp module, const CompileOptions &options, const std::string &outputPath);

/// The same package in memory.
CompileReport compileToBytes(mlir::ModuleOp module, const CompileOptions &options, std::vector<char> &package);

/// Levels that can be looked at. graph: after the graph passes; kernels: outlined; schedule: every choice made
/// (ScheduleBook.h); loops, llvm, assembly: of every kernel.
enum class Level { graph, kernels, schedule, loops, llvm, assembly };
/// "graph", "kernels", "schedule", "loops", "llvm", "asm"; throws Error listing them.
Level levelFromName(const std::string &name);
/// The module (which is rewritten) at `level`, written to `path`; graph and kernels text can be compiled again, its
/// weights lie beside it (ir/ModelText.h); schedule text is what `scheduleText` takes. With an empty path the text is
/// returned instead, large weights left out.
/// `written`, where given, receives the files that graph and kernels text made.
std::string emitLevel(mlir::ModuleOp module, const CompileOptions &options, Level level, const std::string &path = "",
                      std::vector<nn::WrittenFile> *written = nullptr);

/// What `lathe check` prints: runs the passes and trials every kernel, without machine code.
CompileReport checkCompiled(mlir::ModuleOp module, const CompileOptions &options);

/// Brings the module to kernels level as `compile` would.
void lowerToKernels(mlir::ModuleOp module, const CompileOptions &options);

} // namespace lathe
