// Attributes and small constants as literals of source.
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

/// The attributes of an operator as literals, all of them, in the order of its record.
std::vector<AttributeLiteral> attributeLiterals(mlir::Operation *op);

/// A constant that is readable as a literal: a few integers or booleans, one real, or one element that fills the
/// extents.
std::optional<ConstantLiteral> constantLiteral(mlir::ElementsAttr elements);

} // namespace lathe::staging
