// Describes the variants of a package (--specialize) after its compilation.
#pragma once

#include "compile/Compile.h"

#include <nlohmann/json.hpp>

#include <string>

namespace lathe::cli {

/// Returns a line for each variant: its extents, kernels and reference calls; "" if the package has no variant.
std::string variantsText(const CompileReport &report);
nlohmann::json variantsJson(const CompileReport &report);

} // namespace lathe::cli
