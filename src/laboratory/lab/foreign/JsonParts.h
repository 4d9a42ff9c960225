// Reads JSON documents of any size part by part, with only one part in memory at a time.
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <string>

namespace lathe::lab {

struct JsonParts {
  /// Name of the member of the root object that is the list of elements; "": the root is the list.
  std::string list;
  std::function<void(const nlohmann::json &element)> element;
  /// Function that receives each other member of the root object, wherever it stands. Not called if the root is the
  /// list.
  std::function<void(const std::string &key, const nlohmann::json &value)> member;
};

/// Number of the line at which a file was truncated inside its document; 0: the document is complete.
using CutLine = size_t;

/// Reads a JSON file, plain or compressed, part by part. Throws Error with the file and the line for invalid JSON, for
/// a part with more than a million values or nested deeper than 64 levels, and for errors that `parts` throw. A
/// truncated document is allowed: its complete parts were delivered.
CutLine readJsonParts(const std::string &path, const JsonParts &parts);

} // namespace lathe::lab
