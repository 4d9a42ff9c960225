#include "cli/CompilerVerbs.h"
#include "cli/print/PredictPrint.h"

#include <iostream>

namespace lathe::cli {

int predictVerb(const Arguments &arguments) {
  PredictJob job;
  size_t rows = 10;
  Options options("predict",
                  "Predict the latency of one run of a model on this machine or on the one of --machine, without\n"
                  "running it: the cost model's prediction of every kernel, corrected by what was measured of other\n"
                  "networks, with an interval that holds 90 % of latencies (docs/predict.md).",
                  "  lathe predict resnet50.onnx --threads 2\n"
                  "  lathe predict zoo:bert_base --machine server.json --json -\n");
  addModel(options, job.model, ModelUse::predict);
  addStore(options, job.model);
  options
      .add_option("--points", job.points,
                  "Learn from this archive of measured networks (default: the one that comes with lathe for this kind "
                  "of machine)")
      ->type_name("FILE");
  options.reads([&job] { return job.points.empty() ? std::vector<std::string>{} : std::vector{job.points}; });
  options.add_option("--rows", rows, "Show this many of the most expensive kernels, 0 all")->capture_default_str();
  options.addShowing();
  options.parseAll(arguments);
  PredictedModel model = predictModel(job);
  if (options.printsText())
    std::cout << predictionText(job, model, options.tableStyle(rows));
  options.writeJson(predictionJson(job, model));
  return success;
}

} // namespace lathe::cli
