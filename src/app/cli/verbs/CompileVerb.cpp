#include "cli/CompilerVerbs.h"
#include "cli/flags/BesideFlags.h"
#include "cli/flags/SpaceFlags.h"
#include "cli/print/CompilePrint.h"
#include "cli/print/ExplainPrint.h"
#include "cli/print/tune/TunePrint.h"

#include <iostream>

namespace lathe::cli {
namespace {

struct CompileFlags {
  CompileJob job;
  SpaceOptions space;
  BesideOptions beside;
  std::string emit, node;
  bool layouts = false;

  void add(Options &options) {
    addModel(options, job.model, ModelUse::compile);
    addVariants(options, job.model);
    addStore(options, job.model);
    addBeside(
        options, beside,
        "Compile for a model that runs beside this package: use the tuning records of `lathe tune --beside` in this "
        "company, then those of kernels alone");
    options.addOutput(
        "-o,--output", job.output,
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
    options.add_option("--jobs", job.jobs, "Use this number of threads for the compilation itself")
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
        options.refuse({"--json", "--jobs", "--no-cache", "--no-records", "--store", "--emit", "--output", "--layouts",
                        "--beside"},
                       "--export-space makes no package");
      if (job.model.noRecords || job.model.referencesOnly)
        options.refuse({"--beside"}, "no records are used");
      if (!emit.empty())
        options.refuse({"--json", "--jobs", "--no-cache", "--layouts"}, "--emit makes no package");
      if (!emit.empty() || !node.empty() || !space.file.empty())
        options.refuse({"--specialize", "--range"}, "no package is made; --shape shows what a variant becomes");
    });
  }
};

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
      "  lathe compile model.onnx --beside other.lathe -o m.lathe  (after lathe tune model.onnx --beside other.lathe)\n"
      "  lathe compile model.onnx --export-space space.json        (what schedules may be for every kernel)\n"
      "  lathe compile model.onnx --explain conv1                  (why the kernel of conv1 has its schedule)\n");
  flags.add(options);
  options.parseAll(arguments);
  require(!flags.emit.empty() || !flags.job.output.empty() || !flags.space.file.empty() || !flags.node.empty(),
          "expected -o FILE for the package, --emit for a stage, --export-space FILE or --explain NODE");
  if (!flags.job.output.empty() && flags.emit.empty())
    requireNoTerminal(flags.job.output, "a package");
  if (!flags.beside.package.empty())
    flags.job.model.company = Beside(flags.beside, flags.job.model.threads).company().str();
  if (!flags.space.file.empty()) {
    ExportedSpace space = exportSpace(flags.job, flags.space);
    if (options.printsText())
      std::cout << spaceText(space);
    return success;
  }
  if (!flags.node.empty()) {
    ExplainedNode explained = explainNode(flags.job, flags.node);
    options.writeJson(explanationJson(flags.job.model, explained));
    if (options.printsText())
      std::cout << explanationText(explained.explanation, options.tableStyle());
    return success;
  }
  if (!flags.emit.empty()) {
    StageText stage = stageText(flags.job, flags.emit);
    std::cout << stage.text;
    if (options.printsText())
      std::cout << writtenText(stage.written);
    return success;
  }
  CompiledModel compiled = compileModel(flags.job);
  LayoutReport layouts = layoutReport(compiled.report, flags.job.model, flags.layouts);
  options.writeJson(compiledJson(flags.job, compiled, layouts));
  if (options.printsText())
    std::cout << compiledText(flags.job, compiled) << (flags.layouts ? layoutText(layouts, options.tableStyle()) : "");
  return success;
}

} // namespace lathe::cli
