#include "jobs/compare/SideParts.h"

#include "import/FileFormats.h"

namespace lathe::jobs {

lab::RunnerSpec withSignature(lab::RunnerSpec runner, const ModelOptions &flags) {
  if (runner.reads("savedmodel") && !flags.signature.empty())
    runner.command.argv.insert(runner.command.argv.end(), {"--signature", flags.signature});
  return runner;
}

void clearForeignFlags(ModelOptions &flags) {
  FormatOptions takes;
  if (!flags.isZoo() && !isPackage(flags.model))
    takes = fileFormat(flags.model, beginningOf(flags.model)).takes;
  if (!takes.requantizeRounding)
    flags.requantizeRounding = ModelOptions().requantizeRounding;
  if (!takes.signature)
    flags.signature.clear();
  if (!takes.custom)
    flags.custom.clear();
  if (!takes.overrides)
    flags.overrides.clear();
}

bool overrideDefaults(ModelOptions &flags, const std::vector<std::string> &names) {
  if (names.empty() || flags.isZoo() || modelFormat(flags.model) != "onnx")
    return false;
  for (const std::string &name : names)
    flags.overrides.push_back("?" + name);
  return true;
}

void leaveDefinitionsUnused(ModelOptions &flags) {
  for (std::string &text : flags.custom)
    if (!text.starts_with("?"))
      text.insert(0, "?");
}

ModelOptions flagsForOther(const ModelOptions &flags, const std::string &file) {
  ModelOptions other = flags;
  other.model = file;
  other.shapes.clear();
  clearForeignFlags(other);
  leaveDefinitionsUnused(other);
  return other;
}

ModelOptions callModel(const ModelOptions &flags, const std::string &folder,
                       const std::vector<lab::CallInput> &inputs) {
  ModelOptions call = flags;
  call.model = folder + "/call.onnx";
  // Clears flags that apply only to the model: extents, kernels, and options of its format.
  call.shapes.clear();
  call.schedule = {};
  call.signature.clear();
  call.custom.clear();
  call.overrides.clear();
  call.requantizeRounding = ModelOptions().requantizeRounding;
  writeFile(call.model, lab::callOnnx(inputs));
  return call;
}

} // namespace lathe::jobs
