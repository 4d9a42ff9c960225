// Conversion of TensorFlow's numbers of types to element types.
#pragma once

#include "support/ElementType.h"

#include <string>

namespace lathe::tensorflow {

/// TensorFlow's numbers of types that Lathe's tensors do not have.
inline constexpr int32_t resourceType = 20, variantType = 21;

/// The element type for TensorFlow's number of a type; `invalid` for types that Lathe does not have. A reference type
/// (a number above 100) gives the type that it refers to.
ElementType elementType(int64_t code);
/// TensorFlow's name for its type number `code`, such as "float"; also for unknown numbers.
std::string typeName(int64_t code);

} // namespace lathe::tensorflow
