#include "cli/FrontVerbs.h"
#include "cli/KeptWhenInterrupted.h"
#include "cli/Packages.h"
#include "cli/Recording.h"
#include "cli/Self.h"
#include "cli/Sizes.h"
#include "cli/print/Progress.h"
#include "lab/StoreRecords.h"
#include "lab/TemporaryDirectory.h"

#include <algorithm>
#include <filesystem>
#include <iostream>

namespace lathe::cli {
namespace {

/// The folder for generated models. Each is written whole under its name, so that several processes may do so at once.
std::string cachedFiles(const char *part) {
  std::string folder = cacheFolderOrSay(part);
  return folder.empty() ? temporaryFolder().string() : folder;
}

/// The peer of a model when none is named.
std::string usualPeer(const ModelFlags &flags) {
  return !flags.isZoo() && looksLikeTflite(flags.model) ? "tflite" : "onnxruntime";
}

/// The file a peer that reads TFLite loads: the model itself.
std::string tfliteFor(const ModelFlags &flags) {
  require(!flags.isZoo() && looksLikeTflite(flags.model), "{}: tflite reads TFLite: give the .tflite model",
          flags.model);
  return flags.model;
}

/// The file a peer that reads ONNX loads: the model itself, or what `lathe zoo` writes for it.
std::string onnxFor(const ModelFlags &flags) {
  if (!flags.isZoo()) {
    require(looksLikeOnnx(flags.model), "{}: peers read ONNX: give the ONNX model, or zoo:NAME", flags.model);
    return flags.model;
  }
  std::string folder = cachedFiles("zoo");
  std::string path =
      fmt::format("{}/{}-{}-{}-{}.onnx", folder, flags.zooName(), flags.zooBatch, flags.zooSequence, flags.zooSeed);
  Arguments arguments{"zoo", flags.zooName(), "-o", path, "--seed", std::to_string(flags.zooSeed), quietFlag()};
  if (flags.zooBatch)
    arguments.insert(arguments.end(), {"--batch", std::to_string(flags.zooBatch)});
  if (flags.zooSequence)
    arguments.insert(arguments.end(), {"--sequence", std::to_string(flags.zooSequence)});
  runSelf(arguments); // always anew: the architecture may have changed with the program
  return path;
}

/// A package that only has such inputs: what calling our runner costs.
std::string callPackage(const ModelFlags &model, const std::vector<lab::CallInput> &inputs) {
  lab::TemporaryDirectory folder("call"); // packages are kept by the model's bytes
  ModelFlags call = model;
  call.model = (folder.path / "call.onnx").string();
  call.shapes.clear();
  call.scheduleFile.clear();
  writeFile(call.model, lab::callOnnx(inputs));
  return packageFor(call).path;
}

/// "data 1x3x224x224, mask 1x128": the inputs' extents in this run.
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

/// Bounds of outputs that agree: the widest of those the packages ask for.
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
    widest = {std::max(widest.relative, one.relative), std::max(widest.maximum, one.maximum)};
  }
  return widest;
}

/// What the command line says.
struct CompareFlags {
  ModelFlags model;
  InputFlags inputs;
  RecordFlags record;
  lab::CompareOptions compare;
  std::string batches;  // --batch, a list
  std::string with;     // "": usualPeer
  int maxRounds = 0;    // 0: no limit
  bool several = false; // sizes
  std::optional<double> relative, maximum;

