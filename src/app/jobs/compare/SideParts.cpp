#include "cli/models/SideParts.h"

#include "import/FileFormats.h"

namespace lathe::cli {

lab::RunnerSpec withSignature(lab::RunnerSpec runner, const ModelFlags &flags) {
  if (runner.reads("savedmodel") && !flags.signature.empty())
    runner.command.argv.insert(runner.command.argv.end(), {"--signature", flags.signature});
  return runner;
}

void clearForeignFlags(ModelFlags &flags) {
  FormatOptions takes;
  if (!flags.isZoo() && !isPackage(flags.model))
    takes = fileFormat(flags.model, beginningOf(flags.model)).takes;
  if (!takes.requantizeRounding)
    flags.requantizeRounding = ModelFlags().requantizeRounding;
  if (!takes.signature)
    flags.signature.clear();
  if (!takes.custom)
    flags.custom.clear();
  if (!takes.overrides)
    flags.overrides.clear();
}

bool overrideDefaults(ModelFlags &flags, const std::vector<std::string> &names) {
  if (names.empty() || flags.isZoo() || modelFormat(flags.model) != "onnx")
    return false;
  for (const std::string &name : names)
    flags.overrides.push_back("?" + name);
  return true;
}

void leaveDefinitionsUnused(ModelFlags &flags) {
  for (std::string &text : flags.custom)
    if (!text.starts_with("?"))
      text.insert(0, "?");
}

ModelFlags flagsForOther(const ModelFlags &flags, const std::string &file) {
  ModelFlags other = flags;
  other.model = file;
  other.shapes.clear();
  clearForeignFlags(other);
  leaveDefinitionsUnused(other);
  return other;
}

ModelFlags callModel(const ModelFlags &flags, const std::string &folder, const std::vector<lab::CallInput> &inputs) {
  ModelFlags call = flags;
  call.model = folder + "/call.onnx";
  // What only the model has: its extents, its kernels, and what its format knows.
  call.shapes.clear();
  call.schedule = {};
  call.signature.clear();
  call.custom.clear();
  call.overrides.clear();
  call.requantizeRounding = ModelFlags().requantizeRounding;
  writeFile(call.model, lab::callOnnx(inputs));
  return call;
}

} // namespace lathe::cli
