#include "compile/Compile.h"

#include "codegen/builder/Scalar.h"
#include "codegen/space/ContractionFormat.h"
#include "compile/PlanRules.h"
#include "ir/Main.h"
#include "ops/Lowerings.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "support/PendingFile.h"

#include <nlohmann/json.hpp>

#include <chrono>

namespace lathe {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

uint64_t constantBytesOf(mlir::ModuleOp module) {
  uint64_t bytes = 0;
  module.walk([&](nn::ConstantOp constant) {
    auto type = llvm::cast<mlir::ShapedType>(constant.getType());
    bytes += byteSize(nn::toElementType(type.getElementType()), type.getNumElements());
  });
  return bytes;
}

double atBatchOne(const Dim &dim) {
  return static_cast<double>(dim.evaluate([](const std::string &) -> int64_t { return 1; }));
}

/// One compilation from module to parts, shared by every door of the facade.
class Compilation {
public:
  Compilation(mlir::ModuleOp module, const CompileOptions &options)
      : module(module), options(options), target(targetOf(options)),
        schedules(options.scheduleText, options.scheduleName),
        library(target, kernelOptionsOf(options), schedules, options.schedules, options.measured) {
    require(options.level >= 0 && options.level <= 4, "optimisation level is {}, expected 0 to 4", options.level);
    require(!options.exactMath || options.level < 4,
            "-O4 relaxes what --exact-math keeps: expected -O 0 to 3 with --exact-math");
    require(options.threads >= 1, "threads is {}, expected at least 1", options.threads);
    if (options.precision == Precision::bf16)
      if (std::string reason = formatNamed(name(Precision::bf16), ElementType::f32).obstacle(target); !reason.empty())
        fail("--precision bf16: the target {}; expected one with AVX512-BF16, such as znver4 or sapphirerapids",
             reason);
    registerLowerings();
    report.target = target.str();
    report.sourceConstantBytes = constantBytesOf(module);
  }

  /// Graph passes; nothing on text that is at kernels level already.
  void optimize() {
    if (hasKernels(module))
      return;
    step("passes", 0, 2);
    collectRules();
    PipelineReport optimized = optimizeGraph(module, pipelineOptions());
    noteRowMajor(optimized);
    report.measuredChoices += optimized.measuredChoices;
    layouts = std::move(optimized.layouts);
  }

  void formKernels() {
    if (!hasKernels(module)) {
      step("passes", 1, 2);
      PipelineReport formed = lathe::formKernels(module, pipelineOptions());
      noteRowMajor(formed);
      report.measuredChoices += formed.measuredChoices;
      for (const PipelineReport::Whole &whole : formed.wholes)
        for (const std::string &part : whole.parts)
          schedules.noteInside(part, whole.kernel);
      fusions = std::move(formed.fusions);
      for (const PipelineReport::Conversion &conversion : formed.conversions)
        report.conversions.push_back(fmt::format("{}: {} -> {}, {} bytes",
                                                 conversion.node.empty() ? "an input" : conversion.node,
                                                 conversion.from, conversion.to, conversion.bytes));
      for (const PipelineReport::Declined &declined : formed.references)
        referenceReasons[declined.node] = declined.reason;
      for (const PipelineReport::Declined &declined : formed.notGrowing)
        report.notes.push_back(fmt::format("{} does not grow in place: {}", declined.node, declined.reason));
    }
    report.passSeconds = since(start);
  }

  void buildPlan() {
    built = lathe::buildPlan(module, library, constants);
    addRules(*built.plan, rules);
    built.plan->image_costs = imageCosts();
    built.plan->measured_choices = static_cast<uint32_t>(report.measuredChoices);
    schedules.requireAllUsed();
    report.kernels = static_cast<int>(built.plan->kernels.size());
    report.distinctKernels = static_cast<int>(library.size());
    report.layoutConversions = built.layoutConversions;
    report.timedBatches = built.timedBatches;
    report.references = built.references;
    for (ReferenceUse &use : report.references)
      if (auto found = referenceReasons.find(use.node); found != referenceReasons.end())
        use.reason = found->second;
    report.constantBytes = constants.bytes();
    for (const std::string &note : library.notes())
      report.notes.push_back(note);
    for (const auto &kernel : built.plan->kernels)
      ++report.origins[kernel->origin];
    for (const auto &kernel : built.plan->kernels)
      report.compiledFlops += atBatchOne(Dim::parse(kernel->flops));
    report.flops = report.compiledFlops + built.referenceFlops;
    report.seconds = since(start);
  }

