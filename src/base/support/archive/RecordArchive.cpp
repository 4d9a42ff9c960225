#include "support/archive/RecordArchive.h"

#include "support/Error.h"
#include "support/File.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cctype>

namespace lathe {

using nlohmann::json;

struct ContentHasher::State {
  XXH3_state_t xxh; // carries its own 64-byte alignment
};

ContentHasher::ContentHasher() : state(std::make_unique<State>()) { XXH3_128bits_reset(&state->xxh); }
ContentHasher::~ContentHasher() = default;

void ContentHasher::update(std::string_view bytes) {
  if (!bytes.empty())
    XXH3_128bits_update(&state->xxh, bytes.data(), bytes.size());
}

std::string ContentHasher::digest() const {
  XXH128_hash_t hash = XXH3_128bits_digest(&state->xxh);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string contentKey(std::string_view bytes) {
  ContentHasher hasher;
  hasher.update(bytes);
  return hasher.digest();
}

/// The largest number of open brackets outside of strings.
static size_t nestingOf(std::string_view text) {
  size_t open = 0, most = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"')
      inString = !inString;
    else if (inString)
      i += c == '\\'; // skips the escaped character
    else if (c == '[' || c == '{')
      most = std::max(most, ++open);
    else if ((c == ']' || c == '}') && open)
      --open;
  }
  return most;
}

json parseDocument(std::string_view text) {
  constexpr size_t deepest = 64;
  if (nestingOf(text) > deepest)
    return json(json::value_t::discarded);
  return json::parse(text, nullptr, false);
}

json archiveManifest(const std::string &path, const std::optional<std::string> &line) {
  json document = line ? parseDocument(*line) : json();
  require(document.is_object() && document.contains(archiveKey) && document[archiveKey].is_object(),
          "{}: is not an archive of measurements (the first line has no \"{}\")", path, archiveKey);
  json manifest = document[archiveKey];
  json format = manifest.value("format", json());
  require(format.is_number_integer() && format >= 1, "{}:1: format is {}, expected a number from 1", path,
          format.dump());
  require(format <= archiveFormat, "{}: has format {}, this lathe knows formats up to {}: use a newer lathe", path,
          format.dump(), archiveFormat);
  return manifest;
}

/// The task of a tuning record, as JSON text, on a line that lineOf has written. Quotes inside texts have backslashes.
static std::string_view taskOn(std::string_view line) {
  constexpr std::string_view key = "\"task\":\"";
  size_t begin = line.find(key);
  require(begin != line.npos, "a tuning record has no task");
  begin += key.size();
  size_t end = begin;
  while (end < line.size() && line[end] != '"')
    end += line[end] == '\\' ? 2 : 1;
  require(end < line.size(), "a tuning record has no task");
  return line.substr(begin, end - begin);
}

RecordArchive::RecordArchive(const std::string &path) : path(path), text(readFile(path)) {
  std::string_view rest(text.data(), text.size());
  auto nextLine = [&] {
    size_t end = rest.find('\n');
    require(end != rest.npos, "{}: ends within a line", path);
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return line;
  };
  json manifest = archiveManifest(path, rest.empty() ? std::nullopt : std::optional(std::string(nextLine())));
  ContentHasher hasher;
  hasher.update(rest);
  require(manifest.value("xxh3_128", json()) == json(hasher.digest()),
          "{}: is damaged: its records are not those of its first line", path);
  while (!rest.empty())
    if (std::string_view line = nextLine(); line.starts_with("{\"tuning\":"))
      require(lines.emplace(taskOn(line), line).second, "{}: has two records of one task", path);
}

std::optional<std::string_view> RecordArchive::line(const std::string &task) const {
  std::string key = json(task).dump(-1, ' ', false, json::error_handler_t::replace);
  auto found = lines.find(std::string_view(key).substr(1, key.size() - 2));
  return found == lines.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> withoutOpenExtents(const std::string &task) {
  std::string closed = task;
  for (size_t at = closed.find('?'); at != std::string::npos; at = closed.find('?', at)) {
    if (at + 1 < closed.size() && std::isdigit(static_cast<unsigned char>(closed[at + 1])))
      return std::nullopt;
    closed[at] = '1';
  }
  return closed == task ? std::nullopt : std::optional(closed);
}

} // namespace lathe
