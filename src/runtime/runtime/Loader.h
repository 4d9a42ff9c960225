// Reads a package from a file or from memory. Checks everything before it maps anything.
#pragma once

#include "package/Package.h"
#include "runtime/MappedKernel.h"
#include "runtime/Model.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lathe::runtime {

/// A memory mapping, unmapped by the destructor.
class Mapping {
public:
  Mapping() = default;
  Mapping(void *address, size_t bytes) : address(address), length(bytes) {}
  Mapping(Mapping &&other) noexcept;
  Mapping &operator=(Mapping &&other) noexcept;
  ~Mapping();
  char *data() const { return static_cast<char *>(address); }
  size_t bytes() const { return length; }
  /// Maps `bytes` of anonymous zeroed pages. Throws Error with `what` when memory is exhausted.
  static Mapping allocate(size_t bytes, const std::string &what);

private:
  void *address = nullptr;
  size_t length = 0;
};

struct LoadedPackage {
  std::vector<char> plan;          // bytes of the plan section; its hash is checked, but nothing is decoded
  std::span<const char> constants; // the constants of the package, in `constantPages` or in the caller's memory
  Mapping constantPages;
  std::shared_ptr<const void> keepAlive;
  ExecutableCode code;                 // machine code of all kernels; empty if the package has none
  std::vector<uint64_t> entries;       // byte offset of each kernel in `code`
  std::string target;                  // target for which the chosen code section was compiled
  std::optional<uint64_t> contentHash; // hash of header and section table; empty if the constants were not checked
};

LoadedPackage loadPackageFile(const std::string &path, const LoadOptions &options);
LoadedPackage loadPackageBytes(std::span<const char> bytes, const std::string &name,
                               std::shared_ptr<const void> keepAlive, const LoadOptions &options);

} // namespace lathe::runtime
