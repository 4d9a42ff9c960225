#include "lab/compare/OnnxRuntimePlace.h"

#include <cstdlib>
#include <vector>

namespace lathe::lab {

namespace fs = std::filesystem;

fs::path programDirectory() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

/// The name of this processor in the package, as in Node.js; "" if it has no library for the processor.
static const char *processorFolder() {
#if defined(__x86_64__)
  return "x64";
#elif defined(__aarch64__)
  return "arm64";
#else
  return "";
#endif
}

/// The folders RUNNERS, in search order.
static std::vector<fs::path> runnerFolders() {
  std::vector<fs::path> runners;
  if (const char *given = std::getenv("LATHE_RUNNERS"); given && *given)
    runners.emplace_back(given);
  runners.push_back(programDirectory().parent_path() / "share" / "lathe" / "runners");
  runners.emplace_back(LATHE_SOURCE_DIR "/src/laboratory/lab/runners");
  return runners;
}

std::optional<fs::path> onnxRuntimeLibrary() {
  for (const fs::path &folder : runnerFolders()) {
    std::error_code absent;
    // One folder for each version of Node.js' binary interface ("napi-v6"); they contain the same library.
    for (auto &entry : fs::directory_iterator(folder / "onnxruntime/node_modules/onnxruntime-node/bin", absent)) {
      fs::path library = entry.path() / "linux" / processorFolder() / "libonnxruntime.so.1";
      if (fs::is_regular_file(library, absent))
        return library;
    }
  }
  return std::nullopt;
}

std::string notInstalled(const std::string &runtime) {
  std::error_code absent;
  bool sources = fs::exists(LATHE_SOURCE_DIR "/dev/peers.sh", absent);
  return runtime + " is not installed: " +
         (sources
              ? "run \"make peers\" in " LATHE_SOURCE_DIR
              : "run \"make peers\" in a clone of Lathe's sources, and name its folder lab/runners in LATHE_RUNNERS");
}

std::optional<fs::path> runnerScript(const std::string &script, const std::string &needed) {
  std::error_code absent;
  for (const fs::path &folder : runnerFolders())
    if (fs::is_regular_file(folder / script, absent) && (needed.empty() || fs::is_directory(folder / needed, absent)))
      return folder / script;
  return std::nullopt;
}

} // namespace lathe::lab
