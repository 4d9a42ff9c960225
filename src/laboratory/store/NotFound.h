// Error for a name that the store does not have; the store itself is readable.
#pragma once

#include "support/Error.h"

namespace lathe::store {

class NotFound : public Error {
public:
  using Error::Error;
};

} // namespace lathe::store
