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
#include "compile/streams/Streams.h"
#include "ir/ModelText.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace lathe {

struct CompileProgress {
  std::string what; // the part of the compilation that runs: "passes", "kernels", "package"
  size_t done = 0, total = 0;
  double seconds = 0; // time since the start of compile()
};

struct CompileOptions : CompileChoices {
  CompileOptions() = default;
  /// Takes over the user's choices and parses their texts about extents. Throws Error for malformed texts.
  explicit CompileOptions(CompileChoices choices);

  bool shareStorage = true; // sets PipelineOptions::shareStorage
  /// Sources of schedules for kernels that have no schedule in the schedule file or in their own text. The sources are
  /// asked in order; the prior (the choice by predicted cost) is asked last.
  std::vector<std::shared_ptr<const ScheduleSource>> schedules;
  /// Measured times of kernels. Where they are more reliable than predictions (docs/notes/layouts.md), they decide
  /// layouts, whether two convolutions share a kernel, and the order of images in a batch. Empty: predictions alone
  /// decide.
  MeasuredTimes measured;
  MeasuredStreams measuredStreams; // for `streams` "auto"
  std::string company;             // what runs beside the model, by whose records it has schedules; "": nothing
  ExtentOptions extents;           // extents for which a model with symbols is compiled
  int jobs = 1;                    // number of threads that the compiler uses
  std::string kernelCache;         // folder of the cache of machine code (compile/KernelCache.h); "": no cache
  /// Function that receives the progress of a compilation; may be empty; called from compiler threads, one at a time.
  std::function<void(const CompileProgress &)> progress;
};

/// Figures of the plan for one of ExtentOptions::variants in a compiled package.
struct VariantReport {
  std::string extents; // values of the symbols in this variant, such as "N=8"
  int kernels = 0;
  std::vector<ReferenceUse> references;
};

/// A conversion between tensor layouts that remains in the compiled plan.
struct LayoutConversion {
  std::string node;     // node whose result is converted; "": an input of the model is converted
  std::string from, to; // types before and after the conversion
  // operator that reads the converted value; "": no operator does, the value is a result of the model
  std::string reader;
  int64_t bytes = 0; // bytes that the conversion reads and writes, with symbols at 1
  double cycles = 0; // predicted core cycles of one run of the conversion's kernel
};

/// An operator that stays in the layout of the model instead of a faster one, with the reason.
struct UnconvertedOperator {
  std::string node, op, reason;
};

/// Convolutions that were merged, and the predicted cycles of their kernels, merged and apart; 0 if merges were given.
struct MergesReport {
  size_t convolutions = 0, merged = 0; // numbers of the original ones, and of those that they became
  double cycles = 0, apartCycles = 0;
};

/// Figures of a compilation. Seconds, bytes and distinct kernels count for the whole package, all other figures for
/// the general plan.
struct CompileReport {
  double seconds = 0, passSeconds = 0, codeSeconds = 0;
  uint64_t packageBytes = 0, constantBytes = 0, codeBytes = 0;
  uint64_t sourceConstantBytes = 0; // bytes of the constants in the module before compilation
  int kernels = 0, distinctKernels = 0;
  int cachedKernels = 0;     // number of distinct kernels found in CompileOptions::kernelCache
  int layoutConversions = 0; // number of layout conversions in the plan
  int measuredChoices = 0;   // sum of PipelineReport::measuredChoices over all passes
  /// Number of kernels whose measured times decide whether a batch runs in one call or image by image.
  int timedBatches = 0;
  double predictedCycles = 0; // predicted core cycles of one run, for all kernels together
  std::vector<LayoutConversion> conversions;
  std::vector<UnconvertedOperator> unconverted;
  std::vector<ReferenceUse> references; // operators that run on reference implementations
  std::map<std::string, int> origins;   // number of kernels for each source of schedules (FoundSchedule::origin)
  /// One line for each thing that a pass declined and for each schedule that was not used, with the reason.
  std::vector<std::string> notes;
  std::vector<VariantReport> variants;
  StreamsReport streams;            // of the general plan
  MergesReport merges;              // of the general plan
  std::vector<std::string> symbols; // symbols in the extents of the inputs, with their ranges: "N from 1 to 64"
  // operations of one run, all of them and those in compiled kernels; open extents count as 1
  double flops = 0, compiledFlops = 0;
  std::string target;
};

/// Compiles `module` and writes the package to `outputPath`. Rewrites the module. Throws Error.
CompileReport compile(mlir::ModuleOp module, const CompileOptions &options, const std::string &outputPath);

/// Compiles `module` like compile(), but stores the bytes of the package in `package` instead of a file.
CompileReport compileToBytes(mlir::ModuleOp module, const CompileOptions &options, std::vector<char> &package);

/// Forms in which a module can be printed. graph: after the graph passes; kernels: after outlining; schedule: all
/// choices (ScheduleBook.h); loops, llvm, assembly: the code of every kernel.
enum class Level { graph, kernels, schedule, loops, llvm, assembly };
/// Parses "graph", "kernels", "schedule", "loops", "llvm" or "asm". Throws Error with the valid
/// names.
Level levelFromName(const std::string &name);
/// Writes the module at `level` to `path`; rewrites the module. Texts of the levels graph and kernels can be compiled
/// again; their weights are in a second file (ir/ModelText.h). A text of the level schedule can be used as `schedule`.
/// With an empty path, returns the text without large weights. `written` (may be null) receives the names of the files
/// written at the levels graph and kernels.
std::string emitLevel(mlir::ModuleOp module, const CompileOptions &options, Level level, const std::string &path = "",
                      std::vector<nn::WrittenFile> *written = nullptr);

/// Runs the passes over a module and generates the loops of every kernel, but no machine code. For `lathe check`.
CompileReport checkCompiled(mlir::ModuleOp module, const CompileOptions &options);

/// Lowers a module from graph level to kernels level as `compile` does.
void lowerToKernels(mlir::ModuleOp module, const CompileOptions &options);

/// Throws Error if a line of `options.schedule` matches nothing in the module. To find out, compiles the kernels of a
/// copy of the module; does nothing without a schedule file.
void requireScheduleFits(mlir::ModuleOp module, const CompileOptions &options);

/// Return the target with the facts of its machine, and the options of kernels, that follow from the options of a
/// compilation.
Target targetOf(const CompileOptions &options);
KernelOptions kernelOptionsOf(const CompileOptions &options);

} // namespace lathe
