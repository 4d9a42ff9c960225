// A cache of machine code of kernels on disk, shared by all models.
//
// The key of an entry is the text of the generated loops, the target, and the files of this library
// and of LLVM. Everything that changes the code of a kernel (schedule, option, build) therefore
// changes the key. Entries are checked when they are read; a damaged entry is removed and made
// again. Several programs may use a folder at once. Cached code is trusted as packages are, so the
// folder must belong to the user.
#pragma once

#include "codegen/target/Target.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lathe {

class KernelCache {
public:
  /// Size limit of a cache folder in bytes; above it, the least recently used entries are removed.
  static constexpr uintmax_t limit = uintmax_t(256) << 20;

  /// Uses the cache in `folder`, which is created by the first `store`. "": finds and stores nothing.
  KernelCache(const std::string &folder, const Target &target);
  /// Removes the least recently used entries above `limit` if the cache has stored something.
  ~KernelCache();
  KernelCache(const KernelCache &) = delete;
  KernelCache &operator=(const KernelCache &) = delete;

  bool enabled() const { return !folder.empty(); }
  /// Number of entries that `find` has returned.
  int found() const { return hits; }

  /// Returns the cached object code of `loops` (the text of a kernel's module); nothing if it is not cached.
  std::optional<std::vector<char>> find(const std::string &loops);
  /// Stores `object`, the object code of `loops`. Does nothing if the folder cannot be written.
  void store(const std::string &loops, std::span<const char> object);

  /// Path of the file for the object code of `loops`, whether the file exists or not.
  std::string pathOf(const std::string &loops) const;

private:
  std::string folder, common; // folder of the cache; text with which every key begins
  int hits = 0;
  bool stored = false;
};

} // namespace lathe
