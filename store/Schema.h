// The tables (docs/store.md) and the migrations of older files.
#pragma once

#include "store/Sqlite.h"

#include <span>
#include <vector>

namespace lathe::store {

/// SQL that upgrades a file from version i to version i + 1, for every i; version 0 is an empty
/// file. Only append steps: files of every version exist.
std::span<const char *const> schemaSteps();

/// Returns the schema version of a file (0: empty). Throws Error for a newer version and for a
/// database of another program. Does not write.
int64_t schemaVersion(Database &database, std::span<const char *const> steps = schemaSteps());

/// Upgrades an empty or older file to the version after the last of `steps`, in one transaction, so
/// other processes see either version. Throws the errors of schemaVersion before any change.
void migrate(Database &database, std::span<const char *const> steps = schemaSteps());

} // namespace lathe::store
