// `lathe segments`: a network piece by piece, here and in another runtime.
#include "cli/CompilerVerbs.h"
#include "cli/Recording.h"
#include "compile/Checkpoints.h"
#include "export/onnx/Export.h"
#include "import/Import.h"
#include "lab/StoreRecords.h"
#include "lab/TemporaryDirectory.h"
#include "passes/interpret/Extract.h"
#include "runtime/Context.h"
#include "support/Text.h"

#include <iostream>

namespace lathe::cli {
namespace {

using nlohmann::json;

/// A part of the network, timed in both runtimes on what the whole feeds it.
struct Part {
  std::string from, to; // "" for the network's inputs or outputs
  size_t operators = 0;
  std::vector<std::string> inputs;
  lab::Comparison comparison;

  const lab::Summary &time(size_t side) const { return comparison.sides[side].time; }
  const std::optional<lab::RatioEstimate> &ratio() const { return comparison.peers[0].ratio; }
  lab::Verdict verdict() const { return comparison.peers[0].verdict; }
};

class Segmenter {
public:
  Segmenter(const ModelFlags &model, Source &source, const InputFlags &inputs, const lab::CompareOptions &compare,
            const lab::RunnerSpec &ours, const lab::RunnerSpec &peer, Recording &recording)
      : model(model), source(source), compare(compare), ours(ours), peer(peer), recording(recording) {
    std::vector<runtime::Port> ports = inputPorts(*source.module);
    values = gatherInputs(ports, inputs, model.shapes);
    if (recording.on()) {
      whole = modelProblem(model, sourceText(model, source), inputsText(ports, values));
      setting = modelSetting(model, inputs.batch);
    }
    if (!model.isZoo())
      origins = tensorOrigins(model.model);
  }

  /// From behind `from` to behind `to`; empty names: the network's own ends.
  Part measure(const std::string &from, const std::string &to) {
    CutOptions options;
    if (!from.empty())
      options.from = {from + ":0"}; // its result, not the node itself
    if (!to.empty())
      options.to = {to};
    options.tensors = origins;
    Cut cut = cutGraph(*source.module, options);
    Part part{from, to, cut.nodes, cut.inputs, {}};
    lab::CompareOptions timing = compare;
    auto fed = runWhole(cut);
    for (size_t i = 0; i < cut.inputs.size(); ++i)
      timing.inputs[cut.inputs[i]] = fed.at(i).tensor();
    std::string stem = (directory.path / "part").string();
    exportOnnxFile(*cut.module, stem + ".onnx");
    lathe::compile(*cut.module, compileOptions(model, nullptr), stem + ".lathe");
    part.comparison = lab::compare({{ours, stem + ".lathe", {}}, {peer, stem + ".onnx", {}}}, timing);
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
    recording.add(lab::pointsOf(part.comparison, problem, setting));
  }

  /// What the cut's inputs, then outputs hold in a run of the whole.
  std::vector<Value> runWhole(Cut &cut) {
    auto bytes = std::make_shared<std::vector<char>>();
    compileToBytes(*cut.whole, compileOptions(model, nullptr), *bytes);
    runtime::Context context(runtime::Model::fromBytes(*bytes, model.model, bytes, {.checkConstants = false}),
                             {.threads = model.threads});
    return context.run(values);
  }

