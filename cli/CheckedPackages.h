// Packages whose constants were found to have their hash, remembered in the cache folder between commands.
#pragma once

#include "runtime/Model.h"

namespace lathe::cli {

/// One small file a package, named by what identifies the file and its content. Where there is no cache folder nothing
/// is remembered and every load checks. Whoever can write the folder can also replace the packages in it: the cache
/// folder is the user's own (support/CacheFolder.h).
class CheckedPackages : public runtime::CheckedFiles {
public:
  bool has(const runtime::FileIdentity &file, uint64_t content) override;
  void add(const runtime::FileIdentity &file, uint64_t content) override;
};

} // namespace lathe::cli
