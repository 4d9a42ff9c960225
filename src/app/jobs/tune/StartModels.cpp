#include "jobs/tune/StartModels.h"

#include "jobs/Self.h"
#include "jobs/ShippedRecords.h"
#include "jobs/Terminal.h"
#include "support/Text.h"

namespace lathe::jobs {

std::string shippedModelName(const tune::ModelKind &kind) { return name(kind) + ".jsonl.gz"; }

/// Throws Error unless the models are those of the searcher.
static tune::TrainedModels modelsOf(const std::string &file, const std::string &searcher) {
  tune::TrainedModels models = tune::readModels(file);
  require(tune::modelKindOf(searcher) == models.kind, "{}: it has models of {}, the searcher is {}", file,
          name(models.kind), searcher);
  return models;
}

StartModels StartModels::ofFile(const std::string &file, const std::string &searcher) {
  try {
    return {modelsOf(file, searcher), file, false};
  } catch (const Error &error) {
    fail("--start-model {}", error.what());
  }
}

StartModels StartModels::shipped(const std::string &searcher) {
  std::optional<tune::ModelKind> kind = tune::modelKindOf(searcher);
  if (!kind || isSet(noRecordsVariable))
    return {};
  std::string file = (std::filesystem::path(shippedFolder("models")) / shippedModelName(*kind)).string();
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored))
    return {};
  try {
    return {modelsOf(file, searcher), file, true};
  } catch (const Error &error) {
    sayOnce("LATHE_NO_MODELS_SAID",
            fmt::format("lathe: searches without the trained models that came with it: {}", error.what()));
    return {};
  }
}

std::string StartModels::str() const {
  std::string text = fmt::format("the models in {}{}", printable(file), isShipped ? ", which came with lathe" : "");
  if (!models.leftOut.empty())
    text += fmt::format(" (without {}, whose algorithms have changed)", listed(models.leftOut));
  return text;
}

} // namespace lathe::jobs
