#include "jobs/segments/Segments.h"

#include "compile/Checkpoints.h"
#include "export/onnx/Export.h"
#include "jobs/KeptWhenInterrupted.h"
#include "jobs/compare/SideParts.h"
#include "jobs/segments/SegmentPlaces.h"
#include "lab/StoreRecords.h"
#include "passes/interpret/Ports.h"
#include "process/TemporaryDirectory.h"
#include "runtime/Context.h"

namespace lathe::jobs {
namespace {

class Segmenter {
public:
  Segmenter(const ModelOptions &model, const Source &source, const SegmentPlaces &places, const InputOptions &inputs,
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

  /// From behind `from` to behind `to`; empty names: the network's own ends.
  SegmentPart measure(const std::string &from, const std::string &to) {
    Cut cut = places.cut(from, to);
    SegmentPart part{from, to, cut.nodes, cut.inputs, {}, {}};
    lab::CompareOptions timing = compare;
    auto fed = runWhole(cut);
    for (size_t i = 0; i < cut.inputs.size(); ++i)
      timing.inputs[cut.inputs[i]] = fed.at(i).tensor();
    std::string stem = (directory.path / "part").string();
    lab::CompareSide theirs{peer, stem + ".onnx", {}};
    if (peer.reads("onnx")) {
      exportOnnxFile(*cut.module, stem + ".onnx");
    } else { // it runs a part of the original file
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
  void record(const SegmentPart &part) {
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

  /// A package that only has such inputs: what calling our runner costs.
  std::string callPackage(const std::vector<lab::CallInput> &inputs) const {
    ModelOptions call = callModel(model, directory.path.string(), inputs);
    std::string package = call.model + ".lathe";
    lathe::compile(*loadSource(call).module, compileOptions(call, nullptr), package);
    return package;
  }

  /// What the cut's inputs, then outputs hold in a run of the whole.
  std::vector<Value> runWhole(Cut &cut) {
    auto bytes = std::make_shared<std::vector<char>>();
    compileToBytes(*cut.whole, compileOptions(model, nullptr), *bytes);
    runtime::Context context(runtime::Model::fromBytes(*bytes, model.model, bytes, {.checkConstants = false}),
                             {.threads = model.threads});
    return context.run(values);
  }

  const ModelOptions &model;
  const SegmentPlaces &places;
  lab::CompareOptions compare;
  lab::RunnerSpec ours, peer;
  Recording &recording;
  store::Problem whole; // the network, as it is kept
  int64_t batch = 0;
  std::vector<Value> values;
  process::TemporaryDirectory directory{"segments"};
};

TensorOrigins originsOf(const ModelOptions &model) {
  return model.isZoo() ? TensorOrigins() : tensorOrigins(model.model, importOptions(model));
}

/// Behind which the parts end; "" last: the outputs.
std::vector<std::string> partEnds(const SegmentJob &flags, const Source &source, const SegmentPlaces &places) {
  std::vector<std::string> nodes = places.resolved(flags.at);
  if (nodes.empty())
    for (const Checkpoint &point : spreadCheckpoints(*source.module, flags.count))
      nodes.push_back(point.node);
  require(!nodes.empty(), "{}: has no place where a single tensor passes: give nodes with --at", flags.model.model);
  nodes.emplace_back();
  return nodes;
}

/// The other runtime: it reads ONNX, or runs parts of a model in its own format.
lab::RunnerSpec peerOf(const SegmentJob &flags) {
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

/// Progress of part `done` of `total`.
struct Stage {
  Progress progress;
  std::string name;
  size_t done = 0, total = 0;

  void begin(const std::string &what) {
    name = what;
    progress.update(name, done, total);
  }
};

bool agree(const std::vector<SegmentPart> &parts) {
  return std::all_of(parts.begin(), parts.end(), [](const SegmentPart &part) { return part.comparison.agrees(); });
}

} // namespace

bool segments(const SegmentJob &job, const Source &source, const SegmentReport &report) {
  lab::RunnerSpec ours = lab::runnerNamed("lathe", "lathe"), peer = peerOf(job);
  SegmentPlaces places(*source.module, originsOf(job.model));
  std::vector<std::string> nodes = partEnds(job, source, places);

  lab::CompareOptions compare = job.compare;
  compare.threads = job.model.threads;
  Stage stage{Progress("segments " + job.model.model), "", 0, 2 * nodes.size() - 1};
  compare.progress = [&](const std::string &what, std::optional<double>) {
    stage.progress.update(stage.name + ": " + what, stage.done, stage.total);
  };
  Recording recording(job.record, store::ExperimentKind::segments, "segments", job.command,
                      {{"max_seconds", compare.maxSeconds},
                       {"starts", compare.minStarts},
                       {"repeat", job.repeat},
                       {"fill", job.inputs.fill},
                       {"seed", job.inputs.seed}});
  recording.plan(2 * stage.total); // of both sides
  Segmenter segmenter(job.model, source, places, job.inputs, compare, ours, peer, recording);
  KeptWhenInterrupted<Segments> kept([&](const Segments &soFar) { report(soFar, false, recording.line()); });
  Segments parts;
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
  report(parts, true, recording.line());
  return agree(parts.cumulative) && agree(parts.blocks);
}

} // namespace lathe::jobs
