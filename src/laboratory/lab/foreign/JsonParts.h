// Reads JSON documents of any size part by part: only one part is in memory at a time.
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <string>

namespace lathe::lab {

struct JsonParts {
  /// Name of the member of the root object that is the list of elements; "": the root is the list.
  std::string list;
  std::function<void(const nlohmann::json &element)> element;
  /// Receives the other members of the root object, wherever they stand. Not used if the root is the
  /// list.
  std::function<void(const std::string &key, const nlohmann::json &value)> member;
};

/// Line in which a file ended before its document did; 0: the document is whole.
using CutLine = size_t;

/// Reads a plain or compressed file. Throws Error with the file and the line for invalid JSON, for a part with more
/// than a million values or nested deeper than 64 levels, and for the errors that `parts` throw. A document without its
/// end is allowed: its whole parts have been given.
CutLine readJsonParts(const std::string &path, const JsonParts &parts);

} // namespace lathe::lab
