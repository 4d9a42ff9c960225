// Describes the operators on references and the variants of --specialize after a compilation.
#pragma once

#include "compile/Compile.h"

#include <nlohmann/json.hpp>

#include <string>

namespace lathe::cli {

/// A line for each operator that runs on its reference.
std::string referencesText(const std::vector<ReferenceUse> &references);
nlohmann::json referencesJson(const std::vector<ReferenceUse> &references);

/// Returns a line for each variant: its extents, kernels and reference calls; "" if the package has no variant.
std::string variantsText(const CompileReport &report);
nlohmann::json variantsJson(const CompileReport &report);

} // namespace lathe::cli
