// Prints the table of a graph's repeated blocks.
#pragma once

#include "ir/SymbolicShapes.h"
#include "support/Table.h"

#include <nlohmann/json.hpp>

#include <string>

namespace lathe::cli {

/// Finds the repeated blocks of `main` (stage/Blocks.h). Returns a line with their number and a table; `list` becomes
/// the table as JSON, with details. Shares refer to `flops`, the operations of the whole graph. Open extents count as
/// 1.
std::string describeBlocks(mlir::func::FuncOp main, const nn::SymbolicShapes &shapes, double flops,
                           const TableStyle &style, nlohmann::json &list);

} // namespace lathe::cli