  /// Every choice made, in the form `scheduleText` takes. After buildPlan().
  std::string scheduleText() const {
    std::string text = fmt::format("# for {}, {} {}, -O{}\n", target.str(), options.threads,
                                   options.threads == 1 ? "thread" : "threads", options.level);
    text += graphScheduleText(layouts, fusions) + "# kernels\n";
    for (const auto &kernel : built.plan->kernels)
      text += fmt::format("{}: {}  # {}\n", kernel->name, kernel->schedule, kernel->origin);
    return text;
  }

  void writeTo(const std::function<void(const plan::ProgramT &, std::span<const package::CodeSection>)> &write) {
    std::vector<package::CodeSection> code;
    if (library.size()) {
      Clock::time_point begin = Clock::now();
      KernelCache cache(options.kernelCache, target);
      CodeImage image =
          library.emit(options.jobs, cache, [&](size_t done, size_t total) { step("kernels", done, total); });
      report.cachedKernels = cache.found();
      package::CodeSection section{target.str(), target.featureBits, std::move(image.bytes), {}};
      for (size_t index : built.code)
        section.entries.push_back(image.entries[index]);
      report.codeBytes = section.image.size();
      report.codeSeconds = since(begin);
      code.push_back(std::move(section));
    }
    step("package", 0, 1);
    plan::ProgramT program;
    program.producer = "lathe " LATHE_VERSION;
    if (auto source = module->getAttrOfType<mlir::StringAttr>("nn.source"))
      program.model = source.str();
    if (auto content = module->getAttrOfType<mlir::StringAttr>("nn.content"))
      program.model += "@" + content.str();
    program.options =
        fmt::format("--target {} --threads {} -O{} --precision {}{}{}, machine {}", target.str(), options.threads,
                    options.level, name(options.precision), options.exactMath ? " --exact-math" : "",
                    options.smallMemory ? " --memory small" : "", target.machine.identity());
    program.machine = toJson(target.machine).dump();
    program.threads = options.threads;
    program.plans.push_back(std::move(built.plan));
    write(program, code);
    step("package", 1, 1);
    report.seconds = since(start);
  }

  mlir::ModuleOp module;
  const CompileOptions &options;
  Target target;
  ScheduleBook schedules;
  KernelLibrary library;
  package::Constants constants;
  BuiltPlan built;
  CompileReport report;

private:
  Clock::time_point start = Clock::now();

  std::map<std::string, std::string> referenceReasons; // by node, from the passes
  std::vector<nn::NodeRule> rules;
  std::vector<PipelineReport::Layouts> layouts;
  std::vector<PipelineReport::Fusion> fusions;

  /// Of the model itself: a pass may remove an operator with its rule. Rules over extents that only folded constants
  /// tell are those of a copy, since the passes make extents attributes before they fold.
  void collectRules() {
    nn::shapesWithRules(mainFunction(module), rules);
    auto unknown = [](const nn::NodeRule &entry) { return isUnknown(entry.rule.left) || isUnknown(entry.rule.right); };
    if (llvm::none_of(rules, unknown))
      return;
    mlir::OwningOpRef<mlir::ModuleOp> copy(llvm::cast<mlir::ModuleOp>(module->clone()));
    inferShapes(*copy);
    foldConstants(*copy);
    inferShapes(*copy);
    nn::shapesWithRules(mainFunction(*copy), rules);
  }

  void noteRowMajor(const PipelineReport &passes) {
    for (const PipelineReport::Declined &declined : passes.rowMajor)
      report.notes.push_back(fmt::format("{} ({}) stays row-major: {}", declined.node, declined.op, declined.reason));
  }

