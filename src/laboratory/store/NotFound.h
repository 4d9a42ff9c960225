// What is asked for by name is not in the store, which can be read all the same.
#pragma once

#include "support/Error.h"

namespace lathe::store {

class NotFound : public Error {
public:
  using Error::Error;
};

} // namespace lathe::store
