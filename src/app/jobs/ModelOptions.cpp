#include "jobs/ModelOptions.h"

#include "cache/CheckedPackages.h"
#include "jobs/Progress.h"
#include "jobs/Terminal.h"
#include "runtime/Cpu.h"
#include "support/Text.h"

namespace lathe::jobs {

runtime::LoadOptions ModelOptions::loadOptions() const {
  static cache::CheckedPackages checked;
  runtime::LoadOptions options;
  options.checkConstants = checkConstants != "never";
  options.checkedFiles = checkConstants == "once" ? &checked : nullptr;
  return options;
}

Arguments ModelOptions::compileArguments() const {
  Arguments result = argumentsOf(*this), graph = graphArguments();
  result.insert(result.end(), graph.begin(), graph.end());
  return result;
}

Arguments ModelOptions::recordArguments() const {
  if (!takesRecords())
    return referencesOnly ? Arguments{} : Arguments{"--no-records"};
  return store.empty() ? Arguments{} : Arguments{"--store", store};
}

Arguments ModelOptions::graphArguments() const {
  Arguments result;
  for (const std::string &shape : shapes)
    result.insert(result.end(), {"--shape", shape});
  for (const std::string &name : overrides)
    result.insert(result.end(), {"--override", name});
  if (requantizeRounding != "reference")
    result.insert(result.end(), {"--requantize-rounding", requantizeRounding});
  if (!signature.empty())
    result.insert(result.end(), {"--signature", signature});
  for (const std::string &text : custom)
    result.insert(result.end(), {"--custom", text});
  if (!isZoo())
    return result;
  result.insert(result.end(), {"--zoo-seed", std::to_string(zooSeed)});
  if (zooBatch)
    result.insert(result.end(), {"--zoo-batch", std::to_string(zooBatch)});
  if (zooSequence)
    result.insert(result.end(), {"--zoo-sequence", std::to_string(zooSequence)});
  return result;
}

std::map<std::string, std::string> customDefinitions(const std::vector<std::string> &texts) {
  std::map<std::string, std::string> result;
  for (const std::string &text : texts) {
    size_t equals = text.find('=');
    require(equals != 0 && equals != std::string::npos && equals + 1 < text.size(),
            "--custom {}: expected the name of a class and a file, as Scale=scale.mlir", text);
    require(result.emplace(text.substr(0, equals), text.substr(equals + 1)).second, "--custom {}: given twice for '{}'",
            text, text.substr(0, equals));
  }
  return result;
}

void sayIfCrowded(int64_t threads, size_t processors) {
  if (processors == 0)
    processors = size_t(runtime::availableCpus());
  if (threads > int64_t(processors) && !Progress::isSilent())
    sayOnce("LATHE_CROWDED_SAID",
            fmt::format("lathe {}: --threads {}: this process may use {}, so that threads wait for "
                        "each other",
                        shownVerb(), threads, counted(int64_t(processors), "processor")));
}

} // namespace lathe::jobs
