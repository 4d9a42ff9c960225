// Files of SQLite that cannot be written.
#pragma once

#include <string>

namespace lathe::store {

/// True if this process may change the file, and make the files beside it that this takes. Otherwise OpenMode::readOnly
/// takes the file as one that does not change, unless the files beside it have content.
bool mayWriteFile(const std::string &path);
/// Removes a file in which no transaction has left anything, with SQLite's files beside it, unless another process writes.
void removeIfEmpty(const std::string &path);

} // namespace lathe::store
