// The greatest elements of outputs, such as the scores of a classifier.
#pragma once

#include "cli/Common.h"
#include "runtime/Tensor.h"

#include <span>
#include <string>

namespace lathe::cli {

/// Adds the flag --print-top.
void addTop(Options &options, int64_t &count);

/// The `count` greatest elements along the last axis of every numeric tensor, with their positions, greatest first. Of
/// equal elements the lower position comes first; NaN comes last. Prints one line per row (if `print`), and adds "top",
/// a list of rows of {"index", "value"}, to json["outputs"], which printOutputs has written.
void printTop(std::span<const std::string> names, std::span<const Value> outputs, int64_t count, nlohmann::json &json,
              bool print);

} // namespace lathe::cli
