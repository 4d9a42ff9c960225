// Runs work in a separate process, and finds the list of test cases; the programs of this folder share it.
#pragma once

#include <sys/resource.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lathe::conformance {

/// Limits of a child process; 0: none.
struct ChildLimits {
  unsigned wallSeconds = 0, processorSeconds = 0;
  rlim_t addressSpace = 0; // bytes; ignored under AddressSanitizer, which reserves all of it
};

/// How a child process ended. `message`: result of the body, "" if the child ended before; `signal`: signal that ended
/// the child, 0: none.
struct ChildEnd {
  std::string message;
  int signal = 0;
};

/// Runs `body` in a forked child and returns its result, which must not be empty.
ChildEnd runInChild(const ChildLimits &limits, const std::function<std::string()> &body);

/// Returns the folder of the ONNX backend test cases. If it is missing, returns nothing and prints a line; the caller
/// should end with exit code `skipped`.
std::optional<std::filesystem::path> casesRoot();
inline constexpr int skipped = 77;

/// Returns the folders below `root` that contain a model.onnx, sorted. If `wanted` is not empty, only those whose name
/// or path below `root` is in it.
std::vector<std::filesystem::path> listCases(const std::filesystem::path &root, const std::set<std::string> &wanted);

} // namespace lathe::conformance
