#include "compile/PlanCompilation.h"

#include "codegen/cost/Cost.h"
#include "codegen/space/ContractionFormat.h"
#include "compile/PlanRules.h"
#include "compile/streams/StreamSearch.h"
#include "compile/streams/Streams.h"
#include "ir/Main.h"
#include "package/OperationCount.h"
#include "passes/Passes.h"

#include <nlohmann/json.hpp>

namespace lathe {
namespace {

uint64_t constantBytesOf(mlir::ModuleOp module) {
  uint64_t bytes = 0;
  module.walk([&](nn::ConstantOp constant) {
    auto type = llvm::cast<mlir::ShapedType>(constant.getType());
    bytes += byteSize(nn::toElementType(type.getElementType()), type.getNumElements());
  });
  return bytes;
}

/// The costs that predictions use, for decisions of the runtime when extents are bound.
std::unique_ptr<plan::ImageCostsT> imageCosts(const Target &target) {
  auto costs = std::make_unique<plan::ImageCostsT>();
  MemoryLevels levels = target.machine.memoryLevels(1); // a run may have any number of threads
  for (size_t i = 0; i < levels.size(); ++i) {
    costs->levels.push_back(std::make_unique<plan::MemoryLevelT>());
    costs->levels.back()->bytes = levels[i].bytes;
    costs->levels.back()->cycles_per_byte = levels[i].cyclesPerByte;
  }
  costs->call_cycles = startCycles;
  return costs;
}

/// " --layout nhwc"
std::string layoutText(const CompileOptions &options) {
  return options.layout == LayoutChoice::automatic ? "" : " --layout " + name(options.layout);
}

/// " --optimize-for 'N=8'"
std::string typicalText(const Extents &typical) {
  return typical.empty() ? "" : fmt::format(" --optimize-for '{}'", str(typical));
}

/// The value of --streams that counts. Kernels beside each other need more memory, nearly always.
std::string streamsOf(const CompileOptions &options) {
  return options.smallMemory && options.streams == "auto" ? "off" : options.streams;
}

} // namespace

PackageParts::PackageParts(mlir::ModuleOp module, const CompileOptions &options)
    : options(options), target(targetOf(options)), schedules(options.schedule.text, options.schedule.name),
      library(target, kernelOptionsOf(options), schedules, options.schedules, options.measured) {
  require(options.level >= 0 && options.level <= 4, "optimisation level is {}, expected 0 to 4", options.level);
  require(!options.exactMath || options.level < 4,
          "-O4 relaxes what --exact-math keeps: expected -O 0 to 3 with --exact-math");
  require(options.threads >= 1, "threads is {}, expected at least 1", options.threads);
  std::string precision = name(options.precision);
  if (std::string reason = formatNamed(precision, ElementType::f32).obstacle(target); !reason.empty())
    fail("--precision {}: the target {}; expected one with AVX512-BF16, such as znver4 or sapphirerapids", precision,
         reason);
  const ExtentOptions &extents = options.extents;
  require(!hasKernels(module) || (extents.variants.empty() && extents.typical.empty()),
          "--specialize and --optimize-for need a model or text at graph level, got text at kernels level");
  requireValid(extents, mainFunction(module));
  report.target = target.str();
  report.sourceConstantBytes = constantBytesOf(module);
}

void PackageParts::writeTo(mlir::ModuleOp module, const Write &write) {
  std::vector<package::CodeSection> sections;
  if (library.size()) {
    double begin = seconds();
    KernelCache cache(options.kernelCache, target);
    CodeImage image =
        library.emit(options.jobs, cache, [&](size_t done, size_t total) { step("kernels", done, total); });
    report.cachedKernels = cache.found();
    package::CodeSection section{target.str(), target.featureBits, std::move(image.bytes), {}};
    for (size_t index : code)
      section.entries.push_back(image.entries[index]);
    report.codeBytes = section.image.size();
    report.codeSeconds = seconds() - begin;
    sections.push_back(std::move(section));
  }
  step("package", 0, 1);
  plan::ProgramT program;
  program.producer = "lathe " LATHE_VERSION;
  if (auto source = module->getAttrOfType<mlir::StringAttr>("nn.source"))
    program.model = source.str();
  if (auto content = module->getAttrOfType<mlir::StringAttr>("nn.content"))
    program.model += "@" + content.str();
  program.options =
      fmt::format("--target {} --threads {} -O{} --precision {}{}{}{}{}{}, {}, machine {}{}", target.str(),
                  options.threads, options.level, name(options.precision), layoutText(options),
                  options.exactMath ? " --exact-math" : "", options.smallMemory ? " --memory small" : "",
                  plans.back()->places.empty() && report.merges.merged == 0 ? "" : " --streams " + options.streams,
                  typicalText(options.extents.typical), package::withoutPadding, target.machine.identity(),
                  options.company.empty() ? "" : ", " + options.company);
  program.machine = toJson(target.machine).dump();
  program.threads = options.threads;
  program.plans = std::move(plans);
  write(program, sections);
  step("package", 1, 1);
  report.seconds = seconds();
}

void PackageParts::step(const char *what, size_t done, size_t total) {
  if (options.progress)
    options.progress({what, done, total, seconds()});
}

void PlanCompilation::optimize() {
  if (hasKernels(module))
    return;
  parts.step("passes", 0, 2);
  collectRules();
  PipelineReport optimized = optimizeGraph(module, pipelineOptions());
  noteRowMajor(optimized);
  parts.report.measuredChoices += optimized.measuredChoices;
  layouts = std::move(optimized.layouts);
  noteMerges(std::move(optimized.merges));
}

void PlanCompilation::formKernels() {
  if (!hasKernels(module)) {
    parts.step("passes", 1, 2);
    PipelineReport formed = lathe::formKernels(module, pipelineOptions());
    listsConversions = true;
    noteRowMajor(formed);
    parts.report.measuredChoices += formed.measuredChoices;
    for (const PipelineReport::Whole &whole : formed.wholes)
      for (const std::string &part : whole.parts)
        parts.schedules.noteInside(part, whole.kernel);
    fusions = std::move(formed.fusions);
    for (const PipelineReport::Conversion &conversion : formed.conversions) {
      parts.report.conversions.push_back(
          {conversion.node, conversion.from, conversion.to, conversion.reader, conversion.bytes, 0});
      conversionKernels.push_back(conversion.kernel);
    }
    for (const PipelineReport::Declined &declined : formed.references)
      referenceReasons[declined.node] = declined.reason;
    for (const PipelineReport::Declined &declined : formed.notGrowing)
      parts.report.notes.push_back(fmt::format("{} does not grow in place: {}", declined.node, declined.reason));
  }
  parts.report.passSeconds = parts.seconds();
}

void PlanCompilation::buildPlan() {
  BuiltPlan built = lathe::buildPlan(module, parts.library, parts.constants);
  addRules(*built.plan, rules);
  built.plan->image_costs = imageCosts(parts.target);
  built.plan->measured_choices = static_cast<uint32_t>(parts.report.measuredChoices);
  parts.report.kernels = static_cast<int>(built.plan->kernels.size());
  parts.report.distinctKernels = static_cast<int>(parts.library.size());
  // A text at kernels level has no list of conversions. A listed conversion may share its kernel with other operators.
  parts.report.layoutConversions =
      listsConversions ? static_cast<int>(parts.report.conversions.size()) : built.layoutConversions;
  parts.report.timedBatches = built.timedBatches;
  predictConversions(*built.plan);
  parts.report.references = built.references;
  for (ReferenceUse &use : parts.report.references)
    if (auto found = referenceReasons.find(use.node); found != referenceReasons.end())
      use.reason = found->second;
  parts.report.constantBytes = parts.constants.bytes();
  for (const std::string &note : parts.library.notes())
    parts.report.notes.push_back(note);
  for (const auto &kernel : built.plan->kernels)
    ++parts.report.origins[kernel->origin];
  for (const auto &kernel : built.plan->kernels)
    parts.report.compiledFlops += valueOf(Dim::parse(kernel->flops));
  parts.report.flops = parts.report.compiledFlops + built.referenceFlops;
  parts.report.seconds = parts.seconds();
  parts.code.insert(parts.code.end(), built.code.begin(), built.code.end());
  addRanges(*built.plan, parts.options.extents.ranges);
  auto given = [&](const std::vector<std::string> &names) { return parts.schedules.streamOf(names); };
  StreamFacts facts;
  facts.cycles = [&](size_t position, int slots) {
    mlir::func::FuncOp kernel = built.entry[position];
    return kernel ? parts.library.cyclesOn(slots, kernel) : KernelCycles();
  };
  facts.seconds = [&](size_t position, int slots) -> std::optional<double> {
    mlir::func::FuncOp kernel = built.entry[position];
    return kernel ? parts.library.secondsOn(slots, kernel, parts.options.measuredStreams.times) : std::nullopt;
  };
  facts.identity = [&](size_t position) {
    mlir::func::FuncOp kernel = built.entry[position];
    return kernel ? kernelIdentity(kernel) + "\n" + parts.library.compiled(kernel).schedule.str() : std::string();
  };
  const int threads = parts.options.threads;
  parts.report.streams = placeStreams(*built.plan, given, streamsOption(streamsOf(parts.options), threads), threads,
                                      facts, parts.options.measuredStreams);
  parts.plans.push_back(std::move(built.plan));
}

std::string PlanCompilation::scheduleText() const {
  const CompileOptions &options = parts.options;
  std::string text = fmt::format("# for {}, {} {}, -O{}{}{}\n", parts.target.str(), options.threads,
                                 options.threads == 1 ? "thread" : "threads", options.level, layoutText(options),
                                 options.company.empty() ? "" : ", " + options.company);
  text += graphScheduleText(layouts, fusions, merges) + "# kernels\n";
  for (const auto &kernel : parts.plans.back()->kernels)
    text += fmt::format("{}: {}  # {}\n", kernel->name, kernel->schedule, kernel->origin);
  return text + streamsText(*parts.plans.back());
}

/// Collects rules from the original model, because a pass may remove an operator with its rule. Where only folded
/// constants give an extent, the rule comes from a copy with folded constants, because the passes make extents
/// attributes before they fold.
void PlanCompilation::collectRules() {
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

void PlanCompilation::noteMerges(std::vector<PipelineReport::Merge> found) {
  merges = std::move(found);
  parts.report.merges = {};
  for (const PipelineReport::Merge &one : merges) {
    parts.report.merges.convolutions += one.nodes.size();
    ++parts.report.merges.merged;
    parts.report.merges.cycles += one.cycles;
    parts.report.merges.apartCycles += one.apartCycles;
  }
}

void PlanCompilation::noteRowMajor(const PipelineReport &passes) {
  for (const PipelineReport::Declined &declined : passes.rowMajor)
    parts.report.notes.push_back(
        fmt::format("{} ({}) stays row-major: {}", declined.node, declined.op, declined.reason));
  for (const PipelineReport::Declined &declined : passes.unconverted)
    parts.report.unconverted.push_back({declined.node, declined.op, declined.reason});
}

/// Sums up the predicted costs of the conversions, and of all kernels.
void PlanCompilation::predictConversions(const plan::PlanT &plan) {
  std::map<std::string, double> cycles;
  for (const auto &kernel : plan.kernels) {
    parts.report.predictedCycles += kernel->predicted_cycles;
    cycles[kernel->name] = kernel->predicted_cycles;
  }
  for (size_t i = 0; i < conversionKernels.size(); ++i)
    parts.report.conversions[i].cycles = cycles[conversionKernels[i]];
}

PipelineOptions PlanCompilation::pipelineOptions() {
  PipelineOptions result;
  result.level =
      parts.options.referencesOnly ? 0 : parts.options.level; // a blocked layout would need code for conversions
  result.layout = parts.options.referencesOnly ? LayoutChoice::automatic : parts.options.layout;
  result.channelBlocks.last = result.layout == LayoutChoice::channelsLast;
  result.exactMath = parts.options.exactMath;
  result.shareStorage = parts.options.shareStorage;
  result.channelBlocks.sizes.clear();
  for (ElementType type : Target::blockedTypes())
    result.channelBlocks.sizes[type] = parts.target.channelBlock(type);
  result.predictCycles = [this](mlir::func::FuncOp kernel) { return parts.library.predictCycles(kernel); };
  result.noteImageExtents = [this](const std::vector<std::string> &symbols) { parts.library.assumeImages(symbols); };
  result.declines = [this](mlir::func::FuncOp kernel) {
    return parts.options.referencesOnly ? "only references were asked for" : parts.library.declines(kernel);
  };
  if (parts.options.measured)
    result.measuredSeconds = [this](mlir::func::FuncOp kernel) { return parts.library.measuredSeconds(kernel); };
  result.staysWhole = [this](mlir::func::FuncOp kernel, const std::vector<mlir::func::FuncOp> &pieces) {
    return parts.library.staysWhole(kernel, pieces);
  };
  if (parts.schedules.hasMerges())
    result.mergedInto = [this](const std::vector<std::string> &nodes) { return parts.schedules.mergedInto(nodes); };
  else if (streamsOf(parts.options) != "off")
    result.mergeMargin = streamMargin;
  if (parts.schedules.hasGraphChoices())
    result.given = [this](const std::vector<std::string> &nodes) { return parts.schedules.graphChoice(nodes); };
  return result;
}

} // namespace lathe
