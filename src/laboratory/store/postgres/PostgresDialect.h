// PostgreSQL's dialect of our SQL, and its texts. Schema and statements exist once, as SQLite takes
// them; these functions rewrite them.
#pragma once

#include <string>
#include <string_view>

namespace lathe::store {

/// Rewrites a statement: `?` becomes $1, $2, ..., and instr becomes strpos.
std::string postgresStatement(std::string_view sql);

/// Translates the statements of a schema step from SQLite's SQL to PostgreSQL's. Types and identity columns get
/// PostgreSQL's names, and columns of texts get an order by bytes. An index over long texts becomes an index over their
/// hashes, because PostgreSQL limits an entry of an index to 2704 bytes.
std::string postgresSchema(const std::string &step);

/// PostgreSQL's texts hold no NUL. A NUL becomes U+FFFFE and '0', and U+FFFFE becomes U+FFFFE and
/// '1', so every text comes back as it was. Invalid UTF-8 is replaced (validUtf8).
std::string postgresText(std::string_view text);
/// The inverse.
std::string textOfPostgres(std::string_view text);

} // namespace lathe::store
