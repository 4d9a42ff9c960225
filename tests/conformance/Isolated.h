// Work in a process of its own, and the list of cases: what both programs of this folder need.
#pragma once

#include <sys/resource.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lathe::conformance {

/// Limits of a child; 0: none.
struct ChildLimits {
  unsigned wallSeconds = 0, processorSeconds = 0;
  rlim_t addressSpace = 0; // bytes; ignored under AddressSanitizer, which reserves all of it
};

/// How a child ended: a message, or the signal that stopped it (0: none), or neither.
struct ChildEnd {
  std::string message;
  int signal = 0;
};

/// Runs `body` in a forked child and returns what it returns, which must not be empty.
ChildEnd runInChild(const ChildLimits &limits, const std::function<std::string()> &body);

/// The folder of the ONNX backend test cases; nothing, with a line on standard output, where it is
/// missing (exit code `skipped`).
std::optional<std::filesystem::path> casesRoot();
inline constexpr int skipped = 77;

/// Folders below `root` that hold a model.onnx, sorted; with `wanted`, those whose name or path
/// below `root` is in it.
std::vector<std::filesystem::path> listCases(const std::filesystem::path &root, const std::set<std::string> &wanted);

} // namespace lathe::conformance
