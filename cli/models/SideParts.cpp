#include "cli/models/SideParts.h"

namespace lathe::cli {

lab::RunnerSpec withSignature(lab::RunnerSpec runner, const ModelFlags &flags) {
  if (runner.reads("savedmodel") && !flags.signature.empty())
    runner.command.argv.insert(runner.command.argv.end(), {"--signature", flags.signature});
  return runner;
}

ModelFlags callModel(const ModelFlags &flags, const std::string &folder, const std::vector<lab::CallInput> &inputs) {
  ModelFlags call = flags;
  call.model = folder + "/call.onnx";
  // What only the model has: its extents, its kernels, and what its format knows.
  call.shapes.clear();
  call.scheduleFile.clear();
  call.signature.clear();
  call.custom.clear();
  call.requantizeRounding = ModelFlags().requantizeRounding;
  writeFile(call.model, lab::callOnnx(inputs));
  return call;
}

} // namespace lathe::cli
