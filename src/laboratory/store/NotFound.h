// Error for the name of an object, such as an experiment, that a store does not contain; the store itself is
// readable.
#pragma once

#include "support/Error.h"

namespace lathe::store {

class NotFound : public Error {
public:
  using Error::Error;
};

} // namespace lathe::store
