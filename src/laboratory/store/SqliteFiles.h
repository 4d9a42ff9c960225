// Checks and removes SQLite files that cannot be written or that are empty.
#pragma once

#include <string>

namespace lathe::store {

/// True if this process can write the SQLite file and create files beside it, as writing requires. If it cannot,
/// OpenMode::readOnly treats the file as unchanging, unless the files beside it (journals) have content.
bool mayWriteFile(const std::string &path);
/// Removes an SQLite file that no transaction has written to, and its journals beside it, unless another process
/// writes.
void removeIfEmpty(const std::string &path);

} // namespace lathe::store
