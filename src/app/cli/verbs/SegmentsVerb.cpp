// `lathe segments`: compares a network piece by piece with another runtime.
#include "cli/CompilerVerbs.h"
#include "cli/KeptWhenInterrupted.h"
#include "cli/Recording.h"
#include "cli/models/SegmentPlaces.h"
#include "cli/models/SideParts.h"
#include "cli/print/Describe.h"
#include "cli/print/GroupedWarnings.h"
#include "compile/Checkpoints.h"
#include "export/onnx/Export.h"
#include "import/Import.h"
#include "lab/StoreRecords.h"
#include "passes/interpret/Ports.h"
#include "process/TemporaryDirectory.h"
#include "runtime/Context.h"
#include "support/Text.h"

#include <iostream>

namespace lathe::cli {
namespace {

using nlohmann::json;

/// A part of the network, timed in both runtimes on the values that the whole network gives it.
struct Part {
  std::string from, to; // "" for the network's inputs or outputs
  size_t operators = 0;
  std::vector<std::string> inputs;
  lab::Comparison comparison;
  RecordUse records;

  const lab::Summary &time(size_t side) const { return comparison.sides[side].time; }
  const std::optional<lab::JudgedPair> &judged() const { return comparison.peers[0].judged; }
  std::optional<double> ratio() const { return judged() ? std::optional(judged()->ratio.ratio) : std::nullopt; }
};

class Segmenter {
public:
  Segmenter(const ModelFlags &model, const Source &source, const SegmentPlaces &places, const InputFlags &inputs,
            const lab::CompareOptions &compare, const lab::RunnerSpec &ours, const lab::RunnerSpec &peer,
            Recording &recording)
      : model(model), places(places), compare(compare), ours(ours), peer(peer), recording(recording) {
    std::vector<runtime::Port> ports = inputPorts(*source.module);
    values = gatherInputs(ports, inputs, model.shapes);
    if (recording.on()) {
      whole = modelProblem(model, sourceText(model, source), inputsText(ports, values));
      batch = inputs.batch;
    }
  }

  /// Measures the part behind `from` up to and including `to`; empty names mean the network's own ends.
  Part measure(const std::string &from, const std::string &to) {
    Cut cut = places.cut(from, to);
    Part part{from, to, cut.nodes, cut.inputs, {}, {}};
    lab::CompareOptions timing = compare;
    auto fed = runWhole(cut);
    for (size_t i = 0; i < cut.inputs.size(); ++i)
      timing.inputs[cut.inputs[i]] = fed.at(i).tensor();
    std::string stem = (directory.path / "part").string();
    lab::CompareSide theirs{peer, stem + ".onnx", {}};
    if (peer.reads("onnx")) {
      exportOnnxFile(*cut.module, stem + ".onnx");
    } else { // the peer runs a part of the original file
      theirs.model = model.model;
      theirs.part = {cut.inputs, to.empty() ? std::vector<std::string>{} : std::vector{to}};
    }
    lathe::compile(*cut.module, compileOptions(model, nullptr), stem + ".lathe");
    part.records = recordUse(*runtime::Model::load(stem + ".lathe"));
    auto call = [this](const std::vector<lab::CallInput> &inputs) { return callPackage(inputs); };
    part.comparison = lab::compare({{ours, stem + ".lathe", call}, theirs}, timing);
    record(part);
    return part;
  }

private:
  void record(const Part &part) {
    if (!recording.on())
      return;
    store::Problem problem = whole;
    problem.op = "segment";
    problem.text += fmt::format(" from {} to {}", part.from.empty() ? "the inputs" : part.from,
                                part.to.empty() ? "the outputs" : part.to);
    problem.detail["from"] = part.from;
    problem.detail["to"] = part.to;
    problem.detail["operators"] = part.operators;
    recording.add(lab::pointsOf(part.comparison, problem, modelSetting(model, batch, part.records)));
  }

