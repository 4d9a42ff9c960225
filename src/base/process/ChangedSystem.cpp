#include "process/ChangedSystem.h"

#include "support/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>

namespace lathe::process {

ChangedSystem::ChangedSystem()
    : cleanup([this] {
        mutex.lock(); // for ever: nothing is changed any more
        undoAll(changes);
      }) {}

ChangedSystem::~ChangedSystem() {
  std::lock_guard lock(mutex);
  undoAll(changes);
  changes.clear();
}

/// Lists a change before it is made.
void ChangedSystem::begin(SystemChange change) {
  changes.push_back(std::move(change));
  listChanges(folder.path, changes);
}

void ChangedSystem::forgetLast() {
  changes.pop_back();
  listChanges(folder.path, changes);
}

std::string ChangedSystem::write(const std::string &path, const std::string &text) {
  std::lock_guard lock(mutex);
  begin({path, systemText(path)});
  try {
    writeSystemText(path, text);
  } catch (const Error &) {
    forgetLast();
    throw;
  }
  changes.back().set = systemText(path);
  listChanges(folder.path, changes);
  return *changes.back().set;
}

void ChangedSystem::makeFolder(const std::string &path) {
  std::lock_guard lock(mutex);
  begin({path});
  if (::mkdir(path.c_str(), 0755) == 0)
    return;
  int error = errno;
  forgetLast();
  fail("{}: cannot be made: {}", path, std::strerror(error));
}

void ChangedSystem::undo(const std::string &path) {
  std::lock_guard lock(mutex);
  auto made = std::find_if(changes.begin(), changes.end(), [&](const SystemChange &one) { return one.path == path; });
  if (made == changes.end())
    return;
  undoAll({*made});
  changes.erase(made);
  listChanges(folder.path, changes);
}

} // namespace lathe::process
