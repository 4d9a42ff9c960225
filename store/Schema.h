// The tables (docs/store.md) and how older files come to have them.
#pragma once

#include "store/Sqlite.h"

#include <span>
#include <vector>

namespace lathe::store {

/// SQL that brings a file from version i to version i + 1, for every i; version 0 is an empty file. Steps are only ever
/// added: files out there are of every version.
std::span<const char *const> schemaSteps();

/// The version of a file (0: empty). Throws Error for a newer one and for a database of another program; reads only.
int64_t schemaVersion(Database &database, std::span<const char *const> steps = schemaSteps());

/// Brings a file that is empty or older to the version after the last of `steps`, in one transaction: another process
/// sees the old version or the new one. Throws Error as schemaVersion does, before anything is changed.
void migrate(Database &database, std::span<const char *const> steps = schemaSteps());

} // namespace lathe::store
