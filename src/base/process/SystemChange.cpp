#include "process/SystemChange.h"

#include "support/Error.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <sys/stat.h>
#include <unistd.h>

namespace lathe::process {

namespace fs = std::filesystem;
using nlohmann::json;

static constexpr const char *listName = "changes.json";

std::string systemText(const std::string &path) {
  std::ifstream file(path);
  std::string text(size_t(1) << 16, '\0'); // more than any file of settings has
  file.read(text.data(), std::streamsize(text.size()));
  text.resize(size_t(file.gcount()));
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

void writeSystemText(const std::string &path, const std::string &text) {
  // Nobody may find an empty file of a recorded tree: it is cut after it is written. The system's own files need no
  // cut.
  int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  require(file >= 0, "{}: cannot be written: {}", path, std::strerror(errno));
  std::string line = text + "\n";
  ssize_t written = ::write(file, line.data(), line.size());
  int error = errno;
  if (struct stat status; written > 0 && ::fstat(file, &status) == 0 && status.st_size > written)
    (void)!::ftruncate(file, written);
  ::close(file);
  require(written == ssize_t(line.size()), "{}: does not take '{}': {}", path, text,
          written < 0 ? std::strerror(error) : "only a part of it was written");
}

std::string SystemChange::undo() const {
  std::error_code failed;
  if (!before) {
    // A group of resctrl is removed with its files; the files of a recorded tree have to be removed first.
    if (!fs::exists(path, failed) || ::rmdir(path.c_str()) == 0)
      return "";
    int error = errno;
    if (error == ENOTEMPTY)
      fs::remove_all(path, failed);
    return error == ENOTEMPTY && !failed ? "" : fmt::format("{}: cannot be removed: {}", path, std::strerror(error));
  }
  std::string now = systemText(path);
  if (!fs::exists(path, failed) || now == *before || (set && now != *set))
    return "";
  try {
    writeSystemText(path, *before);
    return "";
  } catch (const Error &error) {
    return error.what();
  }
}

void listChanges(const fs::path &folder, const std::vector<SystemChange> &changes) {
  json list = json::array();
  for (const SystemChange &change : changes) {
    json &entry = list.emplace_back(json{{"path", change.path}});
    if (change.before)
      entry["before"] = *change.before;
    if (change.set)
      entry["set"] = *change.set;
  }
  fs::path file = folder / listName, unfinished = folder / "changes.part";
  std::ofstream stream(unfinished);
  stream << list.dump();
  stream.close();
  require(stream.good(), "{}: cannot be written", unfinished.string());
  fs::rename(unfinished, file);
}

void undoAll(const std::vector<SystemChange> &changes) {
  for (auto change = changes.rbegin(); change != changes.rend(); ++change)
    if (std::string why = change->undo(); !why.empty())
      std::cerr << fmt::format("lathe: a change of the system stays: {}\n", why);
}

void undoListed(const fs::path &folder) {
  std::ifstream file(folder / listName);
  if (!file)
    return;
  std::vector<SystemChange> changes;
  try {
    for (const json &entry : json::parse(file)) {
      SystemChange &change = changes.emplace_back(SystemChange{entry.at("path")});
      if (entry.contains("before"))
        change.before = entry.at("before").get<std::string>();
      if (entry.contains("set"))
        change.set = entry.at("set").get<std::string>();
    }
  } catch (const json::exception &) { // no list of this program
    return;
  }
  undoAll(changes);
}

} // namespace lathe::process
