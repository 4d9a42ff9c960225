// Error messages about JSON documents, for users.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace lathe {

/// The text of `error` without the library's name and number: "type must be string, but is number" for
/// "[json.exception.type_error.302] type must be string, but is number".
inline std::string messageOf(const nlohmann::json::exception &error) {
  std::string said = error.what();
  size_t end = said.starts_with("[json.exception.") ? said.find("] ") : said.npos;
  return end == said.npos ? said : said.substr(end + 2);
}

} // namespace lathe
