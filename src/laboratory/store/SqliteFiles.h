// Files of SQLite that cannot be written.
#pragma once

#include <string>

namespace lathe::store {

/// True if this process can write the file, and create files beside it, as writing requires. Otherwise
/// OpenMode::readOnly treats the file as unchanging, unless the files beside it have content.
bool mayWriteFile(const std::string &path);
/// Removes a file that no transaction has written to, with SQLite's files beside it, unless another process writes.
void removeIfEmpty(const std::string &path);

} // namespace lathe::store
