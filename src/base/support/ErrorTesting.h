// Helpers for tests of error messages.
#pragma once

#include "support/Error.h"

#include <string>

namespace lathe {

/// Returns the message of the Error that `work` throws; "no error" if it throws none.
template <class Work> std::string errorOf(Work work) {
  try {
    work();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

} // namespace lathe
