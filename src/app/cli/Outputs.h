// Outputs of a run: printed, and written to files.
#pragma once

#include "cli/Common.h"
#include "jobs/Inputs.h"

namespace lathe::cli {

/// Prints one line per output (if `print`) and adds the same to json["outputs"].
void printOutputs(std::span<const std::string> names, std::span<const Value> outputs, nlohmann::json &json, bool print);

/// Help text of options whose value goes to writeValues.
inline constexpr const char *outputHelp =
    "Write the outputs to FILE.npz, FOLDER/, or FILE.npy for a single one (-: .npy on standard output)";

/// Throws Error if writeValues cannot write `count` outputs to `path`. Call it before long work.
void requireValuesPath(const std::string &path, size_t count);

/// Writes values to `path`: an .npz file; an .npy file or the standard output ("-", as .npy) for a
/// single value; or NAME.npy files in a folder (existing, or created if the name ends in "/").
void writeValues(const std::string &path, std::span<const std::string> names, std::span<const Value> values);

} // namespace lathe::cli
