// Machine code of kernels, kept on disk for all models: two networks that hold the same kernel lower it once.
//
// An entry is found by the text of the generated loops, the target and the compiler that lowers them (this library's
// and LLVM's files), so whatever changes a kernel's code - its schedule, an option, another build - asks for another
// entry. Entries are checked when they are read: what is damaged is removed and made again. Any number of programs may
// use a folder at once. As with packages, code that is found is trusted: the folder must be the user's own.
#pragma once

#include "codegen/target/Target.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lathe {

class KernelCache {
public:
  /// The bytes a folder may hold; those used longest ago go first.
  static constexpr uintmax_t limit = uintmax_t(256) << 20;

  /// `folder` "": finds and keeps nothing. It is made when something is stored.
  KernelCache(const std::string &folder, const Target &target);
  /// Prunes the folder where something was stored.
  ~KernelCache();
  KernelCache(const KernelCache &) = delete;
  KernelCache &operator=(const KernelCache &) = delete;

  bool enabled() const { return !folder.empty(); }
  /// Entries that `find` has returned.
  int found() const { return hits; }

  /// The object made of `loops` (a module's text).
  std::optional<std::vector<char>> find(const std::string &loops);
  /// Keeps `object`; does nothing where the folder cannot be written.
  void store(const std::string &loops, std::span<const char> object);

  /// Where the entry of `loops` is kept.
  std::string pathOf(const std::string &loops) const;

private:
  std::string folder, common; // common: what all keys begin with
  int hits = 0;
  bool stored = false;
};

} // namespace lathe
