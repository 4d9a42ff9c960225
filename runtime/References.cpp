#include "runtime/References.h"

#include "support/Error.h"

#include <atomic>
#include <dlfcn.h>
#include <mutex>
#include <string>

// Weak: a fully static program has neither, and registers its references instead.
extern "C" {
__attribute__((weak)) void *dlopen(const char *, int);
__attribute__((weak)) void *dlsym(void *__restrict, const char *__restrict);
__attribute__((weak)) int dladdr(const void *, Dl_info *);
__attribute__((weak)) char *dlerror(void);
}

namespace lathe::runtime {
namespace {

std::atomic<const ReferenceProvider *> registered{nullptr};

constexpr const char *libraryName = "liblathe_references.so";

/// Beside the file that holds this code; by name alone (the system's search path) where that is unknown.
std::string libraryPath() {
  Dl_info info;
  if (dladdr && dladdr(reinterpret_cast<const void *>(&libraryPath), &info) && info.dli_fname) {
    std::string self = info.dli_fname;
    if (size_t slash = self.rfind('/'); slash != std::string::npos)
      return self.substr(0, slash + 1) + libraryName;
  }
  return libraryName;
}

const ReferenceProvider *loadLibrary() {
  require(dlopen && dlsym && dlerror,
          "reference operators are needed: a static program must link liblathe_references.a and register them");
  std::string path = libraryPath();
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library && path != libraryName)
    library = dlopen(libraryName, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    fail("reference operators are needed: cannot load {}: {}", path, reason ? reason : "unknown error");
  }
  using Entry = const ReferenceProvider *(*)(uint32_t);
  auto entry = reinterpret_cast<Entry>(dlsym(library, "lathe_reference_provider"));
  const ReferenceProvider *provider = entry ? entry(referenceAbi) : nullptr;
  require(provider != nullptr, "{}: another version than this runtime's ({})", path, referenceAbi);
  return provider; // stays loaded: prepared operators point into it
}

} // namespace

void setReferenceProvider(const ReferenceProvider *provider) { registered.store(provider); }

const ReferenceProvider &referenceProvider() {
  if (const ReferenceProvider *provider = registered.load())
    return *provider;
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (!registered.load())
    registered.store(loadLibrary());
  return *registered.load();
}

} // namespace lathe::runtime