  /// A package that only takes these inputs, which measures the cost of calling our runner.
  std::string callPackage(const std::vector<lab::CallInput> &inputs) const {
    ModelFlags call = callModel(model, directory.path.string(), inputs);
    std::string package = call.model + ".lathe";
    lathe::compile(*loadSource(call).module, compileOptions(call, nullptr), package);
    return package;
  }

  /// The values of the cut's inputs, then outputs, in a run of the whole network.
  std::vector<Value> runWhole(Cut &cut) {
    auto bytes = std::make_shared<std::vector<char>>();
    compileToBytes(*cut.whole, compileOptions(model, nullptr), *bytes);
    runtime::Context context(runtime::Model::fromBytes(*bytes, model.model, bytes, {.checkConstants = false}),
                             {.threads = model.threads});
    return context.run(values);
  }

  const ModelFlags &model;
  const SegmentPlaces &places;
  lab::CompareOptions compare;
  lab::RunnerSpec ours, peer;
  Recording &recording;
  store::Problem whole; // the network, as stored
  int64_t batch = 0;
  std::vector<Value> values;
  process::TemporaryDirectory directory{"segments"};
};

/// The mean of a part with its deviation, as text: "12.3 +- 0.4".
std::string meanText(const Part &part, size_t side) {
  const lab::Summary &time = part.time(side);
  if (time.count)
    return fmt::format("{:.3f} +- {:.3f}", time.mean * 1e3, time.standardDeviation * 1e3);
  return part.comparison.sides[side].failure ? "failed" : "-";
}

std::string ratioText(const Part &part) {
  for (const lab::SideResult &side : part.comparison.sides)
    if (side.failure)
      return side.name + " failed";
  if (!part.comparison.agrees())
    return "outputs differ";
  return part.judged()
             ? fmt::format("{:.3f} {}", *part.ratio(), verdictText(*part.judged(), isDisturbed(part.comparison)))
             : "";
}

json partJson(const Part &part) {
  json document = lab::toJson(part.comparison);
  document["from"] = part.from;
  document["to"] = part.to;
  document["operators"] = part.operators;
  document["inputs"] = part.inputs;
  return document;
}

/// Sentences about the blocks in which the peer is faster.
std::string turns(const std::vector<Part> &cumulative, const std::vector<Part> &blocks, const std::string &peer) {
  std::string text;
  for (size_t i = 1; i < cumulative.size(); ++i) {
    auto &before = cumulative[i - 1].judged(), &after = cumulative[i].judged();
    if (!before || !after || (before->ratio.ratio > 1) == (after->ratio.ratio > 1))
      continue;
    auto isOneOf = [&](lab::Verdict verdict) { return before->verdict == verdict || after->verdict == verdict; };
    if (!isOneOf(lab::Verdict::same))
      text += fmt::format("From the input to {} the ratio {}: {:.3f} before, {:.3f} with it.\n",
                          cumulative[i].to.empty() ? "the outputs" : cumulative[i].to,
                          isOneOf(lab::Verdict::ambiguous) ? "may turn (ambiguous)" : "turns", before->ratio.ratio,
                          after->ratio.ratio);
  }
  double best = 0; // the best speed that a block reaches
  for (const Part &block : blocks)
    if (block.ratio())
      best = std::max(best, *block.ratio());
  const Part *worst = nullptr;
  double lost = 0;
  for (const Part &block : blocks) {
    if (!block.ratio())
      continue;
    if (block.judged()->verdict == lab::Verdict::slower)
      text += fmt::format("{} is faster between {} and {}: ratio {:.3f}.\n", peer,
                          block.from.empty() ? "the input" : block.from, block.to.empty() ? "the outputs" : block.to,
                          *block.ratio());
    double over = block.time(0).median - block.time(1).median / best;
    if (over > lost) {
      lost = over;
      worst = &block;
    }
  }
  if (worst && blocks.size() > 1)
    text += fmt::format("Most would be gained between {} and {}: {:.3f} ms, were its ratio that of the best block.\n",
                        worst->from.empty() ? "the input" : worst->from, worst->to.empty() ? "the outputs" : worst->to,
                        lost * 1e3);
  return text;
}

/// The measured parts: from the inputs to each checkpoint, and the blocks between checkpoints.
struct Parts {
  std::vector<Part> cumulative, blocks; // blocks may have one entry less during measuring
};

struct SegmentFlags {
  ModelFlags model;
  InputFlags inputs;
  RecordFlags record;
  lab::CompareOptions compare;
  std::string with = "onnxruntime";
  std::vector<std::string> at;
  size_t count = 6;
  int repeat = 0;
  bool list = false;

