// Compiled packages kept by content: running a model a second time starts as fast as running its package.
#pragma once

#include "runtime/Model.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lathe::cache {

/// A package that is loaded, and where it lies.
struct Package {
  std::string path;
  std::shared_ptr<const runtime::Model> model;
};

/// Everything that a package depends on.
struct PackageRequest {
  std::string model = {}; // a file, or the name of a network that is built in
  bool isFile = true;     // then its bytes count, with those of all of modelFiles, and its name without folder
  std::vector<std::string> flags = {};    // of the compilation, as on the command line
  bool native = false;                    // the code is for the processor at hand
  std::string scheduleFile = {};          // its bytes count; "": none
  std::vector<std::string> compiler = {}; // files of the compiler: times and sizes count; those that are missing do not
};

/// Equal for requests that give the same package. Throws Error when the model or the schedule cannot be read.
uint64_t packageKey(const PackageRequest &request);

/// The package for `request` in `folder`, where `make(path)` writes it first when it is missing or damaged. In a folder
/// that is `kept` beyond this process, packages that were used longest ago make room for it.
Package findOrMake(const PackageRequest &request, const std::string &folder, bool kept,
                   const runtime::LoadOptions &loading, const std::function<void(const std::string &path)> &make);

} // namespace lathe::cache
