// Stores the verdicts of `lathe verify`, for verbs that time packages.
#pragma once

#include "runtime/Model.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace lathe::cache {

struct KeptVerdict {
  bool passed = false;
  std::string date; // "2026-05-01"
  std::string summary;
  std::string mistrusted; // reason why equal outputs prove nothing; "": none
};

/// Stores the verdict under a hash of the whole content of the package. Does nothing without a
/// cache folder, and if the constants of the package were not checked, because its content is then
/// uncertain.
void keepVerdict(const runtime::Model &package, const KeptVerdict &verdict);
/// Returns nothing if there is no verdict or it cannot be read.
std::optional<KeptVerdict> keptVerdict(const runtime::Model &package);

nlohmann::json toJson(const KeptVerdict &verdict);
/// Reads a verdict from a document with these keys; nothing if it has none.
std::optional<KeptVerdict> verdictIn(const nlohmann::json &document);

} // namespace lathe::cache