  /// The costs of predictions, for what the runtime decides when extents are bound.
  std::unique_ptr<plan::ImageCostsT> imageCosts() const {
    auto costs = std::make_unique<plan::ImageCostsT>();
    MemoryLevels levels = target.machine.memoryLevels();
    for (size_t i = 0; i < levels.size(); ++i) {
      costs->levels.push_back(std::make_unique<plan::MemoryLevelT>());
      costs->levels.back()->bytes = levels[i].bytes;
      costs->levels.back()->cycles_per_byte = levels[i].cyclesPerByte;
    }
    costs->call_cycles = startCycles;
    return costs;
  }

  void step(const char *what, size_t done, size_t total) {
    if (options.progress)
      options.progress({what, done, total, since(start)});
  }

  PipelineOptions pipelineOptions() {
    PipelineOptions result;
    result.level = options.referencesOnly ? 0 : options.level; // a blocked layout would need code to convert it
    result.exactMath = options.exactMath;
    result.shareStorage = options.shareStorage;
    result.channelBlocks.sizes.clear();
    for (ElementType type : Target::blockedTypes())
      result.channelBlocks.sizes[type] = target.channelBlock(type);
    result.predictCycles = [this](mlir::func::FuncOp kernel) { return library.predictCycles(kernel); };
    result.declines = [this](mlir::func::FuncOp kernel) {
      return options.referencesOnly ? "only references were asked for" : library.declines(kernel);
    };
    if (options.measured)
      result.measuredSeconds = [this](mlir::func::FuncOp kernel) { return library.measuredSeconds(kernel); };
    result.staysWhole = [this](mlir::func::FuncOp kernel, const std::vector<mlir::func::FuncOp> &parts) {
      return library.staysWhole(kernel, parts);
    };
    if (schedules.hasGraphChoices())
      result.given = [this](const std::vector<std::string> &nodes) { return schedules.graphChoice(nodes); };
    return result;
  }
};

} // namespace

Target targetOf(const CompileOptions &options) {
  if (options.machineText.empty())
    return Target::parse(options.target);
  MachineFacts machine = parseMachineFacts(options.machineText, options.machineName);
  return Target::parse(options.target, &machine);
}

KernelOptions kernelOptionsOf(const CompileOptions &options) {
  return {options.threads, options.exactMath, options.smallMemory, options.precision, options.level >= 4};
}

CompileReport compile(mlir::ModuleOp module, const CompileOptions &options, const std::string &outputPath) {
  // An output that cannot be written is better said before the work than after it.
  PendingFile::check(outputPath);
  Compilation compilation(module, options);
  compilation.optimize();
  compilation.formKernels();
  compilation.buildPlan();
  compilation.writeTo([&](const plan::ProgramT &program, std::span<const package::CodeSection> code) {
    compilation.report.packageBytes = package::writePackage(outputPath, program, compilation.constants, code);
  });
  return compilation.report;
}

CompileReport compileToBytes(mlir::ModuleOp module, const CompileOptions &options, std::vector<char> &package) {
  Compilation compilation(module, options);
  compilation.optimize();
  compilation.formKernels();
  compilation.buildPlan();
  compilation.writeTo([&](const plan::ProgramT &program, std::span<const package::CodeSection> code) {
    package = package::packageBytes(program, compilation.constants, code);
  });
  compilation.report.packageBytes = package.size();
  return compilation.report;
}

CompileReport checkCompiled(mlir::ModuleOp module, const CompileOptions &options) {
  Compilation compilation(module, options);
  compilation.optimize();
  compilation.formKernels();
  compilation.buildPlan();
  return compilation.report;
}

void lowerToKernels(mlir::ModuleOp module, const CompileOptions &options) {
  Compilation compilation(module, options);
  compilation.optimize();
  compilation.formKernels();
}

void requireScheduleFits(mlir::ModuleOp module, const CompileOptions &options) {
  if (options.scheduleText.empty())
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
  Compilation compilation(module, options);
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
  std::string text = level == Level::schedule ? compilation.scheduleText()
                                              : compilation.library.text(level == Level::loops  ? EmitStage::loops
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
