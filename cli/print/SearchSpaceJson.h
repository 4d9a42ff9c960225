// The search spaces of a model as JSON (docs/kernels.md, "The search space").
#pragma once

#include "compile/SearchSpace.h"

#include <nlohmann/json.hpp>

namespace lathe::cli {

nlohmann::json spacesJson(const std::vector<KernelSpace> &spaces);

} // namespace lathe::cli
