// Element types by TensorFlow's numbers.
#pragma once

#include "support/ElementType.h"

#include <string>

namespace lathe::tensorflow {

/// Numbers of types that Lathe's tensors do not have.
inline constexpr int32_t resourceType = 20, variantType = 21;

/// Returns `invalid` for types that Lathe does not have. A reference type (a number above 100) gives the type it refers
/// to.
ElementType elementType(int64_t code);
/// A name such as "float", also for unknown numbers.
std::string typeName(int64_t code);

} // namespace lathe::tensorflow
