#include "cli/FrontVerbs.h"
#include "cli/KeptWhenInterrupted.h"
#include "cli/Packages.h"
#include "cli/Recording.h"
#include "cli/Sizes.h"
#include "cli/models/Sides.h"
#include "cli/models/TfliteLibrary.h"
#include "cli/print/Describe.h"
#include "cli/print/Progress.h"
#include "lab/StoreRecords.h"

#include <algorithm>
#include <filesystem>
#include <iostream>

namespace lathe::cli {
namespace {

/// "data 1x3x224x224, mask 1x128": the extents of the inputs in this run.
std::string shapesText(std::span<const runtime::Port> ports, const lab::CompareOptions &compare) {
  std::string text;
  for (const runtime::Port &port : ports) {
    std::vector<int64_t> dims;
    for (const Dim &dim : port.dims)
      dims.push_back(dim.evaluate([&](const std::string &symbol) {
        auto found = compare.dims.find(symbol);
        return found == compare.dims.end() ? 1 : found->second;
      }));
    if (auto given = compare.inputs.find(port.name); given != compare.inputs.end())
      dims = given->second.dims();
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", port.name, dimsText(dims));
  }
  return text;
}

/// Bounds within which outputs agree: the widest bounds that a package asks for.
lab::Tolerance toleranceOf(const std::vector<lab::CompareSide> &sides, const lab::CompareOptions &compare,
                           const ModelFlags &flags) {
  lab::Tolerance widest{0, 0};
  for (const lab::CompareSide &side : sides) {
    if (!isPackage(side.model))
      continue;
    auto model = openPackage(side.model, flags).model;
    std::map<std::string, int64_t> symbols = compare.dims;
    for (const runtime::Port &port : model->inputs())
      if (auto given = compare.inputs.find(port.name); given != compare.inputs.end())
        symbols.merge(lab::boundSymbols({&port, 1}, std::vector<Value>{given->second}));
    lab::Tolerance one = lab::toleranceOf(lab::roundingsOf(*model, symbols), lab::Against::peer);
    widest = {std::max(widest.relative, one.relative), std::max(widest.maximum, one.maximum),
              std::max(widest.steps, one.steps), std::max(widest.share, one.share), widest.behind || one.behind};
  }
  return widest;
}

/// The flags of the command line.
struct CompareFlags {
  ModelFlags model;
  InputFlags inputs;
  RecordFlags record;
  lab::CompareOptions compare;
  std::string batches;  // --batch, a list
  std::string with;     // "": the usual peer
  int maxRounds = 0;    // 0: no limit
  bool several = false; // several sizes
  std::optional<double> relative, maximum;

  void add(Options &options) {
    model.add(options, ModelUse::run);
    model.addLoading(options);
    inputs.add(options, "random", false);
    addBatches(options, batches);
    const std::vector<std::string> runtimes = {"onnxruntime", "tflite", "tensorflowjs",
                                               "tensorflow",  "opencv", "reference"};
    options
        .add_option("--with", with,
                    fmt::format("Compare with these, separated by commas: {}, or the file of another model or package "
                                "(default: tflite for TFLite models, else onnxruntime)",
                                fmt::join(runtimes, ", ")))
        ->check(offersList(runtimes))
        ->type_name("RUNTIME|MODEL,...");
    options.reads([this] { return CLI::detail::split(with, ','); });
    options.add_flag(
        "--adapt-layouts", compare.adaptLayouts,
        "Transpose inputs and outputs whose channels lie elsewhere (NHWC against NCHW), outside of what is "
        "timed");
    options.add_flag("--check-only", compare.checkOnly, "Compare outputs and time nothing");
    addTiming(options);
    options.add_option("--relative", relative,
                       "Set the largest relative L2 difference of outputs that agree (default: docs/numerics.md; "
                       "0.0001 for fp32)");
    options.add_option("--maximum", maximum,
                       "Set the limit of the largest |difference| divided by the largest |value| (default: "
                       "docs/numerics.md; 0.001 for fp32)");
    record.add(options, &model);
    addTfliteLibrary(options);
    options.addQuiet();
    options.addWide();
    options.addJson();
    options.afterParse([this, &options] {
      if (compare.checkOnly)
        options.refuse({"--max-seconds", "--max-rounds", "--starts"}, "--check-only times nothing");
      if (maxRounds)
        compare.roundsInAll = maxRounds;
    });
  }

