#include "cli/models/SideParts.h"

namespace lathe::cli {

lab::RunnerSpec withSignature(lab::RunnerSpec runner, const ModelFlags &flags) {
  if (runner.reads("savedmodel") && !flags.signature.empty())
    runner.command.argv.insert(runner.command.argv.end(), {"--signature", flags.signature});
  return runner;
}

std::string optionalDefinition(const std::string &text) { return text.starts_with("?") ? text : "?" + text; }

ModelFlags flagsForOther(const ModelFlags &flags, const std::string &file) {
  const ModelFlags defaults;
  ModelFlags other = flags;
  other.model = file;
  other.shapes.clear();
  std::string format = other.isZoo() ? "zoo" : modelFormat(file);
  if (format != "tflite")
    other.requantizeRounding = defaults.requantizeRounding;
  if (format != "tflite" && format != "savedmodel")
    other.signature.clear();
  if (format != "keras")
    other.custom.clear();
  for (std::string &text : other.custom)
    text = optionalDefinition(text);
  return other;
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
