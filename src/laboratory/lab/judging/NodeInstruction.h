// Finds the instruction that computes a node of the model, for `verify --output` and `profile --until`.
#pragma once

#include "runtime/Context.h"

#include <optional>
#include <string>

namespace lathe::lab {

/// The number of the last instruction in the context's plan that computes `node`, the name of a node or of a kernel.
/// Nothing if there is none.
std::optional<uint32_t> instructionOf(const runtime::Context &context, const std::string &node);

} // namespace lathe::lab
