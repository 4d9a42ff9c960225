#include "jobs/ModelOptions.h"

#include "cache/CheckedPackages.h"
#include "support/Error.h"

#include <nlohmann/json.hpp>

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

/// Calls visit(key, field) for every field that CompileChoices does not have.
template <class Options, class Visit> static void visitModel(Options &options, Visit &&visit) {
  visit("model", options.model);
  visit("shapes", options.shapes);
  visit("overrides", options.overrides);
  visit("requantize_rounding", options.requantizeRounding);
  visit("signature", options.signature);
  visit("custom", options.custom);
  visit("no_cache", options.noCache);
  visit("no_records", options.noRecords);
  visit("store", options.store);
  visit("zoo_batch", options.zooBatch);
  visit("zoo_sequence", options.zooSequence);
  visit("zoo_seed", options.zooSeed);
  visit("leave_out", options.leaveOut);
  visit("makes_code", options.makesCode);
  visit("package", options.package);
  visit("check_constants", options.checkConstants);
}

void to_json(nlohmann::json &json, const ModelOptions &options) {
  json = static_cast<const CompileChoices &>(options);
  visitModel(options, [&](const char *key, const auto &field) { json[key] = field; });
}

void from_json(const nlohmann::json &json, ModelOptions &options) {
  json.get_to(static_cast<CompileChoices &>(options));
  visitModel(options, [&](const char *key, auto &field) { json.at(key).get_to(field); });
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

} // namespace lathe::jobs
