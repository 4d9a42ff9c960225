// Describes the inputs and outputs of models and packages.
#pragma once

#include "runtime/Model.h"

#include <nlohmann/json.hpp>

#include <span>
#include <string>

namespace lathe::cli {

/// Returns one line per input or output, such as "input  data: f32 1x3x224x224", and adds the same to `list`. `what`:
/// "input" or "output".
std::string describePorts(const char *what, std::span<const runtime::Port> ports, nlohmann::json &list);

} // namespace lathe::cli
