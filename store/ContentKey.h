// Keys that follow from content (equal content has equal keys, on every machine) and keys that nothing else has.
#pragma once

#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace lathe::store {

/// XXH3-128 of all bytes given, in order, as 32 hexadecimal digits. Not cryptographic: it finds damage and duplicates,
/// not forgery.
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
/// Of a document: keys are sorted, so the order in which it was made does not matter.
std::string documentKey(const nlohmann::json &document);

/// The JSON document that `text` holds; discarded (is_discarded) where it holds none, or one whose lists and objects
/// lie more than 64 deep in one another: code that walks documents calls itself once a level.
nlohmann::json parseDocument(std::string_view text);

/// A random UUID (version 4), "f3b1c0de-...".
std::string newUuid();

/// Now, UTC, "2026-11-22T00:31:04.123456Z": as text in the order of time.
std::string timeNow();
/// Of that form, in the ranges of a calendar.
bool isTime(std::string_view text);

/// `text` with what is not UTF-8 replaced: command lines and messages may hold any bytes, JSON may not.
std::string validUtf8(const std::string &text);

} // namespace lathe::store
