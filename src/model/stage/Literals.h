// Attributes of operators and small constants as literals in staged source.
#pragma once

#include "ir/Bridge.h"
#include "stage/Program.h"

#include <optional>

namespace lathe::staging {

struct AttributeLiteral {
  std::string name;
  Literal value;
  bool isDefault;
};

/// All attributes of an operator as literals, in the order of the operator's record.
std::vector<AttributeLiteral> attributeLiterals(mlir::Operation *op);

/// A constant as a literal if it is readable: a few integers or booleans, one real number, or one element that fills
/// the extents. Nothing for other constants.
std::optional<ConstantLiteral> constantLiteral(mlir::ElementsAttr elements);

} // namespace lathe::staging
