// The nodes of a model that are not supported, and what is known of the model without them.
#pragma once

#include "cli/CompilerVerbs.h"

namespace lathe::cli {

/// A table of the nodes, and a table of their operators. json["unsupported"] and json["unsupported_operators"] receive them.
std::string describeUnsupported(const std::vector<ImportIssue> &issues, const TableStyle &style, nlohmann::json &json);
/// A line on what else is left out of `module`, which was imported without the nodes, and how to change that; "" if nothing
/// is. json["left_behind"] and json["unknown_values"] receive it.
std::string describeLeftBehind(mlir::ModuleOp module, nlohmann::json &json);

/// Both, where the model is without the nodes; "" where there are none.
std::string describeLeftOut(const std::vector<ImportIssue> &issues, mlir::ModuleOp module, const TableStyle &style,
                            nlohmann::json &json);

} // namespace lathe::cli
