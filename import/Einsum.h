#pragma once

#include "import/Node.h"

namespace lathe::source {

/// Einstein's summation over named axes, as numpy.einsum: "bij,bjk->bik", with an ellipsis for axes without names.
mlir::Value einsum(Node &node, const std::string &equation, const Values &operands);

} // namespace lathe::source
