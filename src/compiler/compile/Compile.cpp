#include "compile/Compile.h"

#include "compile/PlanCompilation.h"
#include "ir/Main.h"
#include "passes/Pipeline.h"
#include "support/PendingFile.h"

namespace lathe {
namespace {

void addPlan(mlir::ModuleOp module, PackageParts &parts) {
  PlanCompilation compilation(module, parts);
  compilation.optimize();
  compilation.formKernels();
  compilation.buildPlan();
}

/// " from 1 to 64"; "" where the symbol has no range.
std::string rangeText(const std::vector<ExtentRange> &ranges, const std::string &symbol) {
  for (const ExtentRange &range : ranges)
    if (range.symbol == symbol)
      return fmt::format(" from {} to {}", range.min, range.max);
  return "";
}

} // namespace

void addPlans(mlir::ModuleOp module, PackageParts &parts) {
  const ExtentOptions &extents = parts.options.extents;
  for (const std::string &symbol : symbolsOf(mainFunction(module)))
    parts.report.symbols.push_back(symbol + rangeText(extents.ranges, symbol));
  CompileReport fresh = parts.report;
  for (const Extents &variant : extents.variants) {
    mlir::OwningOpRef<mlir::ModuleOp> copy(llvm::cast<mlir::ModuleOp>(module->clone()));
    try {
      specialize(mainFunction(*copy), variant);
      addPlan(*copy, parts);
    } catch (const Error &error) {
      fail("variant {}: {}", str(variant), error.what());
    }
    fresh.variants.push_back({str(variant), parts.report.kernels, std::move(parts.report.references)});
    parts.report = fresh;
  }
  addPlan(module, parts);
  parts.schedules.requireAllUsed();
}

CompileOptions::CompileOptions(CompileChoices choices) : CompileChoices(std::move(choices)) {
  visitOptions(static_cast<const CompileChoices &>(*this), [&](const CompileOption &option, const auto &field) {
    if constexpr (std::is_same_v<decltype(field), const std::vector<std::string> &>)
      for (const std::string &text : field)
        try {
          if (&field == &specialize)
            addVariants(extents.variants, parseVariants(text));
          else if (&field == &ranges)
            std::ranges::move(parseRanges(text), std::back_inserter(extents.ranges));
          else
            for (const auto &[symbol, extent] : parseExtents(text))
              require(extents.typical.emplace(symbol, extent).second, "'{}': symbol '{}' is given twice", text, symbol);
        } catch (const Error &error) {
          fail("{} {}", option.flag(), error.what());
        }
  });
}

Target targetOf(const CompileOptions &options) {
  if (options.machine.text.empty())
    return Target::parse(options.target);
  MachineFacts machine = parseMachineFacts(options.machine.text, options.machine.name);
  return Target::parse(options.target, &machine);
}

KernelOptions kernelOptionsOf(const CompileOptions &options) {
  KernelOptions kernel = options;
  kernel.relaxedMath = options.level >= 4;
  kernel.typical = options.extents.typical;
  return kernel;
}

CompileReport compile(mlir::ModuleOp module, const CompileOptions &options, const std::string &outputPath) {
  // Reports an output that cannot be written before the work, not after it.
  PendingFile::check(outputPath);
  PackageParts parts(module, options);
  addPlans(module, parts);
  parts.writeTo(module, [&](const plan::ProgramT &program, std::span<const package::CodeSection> code) {
    parts.report.packageBytes = package::writePackage(outputPath, program, parts.constants, code);
  });
  return parts.report;
}

CompileReport compileToBytes(mlir::ModuleOp module, const CompileOptions &options, std::vector<char> &package) {
  PackageParts parts(module, options);
  addPlans(module, parts);
  parts.writeTo(module, [&](const plan::ProgramT &program, std::span<const package::CodeSection> code) {
    package = package::packageBytes(program, parts.constants, code);
  });
  parts.report.packageBytes = package.size();
  return parts.report;
}

CompileReport checkCompiled(mlir::ModuleOp module, const CompileOptions &options) {
  PackageParts parts(module, options);
  addPlans(module, parts);
  return parts.report;
}

void lowerToKernels(mlir::ModuleOp module, const CompileOptions &options) {
  PackageParts parts(module, options);
  PlanCompilation compilation(module, parts);
  compilation.optimize();
  compilation.formKernels();
}

void requireScheduleFits(mlir::ModuleOp module, const CompileOptions &options) {
  if (options.schedule.text.empty())
    return;
  mlir::OwningOpRef<mlir::ModuleOp> copy(llvm::cast<mlir::ModuleOp>(module->clone()));
  checkCompiled(*copy, options);
}

Level levelFromName(const std::string &name) {
  if (name == "graph")
    return Level::graph;
  if (name == "kernels")
    return Level::kernels;
  if (name == "schedule")
    return Level::schedule;
  if (name == "loops")
    return Level::loops;
  if (name == "llvm")
    return Level::llvm;
  if (name == "asm")
    return Level::assembly;
  fail("--emit {}: expected graph, kernels, schedule, loops, llvm or asm", name);
}

namespace {

std::string moduleText(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  flags.elideLargeElementsAttrs(64).elideLargeResourceString(64);
  module.print(stream, flags);
  return text + "\n";
}

} // namespace

std::string emitLevel(mlir::ModuleOp module, const CompileOptions &options, Level level, const std::string &path,
                      std::vector<nn::WrittenFile> *written) {
  if (!path.empty())
    PendingFile::check(path);
  if (level == Level::graph || level == Level::kernels)
    requireScheduleFits(module, options);
  PackageParts parts(module, options);
  PlanCompilation compilation(module, parts);
  compilation.optimize();
  if (level == Level::kernels)
    compilation.formKernels();
  if (level == Level::graph || level == Level::kernels) {
    if (path.empty())
      return moduleText(module);
    std::vector<nn::WrittenFile> files = nn::writeModelText(module, path);
    if (written)
      *written = std::move(files);
    return "";
  }
  compilation.formKernels();
  compilation.buildPlan();
  parts.schedules.requireAllUsed();
  std::string text = level == Level::schedule ? compilation.scheduleText()
                                              : parts.library.text(level == Level::loops  ? EmitStage::loops
                                                                   : level == Level::llvm ? EmitStage::llvm
                                                                                          : EmitStage::assembly);
  if (path.empty())
    return text;
  PendingFile file(path);
  file.write(text);
  file.commit();
  return "";
}

} // namespace lathe
