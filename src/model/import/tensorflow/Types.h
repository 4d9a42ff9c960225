// Element types by TensorFlow's numbers.
#pragma once

#include "support/ElementType.h"

#include <string>

namespace lathe::tensorflow {

/// Numbers of TensorFlow's types that Lathe's tensors do not have.
inline constexpr int32_t resourceType = 20, variantType = 21;

/// The element type of TensorFlow's number; `invalid` for types that Lathe does not have. A reference type (a number
/// above 100) gives the type it refers to.
ElementType elementType(int64_t code);
/// Name of the type with a number, such as "float"; also for unknown numbers.
std::string typeName(int64_t code);

} // namespace lathe::tensorflow
