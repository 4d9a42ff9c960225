// Describes the unsupported nodes of a model, and the model without them.
#pragma once

#include "cli/CompilerVerbs.h"

namespace lathe::cli {

/// Describes unsupported nodes as text: a table of the nodes, and a table of their operators. Adds both to the JSON as
/// "unsupported" and "unsupported_operators".
std::string describeUnsupported(const std::vector<ImportIssue> &issues, const TableStyle &style, nlohmann::json &json);
/// Returns a line about further nodes that are missing in `module`, which was imported without the unsupported nodes,
/// and how to include them; "" if none is missing. Also writes json["left_behind"] and json["unknown_values"].
std::string describeLeftBehind(mlir::ModuleOp module, nlohmann::json &json);

/// Returns the texts of both functions above if unsupported nodes were left out; "" if there are none.
std::string describeLeftOut(const std::vector<ImportIssue> &issues, mlir::ModuleOp module, const TableStyle &style,
                            nlohmann::json &json);

} // namespace lathe::cli