  nlohmann::json settings() const {
    return {{"check_only", compare.checkOnly},
            {"relative_l2", relative ? nlohmann::json(*relative) : nlohmann::json("by type")},
            {"max_difference", maximum ? nlohmann::json(*maximum) : nlohmann::json("by type")},
            {"adapt_layouts", compare.adaptLayouts},
            {"max_seconds", compare.maxSeconds},
            {"max_rounds", maxRounds},
            {"starts", compare.minStarts},
            {"batch", batches},
            {"fill", inputs.fill},
            {"seed", inputs.seed}};
  }

private:
  void addTiming(Options &options) {
    options
        .add_option("--max-seconds", compare.maxSeconds,
                    "Time for at most this long, later starts of the runtimes included, in seconds")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    options
        .add_option("--starts", compare.minStarts,
                    "Start every runtime at least this often; more starts follow until every verdict is decided or "
                    "--max-seconds have passed")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    options.add_option("--max-rounds", maxRounds, "Time at most this many rounds in all starts (default: no limit)")
        ->check(CLI::PositiveNumber);
  }
};

/// Binds given inputs, and extents of inputs that the laboratory makes. `open`: the package was compiled without
/// --shape.
void bindInputs(CompareFlags &flags, const runtime::Model &loaded, bool open) {
  lab::CompareOptions &compare = flags.compare;
  compare.variables = flags.inputs.variables = variablesOf(loaded.inputs(), loaded.outputs());
  std::vector<Value> values = gatherInputs(loaded.inputs(), flags.inputs, flags.model.shapes);
  // For a model, --shape is compiled into the package; a package may still have open extents.
  bool shaped = !flags.model.shapes.empty() && !flags.model.isZoo() && (open || isPackage(flags.model.model));
  bool all = !flags.inputs.given.empty() || flags.inputs.fill != "random" || shaped;
  for (size_t i = 0; i < values.size(); ++i)
    if (const std::string &name = loaded.inputs()[i].name;
        values[i].isTensor() && (all || compare.variables.contains(name)))
      compare.inputs[name] = values[i].tensor();
  if (!flags.inputs.batch)
    return;
  for (const runtime::Port &port : loaded.inputs()) {
    std::vector<std::string> symbols;
    if (!port.dims.empty())
      port.dims[0].collectSymbols(symbols);
    for (const std::string &symbol : symbols)
      compare.dims[symbol] = flags.inputs.batch;
  }
}

void show(Progress &progress, const std::string &what, std::optional<double> secondsLeft) {
  if (secondsLeft)
    progress.updateUntil(what, *secondsLeft);
  else
    progress.update(what, 0, 0);
}

/// A mean of values, some of which may be unknown.
class Mean {
public:
  void add(std::optional<double> value) {
    sum += value.value_or(0);
    count += value.has_value();
  }
  std::optional<double> value() const { return count ? std::optional(sum / count) : std::nullopt; }

private:
  double sum = 0;
  int count = 0;
};

/// Compares at one size. Prints and stores its report, and adds it to `documents`, when it is finished or interrupted.
class SizeComparison {
public:
  SizeComparison(CompareFlags flags, const std::vector<lab::CompareSide> &sides, const std::string &package,
                 const Options &options, Recording &recording, std::vector<nlohmann::json> &documents, bool open)
      : flags(std::move(flags)), sides(sides), options(options), recording(recording), documents(documents) {
    auto loaded = openPackage(package, this->flags.model).model;
    lab::CompareOptions &compare = this->flags.compare;
    const ModelFlags &model = this->flags.model;
    compare.threads = model.threads;
    compare.seed = this->flags.inputs.seed;
    bindInputs(this->flags, *loaded, open);
    compare.tolerance = toleranceOf(sides, compare, model);
    compare.tolerance.relative = this->flags.relative.value_or(compare.tolerance.relative);
    compare.tolerance.maximum = this->flags.maximum.value_or(compare.tolerance.maximum);
    problem = modelProblem(model, loaded->source(), shapesText(loaded->inputs(), compare));
    inputs = shapesText(loaded->inputs(), compare);
    setting = modelSetting(model, this->flags.inputs.batch, recordUse(*loaded));
    verification = verificationOf(model, *loaded);
  }

