#include "cli/CompilerVerbs.h"
#include "cli/flags/SpaceFlags.h"
#include "cli/print/ExplainPrint.h"
#include "cli/print/LayoutPrint.h"
#include "cli/print/TunePrint.h"
#include "cli/print/VariantsPrint.h"
#include "jobs/UsedRecords.h"
#include "support/Text.h"

#include <iostream>

namespace lathe::cli {
namespace {

nlohmann::json reportJson(const CompileReport &report) {
  nlohmann::json references = nlohmann::json::array();
  for (const ReferenceUse &use : report.references)
    references.push_back({{"node", use.node}, {"op", use.op}, {"type", use.type}, {"reason", use.reason}});
  return {{"time_s", report.seconds},
          {"passes_s", report.passSeconds},
          {"code_s", report.codeSeconds},
          {"package_bytes", report.packageBytes},
          {"constant_bytes", report.constantBytes},
          {"code_bytes", report.codeBytes},
          {"source_constant_bytes", report.sourceConstantBytes},
          {"kernels", report.kernels},
          {"distinct_kernels", report.distinctKernels},
          {"cached_kernels", report.cachedKernels},
          {"layout_conversions", report.layoutConversions},
          {"measured_choice_count", report.measuredChoices},
          {"timed_kernels", report.timedBatches},
          {"references", references},
          {"notes", report.notes},
          {"flops", report.flops},
          {"compiled_flops", report.compiledFlops},
          {"variants", variantsJson(report)},
          {"target", report.target}};
}

/// The line that names the file of a text's weights.
std::string writtenText(const std::vector<nn::WrittenFile> &written) {
  if (written.empty())
    return "";
  std::string line = fmt::format("{}: {} of text", written[0].path, bytesText(static_cast<double>(written[0].bytes)));
  if (written.size() > 1)
    line += fmt::format("; {}: {} of weights, which the text needs beside it", written[1].path,
                        bytesText(static_cast<double>(written[1].bytes)));
  return line + "\n";
}

/// Writes what schedules may be for every kernel of the model; no code is made.
int writeSpace(const ModelOptions &model, const Source &source, const CompileOptions &compiling,
               const SpaceOptions &flags, bool printsText) {
  std::vector<KernelTask> tasks = kernelTasks(*source.module, compiling);
  std::vector<ExportedKernel> kernels;
  for (const KernelTask &task : tasks)
    kernels.push_back(exported(task));
  nlohmann::json document = {
      {"model", model.model}, {"target", targetOf(compiling).str()}, {"threads", compiling.threads}};
  ExportedSpace written = exportSpaces(std::move(document), kernels, flags);
  if (printsText)
    std::cout << spaceText(written);
  return success;
}

/// Prints why the kernel of a node has its schedule; no package is made.
int explainNode(const ModelOptions &model, const Source &source, const CompileOptions &compiling,
                const std::string &node, const Options &options) {
  Explanation explanation = explain(*source.module, compiling, node);
  nlohmann::json json = explanationJson(explanation);
  json["model"] = model.model;
  json["target"] = targetOf(compiling).str();
  json["threads"] = compiling.threads;
  options.writeJson(json);
  if (options.printsText())
    std::cout << explanationText(explanation, options.tableStyle());
  return success;
}

void printReport(const CompileReport &report, const std::string &output, uint64_t sourceBytes,
                 const std::string &records) {
  std::cout << fmt::format(
      "{}: {}, {} distinct, {} of them from the cache, for {}, in {:.2f} s (passes {:.2f}, code {:.2f})\n", output,
      counted(int64_t(report.kernels), "kernel"), report.distinctKernels, report.cachedKernels, report.target,
      report.seconds, report.passSeconds, report.codeSeconds);
  std::cout << fmt::format(
      "package {} (constants {}, code {}), the original has {}\n", bytesText(static_cast<double>(report.packageBytes)),
      bytesText(static_cast<double>(report.constantBytes)), bytesText(static_cast<double>(report.codeBytes)),
      bytesText(static_cast<double>(sourceBytes)));
  if (!records.empty())
    std::cout << records << "\n";
  if (report.measuredChoices)
    std::cout << fmt::format("measured times of records choose layouts or kernels of {}\n",
                             counted(int64_t(report.measuredChoices), "operator"));
  if (report.timedBatches)
    std::cout << fmt::format("measured times of records say how a batch passes {}\n",
                             counted(int64_t(report.timedBatches), "kernel"));
  std::cout << variantsText(report) << fmt::format("layout conversions kept: {}\n", report.layoutConversions);
  for (const LayoutConversion &conversion : report.conversions)
    std::cout << "  " << printable(conversionText(conversion)) << "\n";
  for (const std::string &note : report.notes)
    std::cout << "note: " << printable(note) << "\n";
  std::cout << fmt::format("operators left to references: {}\n", report.references.size());
  for (const ReferenceUse &use : report.references)
    std::cout << fmt::format("  {}: {} ({}): {}\n", printable(use.node), use.op, use.type, printable(use.reason));
}

struct CompileFlags {
  ModelOptions model;
  SpaceOptions space;
  std::string output, emit, node;
  int jobs = 1;
  bool layouts = false;

