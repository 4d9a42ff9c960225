// Output of `lathe diff-models`: the differences of two models as text and as JSON.
#pragma once

#include "jobs/diff/ValueDiff.h"
#include "stage/diff/GraphDiff.h"
#include "support/Table.h"

#include <nlohmann/json.hpp>

#include <string>

namespace lathe::cli {

/// The differences of two graphs as text: the totals, then at most `lines` lines with one difference each.
std::string graphDiffText(const GraphDiff &diff, const std::string &a, const std::string &b, size_t lines);
nlohmann::json graphDiffJson(const GraphDiff &diff);

/// The differences of values as text: a table of the values, and where the error grows. `least` is the smallest value
/// that counts as an error.
std::string valueDiffText(const ValueDiff &diff, const std::string &a, const std::string &b, double least,
                          const TableStyle &style);
nlohmann::json valueDiffJson(const ValueDiff &diff, double least);

} // namespace lathe::cli
