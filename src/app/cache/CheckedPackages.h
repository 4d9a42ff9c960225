// Remembers in the cache folder which packages had their constants checked.
#pragma once

#include "runtime/Model.h"

namespace lathe::cache {

/// Remembers the checked packages: one small file for each, named by a hash of the package file's identity and
/// content. Without a cache folder nothing is remembered, and every load checks the constants. A user who can write to
/// the cache folder can also replace the packages in it, so the folder belongs to one user (support/CacheFolder.h).
class CheckedPackages : public runtime::CheckedFiles {
public:
  bool has(const runtime::FileIdentity &file, uint64_t content) override;
  void add(const runtime::FileIdentity &file, uint64_t content) override;
};

} // namespace lathe::cache
