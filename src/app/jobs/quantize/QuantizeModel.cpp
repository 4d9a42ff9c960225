#include "jobs/quantize/QuantizeModel.h"

#include "export/onnx/Export.h"
#include "jobs/Source.h"
#include "passes/interpret/Ports.h"
#include "support/PendingFile.h"

#include <cmath>

namespace lathe::jobs {
namespace {

using quantize::Report;

nlohmann::json settings(const QuantizeJob &job) {
  return {{"method", job.method},
          {"percentile", job.quantization.percentile},
          {"activations", job.activationType},
          {"symmetric", job.quantization.symmetricActivations},
          {"per_channel", job.quantization.perChannel},
          {"reduce_range", job.quantization.reduceRange},
          {"dynamic", job.quantization.dynamic},
          {"equalize", job.quantization.equalize},
          {"bias_correction", job.biasCorrection},
          {"excluded", job.excluded},
          {"max_drop", job.quantization.maxDrop.value_or(-1)},
          {"min_cosine", job.quantization.minCosine},
          {"only_faster", job.quantization.onlyFaster},
          {"samples", job.samples.most},
          {"random_crops", job.samples.crops},
          {"seed", job.samples.seed}};
}

/// The quantised model as a point of the float model: how near it is, and what was quantised.
store::Point pointOf(const Report &report, const QuantizeJob &job, const store::Problem &problem) {
  store::Point point;
  point.problem = problem;
  point.provider = "lathe";
  point.providerVersion = LATHE_VERSION;
  point.setting = modelSetting(job.model, 0, {});
  point.setting.type = job.activationType;
  point.status = store::PointStatus::passed;
  const quantize::Fidelity &fidelity = report.fidelity;
  point.figures = {{"layers", static_cast<double>(report.layers.size())},
                   {"quantized_layers", static_cast<double>(report.quantizedLayers())},
                   {"inputs", static_cast<double>(fidelity.inputs)},
                   {"cosine", fidelity.cosine},
                   {"least_cosine", fidelity.leastCosine},
                   {"centred_cosine", fidelity.centred},
                   {"least_centred_cosine", fidelity.leastCentred},
                   {"changed_decisions", static_cast<double>(fidelity.changed)}};
  if (report.floatSeconds)
    point.figures["speedup"] = *report.floatSeconds / *report.intSeconds;
  std::erase_if(point.figures, [](const auto &figure) { return !std::isfinite(figure.second); });
  return point;
}

} // namespace

Quantized quantizeModel(QuantizeJob job) {
  requireOnnxName(job.output);
  PendingFile::check(job.output);

  Recording recording(job.record, store::ExperimentKind::quantize, "quantize", job.command, settings(job));
  Progress progress("quantize " + job.model.model);
  Source source = loadSource(job.model);
  store::Problem problem =
      modelProblem(job.model, sourceText(job.model, source), job.samples.path.empty() ? "random inputs" : "calibrated");
  job.samples.shapes = job.model.shapes;
  std::vector<runtime::Port> ports = inputPorts(*source.module);
  job.samples.pictures.takeFrom(job.model.model);
  auto samples = loadSamples(
      ports, job.samples, [&](size_t done, size_t total) { progress.update("reading inputs", done, total); },
      &job.quantization.inputNames);
  job.quantization.check = [&](mlir::ModuleOp graph) { requireOnnxForm(graph, job.model.model); };
  job.quantization.compile = compileOptions(job.model, nullptr);
  job.quantization.progress = [&](const std::string &what, size_t done, size_t total) {
    progress.update(what, done, total);
  };
  // Random numbers are cheap: the comparison gets others than the calibration.
  decltype(samples) others;
  if (job.samples.path.empty() || job.samples.crops) {
    SampleOptions fresh = job.samples;
    fresh.seed += 1;
    others = loadSamples(ports, fresh, {});
  }
  Report report = quantize::quantizeModel(*source.module, samples, job.quantization, others);
  exportOnnxFile(*source.module, job.output);
  recording.add({pointOf(report, job, problem)});
  recording.finish();
  return {std::move(report), recording.line()};
}

} // namespace lathe::jobs