  void add(Options &options) {
    addModel(options, model, ModelUse::compile);
    addVariants(options, model);
    addStore(options, model);
    options.addOutput(
        "-o,--output", output,
        "Write the package, or with --emit the text, to FILE (-: standard output, the default of --emit)");
    options
        .add_option("--emit", emit,
                    "Print this stage instead of making a package; graph, kernels and schedule can be read back")
        ->check(CLI::IsMember({"graph", "kernels", "schedule", "loops", "llvm", "asm"}));
    addSpace(options, space,
             "Write the parameters of every kernel's schedules, their values, constraints and legal points as "
             "JSON to FILE, instead of making a package");
    options.add_option("--seed", space.seed, "Set the seed of the random points of --export-space")
        ->capture_default_str();
    options
        .add_option("--explain", node,
                    "Print candidates for the kernel that computes NODE with predicted costs, and why others were "
                    "declined, instead of making a package")
        ->type_name("NODE");
    options.add_flag("--layouts", layouts, layoutsHelp);
    options.add_option("--jobs", jobs, "Use this number of threads for the compilation itself")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    options.addShowing();
    options.afterParse([&options, this] {
      if (!node.empty())
        options.refuse({"--jobs", "--no-cache", "--emit", "--output", "--export-space", "--layouts"},
                       "--explain makes no package");
      else if (!layouts)
        options.refuse({"--wide"}, "only --explain and --layouts print a table");
      if (space.file.empty())
        options.refuse({"--seed"}, "only --export-space draws points");
      else
        options.refuse({"--json", "--jobs", "--no-cache", "--no-records", "--store", "--emit", "--output", "--layouts"},
                       "--export-space makes no package");
      if (!emit.empty())
        options.refuse({"--json", "--jobs", "--no-cache", "--layouts"}, "--emit makes no package");
      if (!emit.empty() || !node.empty() || !space.file.empty())
        options.refuse({"--specialize", "--range"}, "no package is made; --shape shows what a variant becomes");
    });
  }
};

/// Prints a stage of the compilation; writes no package.
int emitStage(const CompileFlags &flags, const Source &source, const CompileOptions &compiling, bool printsText) {
  std::vector<nn::WrittenFile> written;
  std::cout << emitLevel(*source.module, compiling, levelFromName(flags.emit), flags.output == "-" ? "" : flags.output,
                         &written);
  if (printsText)
    std::cout << writtenText(written);
  return success;
}

} // namespace

int compileVerb(const Arguments &arguments) {
  CompileFlags flags;
  Options options(
      "compile", "Compile a model to a native package, print a stage of the compilation, or explain its choices.",
      "  lathe compile resnet50.onnx -o resnet50.lathe --threads 2\n"
      "  lathe compile zoo:resnet18 -o r18.lathe --target x86-64-v3\n"
      "  lathe compile model.onnx -o m.lathe --specialize N=1,8 --range N=1..64\n"
      "  lathe compile model.onnx --emit kernels -o model.mlir     (edit it, then compile model.mlir)\n"
      "  lathe compile model.onnx -o m.lathe --layout nhwc --layouts\n"
      "  lathe compile model.onnx --emit asm | less\n"
      "  lathe compile model.onnx -o m.lathe --schedule mine.txt   (lines 'conv1: SCHEDULE')\n"
      "  lathe compile model.onnx --emit schedule -o mine.txt      (every choice: layouts, fusion, kernels)\n"
      "  lathe compile model.onnx --export-space space.json        (what schedules may be for every kernel)\n"
      "  lathe compile model.onnx --explain conv1                  (why the kernel of conv1 has its schedule)\n");
  flags.add(options);
  options.parseAll(arguments);
  require(!flags.emit.empty() || !flags.output.empty() || !flags.space.file.empty() || !flags.node.empty(),
          "expected -o FILE for the package, --emit for a stage, --export-space FILE or --explain NODE");
  if (!flags.output.empty() && flags.emit.empty())
    requireNoTerminal(flags.output, "a package");

  Progress progress("compile " + flags.model.model);
  CompileOptions compiling = compileOptions(flags.model, &progress);
  compiling.jobs = flags.jobs;
  Source source = loadSource(flags.model);
  if (!flags.space.file.empty())
    return writeSpace(flags.model, source, compiling, flags.space, options.printsText());
  if (!flags.node.empty())
    return explainNode(flags.model, source, compiling, flags.node, options);
  if (!flags.emit.empty())
    return emitStage(flags, source, compiling, options.printsText());

  CompileReport report = compile(*source.module, compiling, flags.output);
  nlohmann::json json = reportJson(report);
  json["model"] = flags.model.model;
  json["original_bytes"] = source.fileBytes;
  json["package"] = flags.output;
  RecordUse records = recordUse(report.origins);
  json["record_kernels"] = records.kernels;
  LayoutReport layouts = layoutReport(report, flags.model, flags.layouts);
  json["layouts"] = layoutJson(layouts);
  options.writeJson(json);
  if (!options.printsText())
    return success;
  printReport(report, flags.output, source.fileBytes, records.line(flags.model));
  if (flags.layouts)
    std::cout << layoutText(layouts, options.tableStyle());
  return success;
}

} // namespace lathe::cli
