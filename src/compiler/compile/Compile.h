// The interface of the compiler: from a module of nn operators to a package.
//
//   auto context = makeContext();
//   auto module = importModel(*context, "resnet50.onnx");
//   CompileOptions options;
//   options.threads = 2;
//   CompileReport report = compile(*module, options, "resnet50.lathe");
//
// The module may be at graph level or at kernels level (a text of `--emit kernels`, possibly edited); a module
// at kernels level skips the passes.
#pragma once

#include "compile/Extents.h"
#include "compile/Options.h"
#include "compile/PlanBuilder.h"
#include "ir/ModelText.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace lathe {

struct CompileProgress {
  std::string what; // "passes", "kernels", "package"
  size_t done = 0, total = 0;
  double seconds = 0; // since the start of compile()
};

struct CompileOptions : CompileChoices {
  CompileOptions() = default;
  /// Parses the texts about extents. Throws Error for malformed texts.
  explicit CompileOptions(CompileChoices choices);

  bool shareStorage = true; // PipelineOptions::shareStorage
  /// Sources that are asked in order for a kernel without a schedule in `schedule` or its own
  /// text, before the prior.
  std::vector<std::shared_ptr<const ScheduleSource>> schedules;
  /// Measured times, which decide layouts, kernels of two convolutions and the order of batches where they are more
  /// reliable than predictions (docs/notes/layouts.md). Empty: predictions alone decide.
  MeasuredTimes measured;
  ExtentOptions extents;                                 // of a model with symbols
  int jobs = 1;                                          // threads of the compilation
  std::string kernelCache;                               // folder of compile/KernelCache.h; "": no cache
  std::function<void(const CompileProgress &)> progress; // may be empty; called from compiler threads, one at a time
};

/// The plan of one of ExtentOptions::variants.
struct VariantReport {
  std::string extents; // "N=8"
  int kernels = 0;
  std::vector<ReferenceUse> references;
};

/// A conversion between layouts that remains in the plan.
struct LayoutConversion {
  std::string node;     // whose result is converted; "": an input of the model
  std::string from, to; // types
  std::string reader;   // an operator that reads the converted value; "": none, it is a result
  int64_t bytes = 0;    // read and written, symbols at 1
  double cycles = 0;    // predicted core cycles of one run of its kernel
};

/// An operator that stays in the layout of the model, with the reason.
struct UnconvertedOperator {
  std::string node, op, reason;
};

/// Figures of the general plan. Seconds, bytes and distinct kernels are for the whole package.
struct CompileReport {
  double seconds = 0, passSeconds = 0, codeSeconds = 0;
  uint64_t packageBytes = 0, constantBytes = 0, codeBytes = 0;
  uint64_t sourceConstantBytes = 0; // constants of the module before compilation
  int kernels = 0, distinctKernels = 0;
  int cachedKernels = 0;      // distinct kernels found in CompileOptions::kernelCache
  int layoutConversions = 0;  // conversions in the plan
  int measuredChoices = 0;    // PipelineReport::measuredChoices, of all passes
  int timedBatches = 0;       // kernels whose measured times decide how a batch passes: in one call or image by image
  double predictedCycles = 0; // of all kernels, predicted core cycles of one run
  std::vector<LayoutConversion> conversions;
  std::vector<UnconvertedOperator> unconverted;
  std::vector<ReferenceUse> references; // operators that run on references
  std::map<std::string, int> origins;   // number of kernels by the source of their schedule (FoundSchedule::origin)
  std::vector<std::string> notes;       // what passes declined, and schedules that were not used, with reasons
  std::vector<VariantReport> variants;
  std::vector<std::string> symbols;    // of the inputs' extents, with their ranges: "N from 1 to 64"
  double flops = 0, compiledFlops = 0; // operations of one run, open extents at 1
  std::string target;
};

/// Compiles `module`, which is rewritten, and writes the package. Throws Error.
CompileReport compile(mlir::ModuleOp module, const CompileOptions &options, const std::string &outputPath);

/// Compiles to memory.
CompileReport compileToBytes(mlir::ModuleOp module, const CompileOptions &options, std::vector<char> &package);

/// Levels that can be printed. graph: after the graph passes; kernels: outlined; schedule: all
/// choices (ScheduleBook.h); loops, llvm, assembly: of every kernel.
enum class Level { graph, kernels, schedule, loops, llvm, assembly };
/// Parses "graph", "kernels", "schedule", "loops", "llvm" or "asm". Throws Error with the valid
/// names.
Level levelFromName(const std::string &name);
/// Writes the module, which is rewritten, at `level` to `path`. Texts of graph and kernels can be
/// compiled again; their weights are in a second file (ir/ModelText.h). A schedule text can be used
/// as `schedule`. With an empty path, returns the text without large weights. `written` (may be
/// null) receives the files written for graph and kernels.
std::string emitLevel(mlir::ModuleOp module, const CompileOptions &options, Level level, const std::string &path = "",
                      std::vector<nn::WrittenFile> *written = nullptr);

/// Runs the passes and tries to generate every kernel, without machine code; for `lathe check`.
CompileReport checkCompiled(mlir::ModuleOp module, const CompileOptions &options);

/// Lowers the module to kernels level as `compile` does.
void lowerToKernels(mlir::ModuleOp module, const CompileOptions &options);

/// Throws Error if a line of `schedule` matches nothing in the module. Compiles the kernels of a
/// copy to find out; does nothing without a `schedule`.
void requireScheduleFits(mlir::ModuleOp module, const CompileOptions &options);

/// The target with the facts of its machine, and the options of kernels.
Target targetOf(const CompileOptions &options);
KernelOptions kernelOptionsOf(const CompileOptions &options);

} // namespace lathe
