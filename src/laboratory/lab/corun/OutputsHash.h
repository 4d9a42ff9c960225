// A hash of a model's outputs, by which processes compare them bit by bit.
#pragma once

#include "runtime/Context.h"

#include <string>

namespace lathe::lab {

/// Hash of names, types, extents and bits of the outputs of the last run, as text. Throws Error for an output that is
/// not a tensor.
std::string outputsHash(const runtime::Context &context);

} // namespace lathe::lab
