// What `lathe verify` found for a package, kept for those that time it.
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
  std::string mistrusted; // why nothing follows from equal outputs; "" where something does
};

/// Keeps the verdict by a hash of all of the package's content. Not being able to is no error: there is no cache
/// folder, or the package's constants were not checked, so that it may be another package than it says.
void keepVerdict(const runtime::Model &package, const KeptVerdict &verdict);
/// Nothing where none was kept or it cannot be read.
std::optional<KeptVerdict> keptVerdict(const runtime::Model &package);

nlohmann::json toJson(const KeptVerdict &verdict);
/// From a document that holds those keys among others; nothing where it does not.
std::optional<KeptVerdict> verdictIn(const nlohmann::json &document);

} // namespace lathe::cache
