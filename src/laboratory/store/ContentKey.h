// Hash keys derived from content (equal on every machine for equal content), and random unique keys.
#pragma once

#include "support/archive/RecordArchive.h"

#include <string>
#include <string_view>

namespace lathe::store {

using lathe::contentKey, lathe::ContentHasher, lathe::parseDocument;

/// contentKey of a JSON document. Documents that differ only in the order of object members have
/// equal keys.
std::string documentKey(const nlohmann::json &document);

/// A random UUID (version 4), "f3b1c0de-...".
std::string newUuid();

/// Returns the current time in UTC, as "2026-11-22T00:31:04.123456Z". These texts sort by time, and a process never
/// gets the same text twice.
std::string timeNow();
/// A time in microseconds since 1970 as text, in the form of timeNow().
std::string timeText(int64_t microseconds);
/// True if `text` is a valid date and time in the form of timeNow().
bool isTime(std::string_view text);

/// Returns `text` with invalid UTF-8 replaced. Command lines and messages may contain any bytes,
/// JSON may not.
std::string validUtf8(const std::string &text);

} // namespace lathe::store
