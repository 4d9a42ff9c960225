// The database tables of a store (docs/store.md) and the migrations of older stores.
#pragma once

#include "store/Database.h"

#include <span>
#include <vector>

namespace lathe::store {

/// SQL that upgrades a store from version i to version i + 1, for every i; version 0 is an empty
/// file or database. Only append steps: stores of every version exist. The text is SQLite's dialect
/// (store/postgres/PostgresDialect.h translates it). On a server, a step that inserts rows with ids must set
/// the sequence of the ids, too.
std::span<const char *const> schemaSteps();

/// Returns the schema version of a store (0: empty). Throws Error for a newer version and for a
/// database of another program. Does not write.
int64_t schemaVersion(Database &database, std::span<const char *const> steps = schemaSteps());

/// Upgrades an empty or older store to the version after the last of `steps`, in one transaction, so
/// other processes see either version. Throws the errors of schemaVersion before any change.
void migrate(Database &database, std::span<const char *const> steps = schemaSteps());

} // namespace lathe::store
