#include "runtime/References.h"

#include "support/Error.h"

#include <atomic>
#include <dlfcn.h>
#include <mutex>
#include <string>
#include <vector>

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

/// Where the library may lie: beside the file that holds this code, in the lib folder of the program that does, where
/// the system looks.
std::vector<std::string> libraryPaths() {
  std::vector<std::string> paths;
  Dl_info info;
  if (dladdr && dladdr(reinterpret_cast<const void *>(&libraryPaths), &info) && info.dli_fname) {
    std::string self = info.dli_fname;
    size_t slash = self.rfind('/');
    std::string folder = slash == std::string::npos ? "./" : self.substr(0, slash + 1);
    for (const char *place : {"", "../lib/", "../lib/" LATHE_MULTIARCH "/", "../lib64/"})
      paths.push_back(folder + place + libraryName);
  }
  paths.push_back(libraryName);
  return paths;
}

const ReferenceProvider *loadLibrary() {
  require(dlopen && dlsym && dlerror,
          "reference operators are needed: a static program must link liblathe_references.a and register them");
  std::string reasons;
  for (const std::string &path : libraryPaths()) {
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      const char *reason = dlerror();
      reasons = reason ? reason : "unknown error";
      continue;
    }
    using Entry = const ReferenceProvider *(*)(uint32_t);
    auto entry = reinterpret_cast<Entry>(dlsym(library, "lathe_reference_provider"));
    const ReferenceProvider *provider = entry ? entry(referenceAbi) : nullptr;
    require(provider != nullptr, "{}: another version than this runtime's ({})", path, referenceAbi);
    return provider; // stays loaded: prepared operators point into it
  }
  fail("reference operators are needed: cannot load {}: {}", libraryName, reasons);
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