  const ModelFlags &model;
  Source &source;
  lab::CompareOptions compare;
  lab::RunnerSpec ours, peer;
  Recording &recording;
  store::Problem whole; // the network, as it is kept
  store::Setting setting;
  std::vector<Value> values;
  TensorOrigins origins;
  lab::TemporaryDirectory directory{"segments"};
};

/// "12.3 +- 0.4"
std::string meanText(const Part &part, size_t side) {
  const lab::Summary &time = part.time(side);
  return time.count ? fmt::format("{:.3f} +- {:.3f}", time.mean * 1e3, time.standardDeviation * 1e3) : "failed";
}

std::string ratioText(const Part &part) {
  if (!part.comparison.agrees())
    return "outputs differ";
  return part.ratio() ? fmt::format("{:.3f} {}", part.ratio()->ratio, name(part.verdict())) : "";
}

json partJson(const Part &part) {
  json document = lab::toJson(part.comparison);
  document["from"] = part.from;
  document["to"] = part.to;
  document["operators"] = part.operators;
  document["inputs"] = part.inputs;
  return document;
}

/// Where the peer overtakes: sentences about the blocks.
std::string turns(const std::vector<Part> &cumulative, const std::vector<Part> &blocks, const std::string &peer) {
  std::string text;
  for (size_t i = 1; i < cumulative.size(); ++i) {
    auto &before = cumulative[i - 1].ratio(), &after = cumulative[i].ratio();
    if (before && after && (before->ratio > 1) != (after->ratio > 1))
      text += fmt::format("From the input to {} the ratio turns: {:.3f} before, {:.3f} with it.\n",
                          cumulative[i].to.empty() ? "the outputs" : cumulative[i].to, before->ratio, after->ratio);
  }
  double best = 0; // the speed that one of the blocks shows to be possible
  for (const Part &block : blocks)
    if (block.ratio())
      best = std::max(best, block.ratio()->ratio);
  const Part *worst = nullptr;
  double lost = 0;
  for (const Part &block : blocks) {
    if (!block.ratio())
      continue;
    if (block.verdict() == lab::Verdict::slower)
      text += fmt::format("{} is faster between {} and {}: ratio {:.3f}.\n", peer,
                          block.from.empty() ? "the input" : block.from, block.to.empty() ? "the outputs" : block.to,
                          block.ratio()->ratio);
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

} // namespace

int segmentsVerb(const Arguments &arguments) {
  ModelFlags model;
  InputFlags inputs;
  RecordFlags record;
  lab::CompareOptions compare;
  compare.maxSeconds = 3;
  std::string with = "onnxruntime";
  std::vector<std::string> at;
  size_t count = 6;
  int repeat = 0;
  bool list = false;
  Options options("segments",
                  "Time a network segment by segment, here and in another runtime: from the input to each checkpoint, "
                  "and each block\n"
                  "between two checkpoints alone, on the values that the whole network feeds it. The other runtime "
                  "gets each part as\n"
                  "ONNX. Outputs are compared at every checkpoint before anything is timed. The last lines say where "
                  "the ratio turns.",
                  "  lathe segments zoo:inception_v3 --with onnxruntime\n"
                  "  lathe segments resnet50.onnx --checkpoints 16 --threads 2 --json segments.json\n"
                  "  lathe segments model.onnx --at relu5,pool2 --repeat 200\n");
  model.add(options, ModelUse::compile);
  inputs.add(options, "random");
  options.add_option("--with", with, "Compare with this runner: onnxruntime")->capture_default_str();
  options
      .add_option("--checkpoints", count,
                  "Place this many checkpoints, evenly over the operations, where a single tensor passes")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  options.add_option("--at", at, "Place the checkpoints behind these nodes instead, in order")
      ->delimiter(',')
      ->type_name("NODE...");
  options.add_flag("--list", list, "Print the places where the network can be cut, and end");
  options
      .add_option("--repeat", repeat,
                  "Run each part this often in each runtime (0: until --max-seconds or the ratio is known to 1 %)")
      ->check(CLI::Range(0, 100000));
  options.add_option("--max-seconds", compare.maxSeconds, "Time a part for at most this long, in seconds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  record.add(options);
  options.addQuiet();
  options.addWide();
  options.addJson();
  options.afterParse([&] {
    if (list)
      options.refuse({"--input", "--fill", "--seed", "--batch", "--with", "--checkpoints", "--at", "--repeat",
                      "--max-seconds", "--store", "--no-store"},
                     "--list measures nothing");
    if (!at.empty())
      options.refuse({"--checkpoints"}, "--at names the checkpoints");
    if (repeat)
      options.refuse({"--max-seconds"}, "--repeat decides how many runs there are");
  });
  options.parseAll(arguments);
  require(with == "onnxruntime", "--with {}: expected onnxruntime, which reads ONNX", with);

  Source source = loadSource(model);
  if (list) {
    Table table({textColumn("node").shrink(20), numberColumn("GFLOP so far"), textColumn("one tensor passes")});
    json places = json::array();
    for (const Checkpoint &point : checkpoints(*source.module)) {
      table.row({point.node, fmt::format("{:.3f}", point.flops * 1e-9), point.separates ? "yes" : ""});
      places.push_back({{"node", point.node}, {"flops", point.flops}, {"one_tensor_passes", point.separates}});
    }
    if (options.printsText())
      std::cout << table.str(options.tableStyle());
    options.writeJson({{"model", model.model}, {"places", places}});
    return success;
  }
  lab::RunnerSpec ours = lab::runnerNamed("lathe", "lathe"), peer = lab::runnerNamed(with, "--with " + with);
  std::vector<std::string> nodes = at;
  if (nodes.empty())
    for (const Checkpoint &point : spreadCheckpoints(*source.module, count))
      nodes.push_back(point.node);
  require(!nodes.empty(), "{}: has no place where a single tensor passes: give nodes with --at", model.model);
  nodes.emplace_back(); // the outputs

  compare.threads = model.threads;
  if (repeat) {
    compare.minRounds = compare.maxRounds = repeat;
    compare.roundSeconds = 0;
    compare.maxSeconds = 1e9;
  }
  Progress progress("segments " + model.model);
  size_t done = 0, total = 2 * nodes.size() - 1;
  std::string stage;
  compare.progress = [&](const std::string &what) { progress.update(stage + ": " + what, done, total); };
  Recording recording(record, store::ExperimentKind::segments, "segments", arguments,
                      {{"max_seconds", compare.maxSeconds},
                       {"min_rounds", compare.minRounds},
                       {"max_rounds", compare.maxRounds},
                       {"fill", inputs.fill},
                       {"seed", inputs.seed}});
  Segmenter segmenter(model, source, inputs, compare, ours, peer, recording);
  std::vector<Part> cumulative, blocks;
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::string here = nodes[i].empty() ? "outputs" : nodes[i];
    stage = "up to " + here;
    progress.update(stage, done, total);
    cumulative.push_back(segmenter.measure("", nodes[i]));
    ++done;
    stage = "block before " + here;
    if (i > 0) {
      blocks.push_back(segmenter.measure(nodes[i - 1], nodes[i]));
      ++done;
    } else {
      blocks.push_back(cumulative[0]); // the first block begins at the inputs
    }
  }

  recording.finish();

  bool agrees = true;
  json parts = json::array(), blockParts = json::array();
  Table table({textColumn("up to").shrink(10), numberColumn("operators").drop(3), numberColumn("", "ms"),
               numberColumn(with, "ms"), textColumn("ratio"), numberColumn("block: operators").drop(4),
               numberColumn("block: time", "ms").drop(1), numberColumn("block: " + with, "ms").drop(2),
               textColumn("block: ratio")});
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Part &part = cumulative[i], &block = blocks[i];
    agrees &= part.comparison.agrees() && block.comparison.agrees();
    table.row({nodes[i].empty() ? "outputs" : nodes[i], std::to_string(part.operators), meanText(part, 0),
               meanText(part, 1), ratioText(part), std::to_string(block.operators), meanText(block, 0),
               meanText(block, 1), ratioText(block)});
    parts.push_back(partJson(part));
    blockParts.push_back(partJson(block));
  }
  if (options.printsText()) {
    std::cout << fmt::format("{}, {}; mean +- standard deviation; a ratio is {}'s time over ours\n", model.model,
                             counted(model.threads, "thread"), with)
              << table.str(options.tableStyle()) << turns(cumulative, blocks, with) << recording.line();
    for (auto *list : {&cumulative, &blocks})
      for (const Part &part : *list)
        if (!part.comparison.agrees())
          std::cout << fmt::format("between {} and {}:\n{}", part.from.empty() ? "the input" : part.from,
                                   part.to.empty() ? "the outputs" : part.to,
                                   lab::describe(part.comparison, options.tableStyle()));
  }
  options.writeJson({{"model", model.model},
                     {"with", with},
                     {"threads", model.threads},
                     {"cumulative", parts},
                     {"blocks", blockParts}});
  return agrees ? success : failedVerdict;
}

} // namespace lathe::cli
