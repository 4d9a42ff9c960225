// Files of the runner: on this machine, or received over the pipe.
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
  /// Drops all received files.
  void forget();
  /// Opens the received file `name`, or a file of this machine with at least `bytes`. The caller closes the descriptor.
  /// Throws Error.
  int open(const std::string &name, int64_t bytes) const;

  bool onlyReceived = false; // names refer to another machine

private:
  std::map<std::string, int> received; // name -> file in memory
};

} // namespace lathe::tune
