// Parts that the sources of the compiler's C interface share: errors as status codes, and options.
#pragma once

#include "compile/Compile.h"
#include "import/Import.h"
#include "lathe/compiler.h"
#include "support/Error.h"

#include <exception>
#include <new>
#include <string>

namespace lathe::capi {

/// Keeps `message` for a later call of lathe_compiler_last_error on this thread, and returns `status`.
lathe_status failed(lathe_status status, const std::string &message);

/// Calls `body`, the code of a C function. An exception becomes a status code with a message.
template <class Body> lathe_status guarded(Body body) {
  try {
    return body();
  } catch (const Error &error) {
    return failed(LATHE_FAILED, error.what());
  } catch (const std::bad_alloc &) {
    return failed(LATHE_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception &error) {
    return failed(LATHE_INTERNAL_ERROR, error.what());
  } catch (...) {
    return failed(LATHE_INTERNAL_ERROR, "an unknown exception");
  }
}

struct Parsed {
  CompileOptions compile;
  ImportOptions import;
};

/// Makes the compiler's and the importer's options from the C structure; null means default options.
Parsed parse(const lathe_compile_options *given);
/// Returns the error in a C structure of options that no version of this library accepts; "" if there is none.
std::string mistakeIn(const lathe_compile_options *given);

} // namespace lathe::capi