  lab::Comparison run() {
    Progress progress("compare " + flags.model.model);
    lab::CompareOptions &compare = flags.compare;
    compare.progress = [&](const std::string &what, std::optional<double> left) { show(progress, what, left); };
    KeptWhenInterrupted<lab::Comparison> kept([&](const lab::Comparison &soFar) { report(soFar, false); });
    compare.afterStart = [&](const lab::Comparison &soFar) {
      // The signal first ends the runners, which then look like failed runners.
      if (std::none_of(soFar.sides.begin(), soFar.sides.end(), [](auto &side) { return side.failure.has_value(); }))
        kept.update(soFar);
    };
    lab::Comparison comparison = lab::compare(sides, compare);
    kept.forget();
    report(comparison, true);
    return comparison;
  }

private:
  CompareFlags flags;
  const std::vector<lab::CompareSide> &sides;
  const Options &options;
  Recording &recording;
  std::vector<nlohmann::json> &documents; // one for each size
  store::Problem problem;
  store::Setting setting;
  Verification verification;
  std::string inputs;

  void report(const lab::Comparison &comparison, bool finished) {
    bool several = !documents.empty() || flags.several;
    recording.add(lab::pointsOf(comparison, problem, setting));
    if (options.printsText())
      std::cout << (several ? fmt::format("{}{}:\n", documents.empty() ? "" : "\n", inputs) : "")
                << lab::describe(comparison, options.tableStyle()) << recording.line() << std::flush;
    nlohmann::json json = lab::toJson(comparison);
    json["model"] = flags.model.model;
    json["inputs"] = inputs;
    json["finished"] = finished;
    json["verified"] = verification.verified;
    json["verification"] = verification.text;
    documents.push_back(std::move(json));
    options.writeJson(several ? nlohmann::json{{"model", flags.model.model}, {"sizes", documents}} : documents.front());
  }
};

} // namespace

int compareVerb(const Arguments &arguments) {
  CompareFlags flags;
  Options options(
      "compare",
      "Compare the outputs of a model with other runtimes, then time all of them in turns: while one runs\n"
      "the others stand still. Every runtime is started several times, because processes of one program differ.\n"
      "When interrupted, print and keep what was measured. Exit code 1 when outputs differ or a side fails.",
      "  lathe compare zoo:resnet50 --with onnxruntime\n"
      "  lathe compare model.onnx --with onnxruntime,reference --threads 2 --json compare.json\n"
      "  lathe compare zoo:resnet50 --precision bf16 --with fp32.lathe     two packages of one model\n"
      "  lathe compare model.onnx --with onnxruntime --check-only --batch 3\n"
      "  lathe compare model.onnx --with onnxruntime --batch 1,3,8,17     one package at each batch\n"
      "  lathe compare model.tflite --check-only     beside TensorFlow Lite (docs/runner-protocol.md)\n"
      "  lathe compare model.keras --with onnxruntime,tensorflowjs     ONNX Runtime runs the export\n"
      "  lathe compare model.onnx --with model.keras,onnxruntime --adapt-layouts     two files of one network\n");
  flags.add(options);
  options.parseAll(arguments);
  std::vector<Size> sizes = sizesOf(flags.batches, flags.model.shapes);
  Recording recording(flags.record, store::ExperimentKind::compare, "compare", arguments, flags.settings());

  std::vector<lab::CompareSide> sides = findSides(flags.with, flags.model);
  bool open = severalShapes(flags.model.shapes);
  if (open)
    flags.model.shapes.clear(); // the package includes all shapes
  std::string package = packageFor(flags.model).path;
  fillIn(sides, package, flags.model);
  flags.several = sizes.size() > 1;
  recording.plan(sizes.size() * sides.size());
  std::vector<nlohmann::json> documents;
  bool agree = true;
  Mean others, stolen;
  for (const Size &size : sizes) {
    CompareFlags one = flags;
    one.inputs.batch = size.batch;
    one.model.shapes = size.shapes;
    lab::Comparison comparison =
        SizeComparison(std::move(one), sides, package, options, recording, documents, open).run();
    agree &= comparison.agrees();
    others.add(comparison.otherProcessors);
    stolen.add(comparison.stolenProcessors);
  }
  recording.finish({others.value(), stolen.value()});
  return agree ? success : failedVerdict;
}

} // namespace lathe::cli
