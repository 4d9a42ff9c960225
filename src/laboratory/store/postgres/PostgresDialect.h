// Converts SQL and texts of the store to PostgreSQL. Schema and statements exist once, in SQLite's dialect; these
// functions rewrite them.
#pragma once

#include <string>
#include <string_view>

namespace lathe::store {

/// Rewrites an SQL statement for PostgreSQL: `?` becomes $1, $2, ..., and instr becomes strpos.
std::string postgresStatement(std::string_view sql);

/// Translates the statements of a schema step from SQLite's SQL to PostgreSQL's. Types and identity columns get
/// PostgreSQL's names, and text columns are ordered by bytes. An index over long texts becomes an index over their
/// hashes, because PostgreSQL limits an index entry to 2704 bytes.
std::string postgresSchema(const std::string &step);

/// Encodes a text for PostgreSQL, whose texts cannot contain NUL: a NUL becomes U+FFFFE and '0', and U+FFFFE becomes
/// U+FFFFE and '1', so every text can be restored. Invalid UTF-8 is replaced (validUtf8).
std::string postgresText(std::string_view text);
/// Decodes a text that postgresText has encoded.
std::string textOfPostgres(std::string_view text);

} // namespace lathe::store
