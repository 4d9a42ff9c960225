// Element types by TensorFlow's numbers.
#pragma once

#include "support/ElementType.h"

#include <string>

namespace lathe::tensorflow {

/// Numbers of types that tensors of ours do not have.
inline constexpr int32_t resourceType = 20, variantType = 21;

/// `invalid` for types without an element type of ours. References (a number above 100) are what they refer to.
ElementType elementType(int64_t code);
/// "float", also for numbers that are no type.
std::string typeName(int64_t code);

} // namespace lathe::tensorflow
