#include "store/postgres/Libpq.h"

#include "support/Error.h"

#include <dlfcn.h>

namespace lathe::store {

const Libpq &libpq(const std::string &place) {
  static const char *const file = "libpq.so.5";
  static void *library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  require(library != nullptr, "{}: {} is not installed (Debian: libpq5)", place, file);
  static const Libpq functions = [&] {
    Libpq found;
#define LATHE_LIBPQ_LOAD(NAME)                                                                                         \
  found.NAME = reinterpret_cast<decltype(found.NAME)>(::dlsym(library, "PQ" #NAME));                                   \
  require(found.NAME != nullptr, "{}: {} has no PQ" #NAME, place, file);
    LATHE_LIBPQ(LATHE_LIBPQ_LOAD)
#undef LATHE_LIBPQ_LOAD
    return found;
  }();
  return functions;
}

} // namespace lathe::store
