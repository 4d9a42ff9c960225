// The files that a runner reads: on this machine, or received over the pipe.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace lathe::tune {

class Files {
public:
  Files() = default;
  ~Files() { forget(); }
  Files(const Files &) = delete;
  Files &operator=(const Files &) = delete;

  /// Adds bytes to the end of the received file `name`. Throws Error if there is no memory.
  void append(const std::string &name, std::span<const char> bytes);
  /// Forgets all received files and frees their memory.
  void forget();
  /// Opens the received file `name`, or a file of this machine with at least `bytes`. The caller closes the descriptor.
  /// Throws Error if there is no such file, or if it is too short.
  int open(const std::string &name, int64_t bytes) const;

  bool onlyReceived = false; // the runner works for another machine, whose names mean received files only

private:
  std::map<std::string, int> received; // received files in memory: name, descriptor
};

} // namespace lathe::tune