  void add(Options &options) {
    compare.maxSeconds = 3;
    model.add(options, ModelUse::compile);
    inputs.add(options, "random");
    options
        .add_option(
            "--with", with,
            "Compare with this runner: onnxruntime, opencv, tflite for models of TensorFlow Lite, or tensorflowjs "
            "for models of TensorFlow and Keras")
        ->check(offers({"onnxruntime", "opencv", "tensorflowjs", "tflite"}))
        ->capture_default_str();
    options
        .add_option(
            "--checkpoints", count,
            "Place this many checkpoints, evenly over the operations, where a single tensor passes beside inputs")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    options
        .add_option("--at", at,
                    "Place the checkpoints behind these nodes or scopes, given in the order of the graph, in place of "
                    "--checkpoints")
        ->delimiter(',')
        ->type_name("NODE...");
    options.add_flag("--list", list, "Print the places where the network can be cut, and end");
    options
        .add_option("--repeat", repeat,
                    "Run each part this many times in each runtime, over six starts (default 0: until the verdict is "
                    "decided or --max-seconds have passed)")
        ->check(CLI::Range(0, 100000));
    options
        .add_option("--max-seconds", compare.maxSeconds,
                    "Time a part for at most this long, later starts of the runtimes included, in seconds")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    record.add(options, &model);
    options.addQuiet();
    options.addWide();
    options.addJson();
    options.afterParse([this, &options] { check(options); });
  }

private:
  void check(const Options &options) {
    if (list)
      options.refuse({"--input", "--fill", "--seed", "--batch", "--with", "--checkpoints", "--at", "--repeat",
                      "--max-seconds", "--store", "--no-store"},
                     "--list measures nothing");
    if (!at.empty())
      options.refuse({"--checkpoints"}, "--at names the checkpoints");
    if (!repeat)
      return;
    options.refuse({"--max-seconds"}, "--repeat decides how many runs there are");
    compare.minRounds = compare.maxRounds = compare.roundsInAll = repeat;
    compare.maxStarts = compare.minStarts;
    compare.roundSeconds = 0;
    compare.maxSeconds = 1e9;
  }
};

int listPlaces(const SegmentFlags &flags, const Source &source, const Options &options) {
  Table table(
      {textColumn("node").shrink(20), numberColumn("GFLOP so far").key("flops"), textColumn("one tensor passes")});
  for (const Checkpoint &point : checkpoints(*source.module))
    table.row({point.node, valueCell(fmt::format("{:.3f}", point.flops * 1e-9), point.flops),
               valueCell(point.separates ? "yes" : "", point.separates)});
  if (options.printsText())
    std::cout << table.str(options.tableStyle());
  options.writeJson({{"model", flags.model.model}, {"places", toJson(table)}});
  return success;
}

std::string partsTable(const Parts &parts, const std::string &with, const TableStyle &style) {
  Table table({textColumn("up to").shrink(10), numberColumn("operators").drop(3), numberColumn("", "ms"),
               numberColumn(with, "ms"), textColumn("ratio"), numberColumn("block: operators").drop(4),
               numberColumn("block: time", "ms").drop(1), numberColumn("block: " + with, "ms").drop(2),
               textColumn("block: ratio")});
  for (size_t i = 0; i < parts.cumulative.size(); ++i) {
    const Part &part = parts.cumulative[i];
    std::vector<TableCell> cells = {part.to.empty() ? "outputs" : part.to, std::to_string(part.operators),
                                    meanText(part, 0), meanText(part, 1), ratioText(part)};
    if (i < parts.blocks.size()) {
      const Part &block = parts.blocks[i];
      for (auto &cell : {std::to_string(block.operators), meanText(block, 0), meanText(block, 1), ratioText(block)})
        cells.push_back(cell);
    }
    table.row(cells);
  }
  return table.str(style);
}

/// The place of a part as text: "between relu1 and relu2".
std::string placeText(const Part &part) {
  return fmt::format("between {} and {}", part.from.empty() ? "the input" : part.from,
                     part.to.empty() ? "the outputs" : part.to);
}

/// Prints and writes the measurements.
void report(const Parts &parts, const SegmentFlags &flags, const Options &options, const Recording &recording,
            bool finished) {
  auto all = [&](auto visit) {
    for (auto *list : {&parts.cumulative, &parts.blocks})
      for (size_t i = list == &parts.blocks ? 1 : 0; i < list->size(); ++i) // the first block is the first part
        visit((*list)[i]);
  };
  if (options.printsText()) {
    std::cout << fmt::format("{}, {}; mean +- standard deviation; a ratio is {}'s time over ours\n", flags.model.model,
                             counted(flags.model.threads, "thread"), flags.with)
              << partsTable(parts, flags.with, options.tableStyle())
              << turns(parts.cumulative, parts.blocks, flags.with) << recording.line();
    if (std::string line = parts.cumulative.back().records.line(flags.model); !line.empty())
      std::cout << line << "\n";
    std::vector<PlacedWarnings> warnings;
    all([&](const Part &part) {
      bool agrees = part.comparison.agrees();
      if (!agrees)
        std::cout << placeText(part) << ":\n" << lab::describe(part.comparison, options.tableStyle());
      warnings.push_back({placeText(part), agrees ? lab::warningsOf(part.comparison) : std::vector<std::string>()});
    });
    for (const std::string &line : groupedWarnings(warnings))
      std::cout << fmt::format("warning, {}\n", line);
    std::cout << std::flush;
  }
  auto listOf = [](const std::vector<Part> &list) {
    json documents = json::array();
    for (const Part &part : list)
      documents.push_back(partJson(part));
    return documents;
  };
  options.writeJson({{"model", flags.model.model},
                     {"with", flags.with},
                     {"threads", flags.model.threads},
                     {"finished", finished},
                     {"cumulative", listOf(parts.cumulative)},
                     {"blocks", listOf(parts.blocks)}});
}

TensorOrigins originsOf(const ModelFlags &model) {
  return model.isZoo() ? TensorOrigins() : tensorOrigins(model.model, importOptions(model));
}

/// The nodes behind which the parts end; "" at the end stands for the outputs.
std::vector<std::string> partEnds(const SegmentFlags &flags, const Source &source, const SegmentPlaces &places) {
  std::vector<std::string> nodes = places.resolved(flags.at);
  if (nodes.empty())
    for (const Checkpoint &point : spreadCheckpoints(*source.module, flags.count))
      nodes.push_back(point.node);
  require(!nodes.empty(), "{}: has no place where a single tensor passes: give nodes with --at", flags.model.model);
  nodes.emplace_back();
  return nodes;
}

/// The other runtime, which reads ONNX or runs parts of a model in the model's own format.
lab::RunnerSpec peerOf(const SegmentFlags &flags) {
  lab::RunnerSpec peer = lab::runnerNamed(flags.with, "--with " + flags.with);
  if (peer.reads("onnx"))
    return peer;
  require(peer.name == "tensorflowjs" || peer.name == "tflite",
          "--with {}: expected onnxruntime or opencv, which read ONNX, tflite for a model of TensorFlow Lite, or "
          "tensorflowjs for a model of TensorFlow or Keras",
          flags.with);
  std::string format = flags.model.isZoo() ? "zoo" : modelFormat(flags.model.model);
  require(peer.reads(format), "--with {}: expected a model of {}, got {} (format {})", flags.with,
          peer.name == "tflite" ? "TensorFlow Lite" : "TensorFlow or Keras", flags.model.model, format);
  return withSignature(std::move(peer), flags.model);
}

/// The progress of a command: part `done` of `total`.
struct Stage {
  Progress progress;
  std::string name;
  size_t done = 0, total = 0;