  void add(Options &options) {
    model.add(options, ModelUse::run);
    model.addLoading(options);
    inputs.add(options, "random", false);
    addBatches(options, batches);
    options.add_option(
        "--with", with,
        "Compare with these, separated by commas: onnxruntime, tflite, reference, or a package (F.lathe) "
        "(default: tflite for TFLite models, else onnxruntime)");
    options.reads([this] { return CLI::detail::split(with, ','); });
    options.add_flag("--check-only", compare.checkOnly, "Compare outputs and time nothing");
    addTiming(options);
    options.add_option("--relative", relative,
                       "Set the largest relative L2 difference of outputs that agree (default: docs/numerics.md; "
                       "0.0001 for fp32)");
    options.add_option("--maximum", maximum,
                       "Set the largest |difference| over the largest |value| (default: docs/numerics.md; 0.001 for "
                       "fp32)");
    record.add(options, &model);
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

/// Ours, with its model still to be filled in, then those of --with. A peer that is missing is better said before
/// compiling.
std::vector<lab::CompareSide> findSides(const CompareFlags &flags) {
  auto find = [](const std::string &name) { return lab::runnerNamed(name, "--with " + name); };
  const ModelFlags &model = flags.model;
  std::vector<lab::CompareSide> sides(1);
  sides[0].runner = find("lathe");
  for (const std::string &name : CLI::detail::split(flags.with.empty() ? usualPeer(model) : flags.with, ',')) {
    lab::CompareSide side;
    bool given = name.ends_with(".lathe");
    require(!given || isPackage(name), "--with {}: is not a package", name);
    require(given || model.isZoo() || !isPackage(model.model),
            "--with {}: {} is a compiled package, only other packages can be compared with it; give the model", name,
            model.model);
    side.runner = find(given ? "lathe" : name);
    if (given) {
      side.model = name;
      side.runner.name = std::filesystem::path(name).filename().string();
    }
    sides.push_back(std::move(side));
  }
  require(sides.size() > 1, "--with: give at least one runner");
  return sides;
}

/// Makes the files that the sides load; ours is `package`.
void fillIn(std::vector<lab::CompareSide> &sides, const std::string &package, const ModelFlags &model) {
  sides[0].model = package;
  sides[0].call = [&](const std::vector<lab::CallInput> &ports) { return callPackage(model, ports); };
  for (size_t i = 1; i < sides.size(); ++i) {
    ModelFlags references = model;
    references.referencesOnly = true;
    const std::string &format = sides[i].runner.format;
    if (sides[i].model.empty())
      sides[i].model = format == "onnx"     ? onnxFor(model)
                       : format == "tflite" ? tfliteFor(model)
                                            : packageFor(references).path;
    if (format == "lathe")
      sides[i].call = sides[0].call;
  }
}

/// Inputs that are given, and extents of those that the laboratory makes. `open`: the package was compiled without --shape.
void bindInputs(CompareFlags &flags, const runtime::Model &loaded, bool open) {
  lab::CompareOptions &compare = flags.compare;
  std::vector<Value> values = gatherInputs(loaded.inputs(), flags.inputs, flags.model.shapes);
  // Of a model --shape is in the package; a package has symbolic extents still.
  bool shaped = !flags.model.shapes.empty() && !flags.model.isZoo() && (open || isPackage(flags.model.model));
  if (!flags.inputs.given.empty() || flags.inputs.fill != "random" || shaped)
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i].isTensor())
        compare.inputs[loaded.inputs()[i].name] = values[i].tensor();
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

/// The comparison at one size. Its report is printed, kept, and added to `documents` when it is finished or interrupted.
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
    lab::Tolerance byType = toleranceOf(sides, compare, model);
    compare.tolerance = {this->flags.relative.value_or(byType.relative), this->flags.maximum.value_or(byType.maximum)};
    problem = modelProblem(model, loaded->source(), shapesText(loaded->inputs(), compare));
    inputs = shapesText(loaded->inputs(), compare);
    setting = modelSetting(model, this->flags.inputs.batch, recordUse(*loaded));
    verification = verificationOf(*loaded);
  }

  /// Returns true if all outputs agree.
  bool run() {
    Progress progress("compare " + flags.model.model);
    lab::CompareOptions &compare = flags.compare;
    compare.progress = [&](const std::string &what, std::optional<double> left) { show(progress, what, left); };
    KeptWhenInterrupted<lab::Comparison> kept([&](const lab::Comparison &soFar) { report(soFar, false); });
    compare.afterStart = [&](const lab::Comparison &soFar) {
      // The signal ends the runners first, which would look like a failure of theirs.
      if (std::none_of(soFar.sides.begin(), soFar.sides.end(), [](auto &side) { return side.failure.has_value(); }))
        kept.update(soFar);
    };
    lab::Comparison comparison = lab::compare(sides, compare);
    kept.forget();
    report(comparison, true);
    return comparison.agrees();
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
    if (finished)
      recording.finish({comparison.otherProcessors, comparison.stolenProcessors});
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
      "  lathe compare model.tflite --check-only     beside TensorFlow Lite (docs/runner-protocol.md)\n");
  flags.add(options);
  options.parseAll(arguments);
  std::vector<Size> sizes = sizesOf(flags.batches, flags.model.shapes);
  Recording recording(flags.record, store::ExperimentKind::compare, "compare", arguments, flags.settings());

  std::vector<lab::CompareSide> sides = findSides(flags);
  bool open = severalShapes(flags.model.shapes);
  if (open)
    flags.model.shapes.clear(); // the package takes all of them
  std::string package = packageFor(flags.model).path;
  fillIn(sides, package, flags.model);
  flags.several = sizes.size() > 1;
  std::vector<nlohmann::json> documents;
  bool agree = true;
  for (const Size &size : sizes) {
    CompareFlags one = flags;
    one.inputs.batch = size.batch;
    one.model.shapes = size.shapes;
    agree &= SizeComparison(std::move(one), sides, package, options, recording, documents, open).run();
  }
  return agree ? success : failedVerdict;
}

} // namespace lathe::cli
