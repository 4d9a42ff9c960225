// The differences of two models as lines and as JSON.
#pragma once

#include "stage/diff/GraphDiff.h"

#include <nlohmann/json.hpp>

#include <string>

namespace lathe::cli {

/// Totals, then one line for each difference: at most `lines` of them.
std::string graphDiffText(const GraphDiff &diff, const std::string &a, const std::string &b, size_t lines);
nlohmann::json graphDiffJson(const GraphDiff &diff);

} // namespace lathe::cli