  void begin(const std::string &what) {
    name = what;
    progress.update(name, done, total);
  }
};

bool agree(const std::vector<Part> &parts) {
  return std::all_of(parts.begin(), parts.end(), [](const Part &part) { return part.comparison.agrees(); });
}

} // namespace

int segmentsVerb(const Arguments &arguments) {
  SegmentFlags flags;
  Options options(
      "segments",
      "Time a network segment by segment, here and in another runtime: from the input to each checkpoint, and each\n"
      "block between two checkpoints alone, on the values that the whole network feeds it. The other runtime gets\n"
      "each part as ONNX, or runs it inside of a model of its own format. Outputs are compared at every\n"
      "checkpoint before anything is timed. The last lines name the checkpoints at which the ratio crosses 1, and the\n"
      "blocks that the other runtime computes faster. When interrupted, print and keep the parts that were measured.",
      "  lathe segments zoo:inception_v3 --with onnxruntime\n"
      "  lathe segments resnet50.onnx --checkpoints 16 --threads 2 --json segments.json\n"
      "  lathe segments model.onnx --at relu5,pool2 --repeat 200\n"
      "  lathe segments model.tflite --with tflite\n"
      "  lathe segments frozen.pb --with tensorflowjs --repeat 1     where do the outputs begin to differ?\n");
  flags.add(options);
  options.parseAll(arguments);
  Source source = loadSource(flags.model);
  if (flags.list)
    return listPlaces(flags, source, options);
  lab::RunnerSpec ours = lab::runnerNamed("lathe", "lathe"), peer = peerOf(flags);
  SegmentPlaces places(*source.module, originsOf(flags.model));
  std::vector<std::string> nodes = partEnds(flags, source, places);

  lab::CompareOptions &compare = flags.compare;
  compare.threads = flags.model.threads;
  Stage stage{Progress("segments " + flags.model.model), "", 0, 2 * nodes.size() - 1};
  compare.progress = [&](const std::string &what, std::optional<double>) {
    stage.progress.update(stage.name + ": " + what, stage.done, stage.total);
  };
  Recording recording(flags.record, store::ExperimentKind::segments, "segments", arguments,
                      {{"max_seconds", compare.maxSeconds},
                       {"starts", compare.minStarts},
                       {"repeat", flags.repeat},
                       {"fill", flags.inputs.fill},
                       {"seed", flags.inputs.seed}});
  recording.plan(2 * stage.total); // for both sides
  Segmenter segmenter(flags.model, source, places, flags.inputs, compare, ours, peer, recording);
  KeptWhenInterrupted<Parts> kept([&](const Parts &soFar) { report(soFar, flags, options, recording, false); });
  Parts parts;
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::string here = nodes[i].empty() ? "outputs" : nodes[i];
    stage.begin("up to " + here);
    parts.cumulative.push_back(segmenter.measure("", nodes[i]));
    kept.update(parts);
    ++stage.done;
    if (i > 0) {
      stage.begin("block before " + here);
      parts.blocks.push_back(segmenter.measure(nodes[i - 1], nodes[i]));
      ++stage.done;
    } else {
      parts.blocks.push_back(parts.cumulative[0]); // the first block begins at the inputs
    }
    kept.update(parts);
  }
  recording.finish();
  kept.forget();
  report(parts, flags, options, recording, true);
  return agree(parts.cumulative) && agree(parts.blocks) ? success : failedVerdict;
}

} // namespace lathe::cli
