// Reads what a compiler needs of an archive of measurements (docs/records.md): the first line, and the tuning records
// by their task. store/Archive.h reads and writes all records.
#pragma once

#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lathe {

/// Computes the hash XXH3-128 of all bytes given, in order, as 32 hexadecimal digits. The hash finds damage and
/// duplicates; it is not cryptographic.
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
/// Parses a JSON document. Returns a discarded value (is_discarded) for invalid JSON and for
/// documents nested deeper than 64 levels, because code that walks documents is recursive.
nlohmann::json parseDocument(std::string_view text);

// Key in the first line of an archive, which counts the records. Each other line is one record: {"point": {...}}.
constexpr const char *archiveKey = "lathe_store";
// Versions of the archive format. Format 2 has tasks, and tuning records with all of their fields. Format 3 has labels.
// Format 4 has points in company, which older versions would take for points of work that runs alone. An archive is
// written in the lowest format that has its content.
constexpr int64_t formatOfTasks = 2, formatOfLabels = 3, archiveFormat = 4;

/// Returns what the first line `line` of the archive `path` says. Throws Error if `line` is not the first line of an
/// archive, or if its format is newer than archiveFormat.
nlohmann::json archiveManifest(const std::string &path, const std::optional<std::string> &line);

/// The tuning records of an uncompressed archive, found by the text of their tuning task. Checks the hash of the whole
/// file, but parses no record.
class RecordArchive {
public:
  /// Reads an archive. Throws Error for a file that is damaged, of a newer format or not an archive, and for two
  /// records with the same task.
  explicit RecordArchive(const std::string &path);
  RecordArchive(RecordArchive &&) = default;
  RecordArchive &operator=(RecordArchive &&) = default;
  RecordArchive(const RecordArchive &) = delete; // not copyable, because `lines` points into `text`
  /// Returns the line with the tuning record of a task, {"tuning": {...}}, or nothing if there is none.
  std::optional<std::string_view> line(const std::string &task) const;
  size_t size() const { return lines.size(); }

  std::string path;

private:
  std::vector<char> text;
  // lines of `text`, by the task as it is written in JSON
  std::unordered_map<std::string_view, std::string_view> lines;
};

/// Returns the task of the same kernel with extent 1 instead of open extents (`?`). Returns nothing if no extent is
/// open, or if an open extent is the height or width of a convolution (`?56`), because the kernel's code depends on
/// it.
std::optional<std::string> withoutOpenExtents(const std::string &task);

} // namespace lathe
