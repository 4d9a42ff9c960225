// Cache of compiled packages, by content: running a model a second time starts as fast as running its package.
#pragma once

#include "runtime/Model.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lathe::cache {

/// A loaded package and its path.
struct Package {
  std::string path;
  std::shared_ptr<const runtime::Model> model;
};

/// All inputs of a compilation that a package depends on.
struct PackageRequest {
  std::string model = {};                   // a file, or the name of a built-in network
  bool isFile = true;                       // the key has the bytes of all modelFiles, and the file name without folder
  std::vector<std::string> flags = {};      // flags of the compilation, as on the command line
  bool native = false;                      // the code is for this machine's processor
  std::string scheduleFile = {};            // the key has its bytes; "": none
  std::string machineFile = {};             // the key has its bytes; "": none
  std::vector<std::string> otherFiles = {}; // the key has their bytes
  std::string records = {};                 // text that differs for other tuning records; "": none are used
  std::vector<std::string> compiler = {};   // files of the compiler: the key has times and sizes of existing ones
};

/// Key of a request; equal keys mean equal packages. Throws Error if the model or the schedule cannot be read.
uint64_t packageKey(const PackageRequest &request);

/// Returns the package for `request` in `folder`. If it is missing or damaged, `make(path)` writes it first. `kept`:
/// the folder outlives this process; then the least recently used packages are removed to make room.
Package findOrMake(const PackageRequest &request, const std::string &folder, bool kept,
                   const runtime::LoadOptions &loading, const std::function<void(const std::string &path)> &make);

} // namespace lathe::cache
