// Cache of compiled packages. The second run of a model then starts as fast as a run of its package.
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

/// A request for a package: everything on which the compiled package depends.
struct PackageRequest {
  std::string model = {}; // a file, or the name of a built-in network
  // true: `model` is a file. The key has the bytes of all modelFiles, and the file name without its folder
  bool isFile = true;
  std::vector<std::string> flags = {};      // flags of the compilation, as on the command line
  bool native = false;                      // true: the code is for the processor of this machine
  std::string scheduleFile = {};            // file with schedules, whose bytes are in the key; "": none
  std::string machineFile = {};             // file that describes a machine, whose bytes are in the key; "": none
  std::vector<std::string> otherFiles = {}; // further files, whose bytes are in the key
  std::string records = {};                 // text that identifies the tuning records that are used; "": none are used
  // files of the compiler; the key has the times and sizes of those that exist
  std::vector<std::string> compiler = {};
};

/// Returns the key of a request; equal keys mean equal packages. Throws Error if the model or the schedule cannot be
/// read.
uint64_t packageKey(const PackageRequest &request);

/// Returns the package for `request` in `folder`. If it is missing or damaged, `make(path)` writes it first. `kept`:
/// true if the folder outlives this process; the least recently used packages are then removed to make room.
Package findOrMake(const PackageRequest &request, const std::string &folder, bool kept,
                   const runtime::LoadOptions &loading, const std::function<void(const std::string &path)> &make);

} // namespace lathe::cache
