// Stores the verdicts of `lathe verify` about packages, for verbs that time packages.
#pragma once

#include "runtime/Model.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace lathe::cache {

struct KeptVerdict {
  bool passed = false;
  std::string date; // date of the verdict, "2026-05-01"
  std::string summary;
  std::string mistrusted; // reason why equal outputs prove nothing; "": none
};

/// The model against whose results a package was verified.
struct Judge {
  uint64_t model = 0; // hash of the model's files, and of the flags that change its graph
  std::string source; // runtime::Model::source() of a package compiled from the model
};

/// Stores the verdict under a hash of the whole content of the package and the hash of the model. The bounds must be
/// the default ones (docs/numerics.md). Does nothing without a cache folder. Also does nothing if the constants of the
/// package were not checked, because its content is then uncertain.
void keepVerdict(const runtime::Model &package, const Judge &judge, const KeptVerdict &verdict);
/// Returns the verdict on a package when compared with this model; nothing if there is no readable verdict.
std::optional<KeptVerdict> keptVerdict(const runtime::Model &package, uint64_t model);
/// Returns a verdict on a package whose model is not given: one by a model with the name that the package states as
/// its source. Prefers the newest verdict that passed, then the newest one.
std::optional<KeptVerdict> keptVerdict(const runtime::Model &package);

nlohmann::json toJson(const KeptVerdict &verdict);
/// Reads a verdict from a JSON document that has its keys; returns nothing if the document has no verdict.
std::optional<KeptVerdict> verdictIn(const nlohmann::json &document);

} // namespace lathe::cache
