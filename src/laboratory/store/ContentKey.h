// Keys derived from content (equal on every machine for equal content), and unique keys.
#pragma once

#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace lathe::store {

/// Hashes all bytes given, in order: XXH3-128 as 32 hexadecimal digits. The hash finds damage and duplicates; it is not
/// cryptographic.
class ContentHasher {
public:
  ContentHasher();
  ~ContentHasher();
  void update(std::string_view bytes);
  std::string digest() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

std::string contentKey(std::string_view bytes);
/// The contentKey of a JSON document. Documents that differ only in the order of object members have equal keys.
std::string documentKey(const nlohmann::json &document);

/// Parses a JSON document. Returns a discarded value (is_discarded) for invalid JSON and for
/// documents nested deeper than 64 levels, because code that walks documents is recursive.
nlohmann::json parseDocument(std::string_view text);

/// Makes a random UUID (version 4), "f3b1c0de-...".
std::string newUuid();

/// The current time in UTC, as "2026-11-22T00:31:04.123456Z". These texts sort by time, and a process never gets the
/// same text twice.
std::string timeNow();
/// A time in microseconds since 1970 as text, in the form of timeNow().
std::string timeText(int64_t microseconds);
/// True if `text` is a valid date and time in the form of timeNow().
bool isTime(std::string_view text);

/// Returns `text` with invalid UTF-8 replaced. Command lines and messages may contain any bytes,
/// JSON may not.
std::string validUtf8(const std::string &text);

} // namespace lathe::store
