// Prints a model's outputs: a line for each output, and its greatest elements, such as the decisions of a classifier.
#pragma once

#include "cli/flags/Options.h"
#include "runtime/Tensor.h"

#include <span>
#include <string>

namespace lathe::cli {

/// Prints one line per output of a model (if `print`) and adds the same to json["outputs"].
void printOutputs(std::span<const std::string> names, std::span<const Value> outputs, nlohmann::json &json, bool print);

/// Help text for options whose value is the path of a file that writeValues writes.
inline constexpr const char *outputHelp =
    "Write the outputs to FILE.npz, FOLDER/, or FILE.npy for a single one (-: .npy on standard output)";

/// Adds the flag --print-top.
void addTop(Options &options, int64_t &count);

/// The `count` greatest elements along the last axis of every numeric tensor, with their positions, greatest first. Of
/// equal elements the lower position comes first; NaN comes last. Prints one line per row (if `print`), and adds "top",
/// a list of rows of {"index", "value"}, to json["outputs"], which printOutputs has written.
void printTop(std::span<const std::string> names, std::span<const Value> outputs, int64_t count, nlohmann::json &json,
              bool print);

} // namespace lathe::cli
