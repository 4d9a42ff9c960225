#include "tests/conformance/Isolated.h"

#include "support/Error.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <sys/wait.h>
#include <unistd.h>

namespace lathe::conformance {
namespace fs = std::filesystem;
namespace {

void applyLimits(const ChildLimits &limits) {
  rlimit core{0, 0};
  setrlimit(RLIMIT_CORE, &core);
  if (limits.processorSeconds) {
    rlimit processor{limits.processorSeconds, limits.processorSeconds + 1};
    setrlimit(RLIMIT_CPU, &processor);
  }
#ifndef __SANITIZE_ADDRESS__
  if (limits.addressSpace) {
    rlimit memory{limits.addressSpace, limits.addressSpace};
    setrlimit(RLIMIT_AS, &memory);
  }
#endif
  alarm(limits.wallSeconds);
}

} // namespace

ChildEnd runInChild(const ChildLimits &limits, const std::function<std::string()> &body) {
  int ends[2];
  require(pipe(ends) == 0, "no pipe");
  std::fflush(stdout);
  pid_t child = fork();
  require(child >= 0, "no process");
  if (child == 0) {
    close(ends[0]);
    applyLimits(limits);
    std::string message = body();
    bool written = write(ends[1], message.data(), message.size()) == static_cast<ssize_t>(message.size());
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  ChildEnd end;
  char buffer[4096];
  for (ssize_t count = 0; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
    end.message.append(buffer, static_cast<size_t>(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    end.signal = WTERMSIG(status);
  return end;
}

std::optional<fs::path> casesRoot() {
  const char *given = std::getenv("LATHE_TEST_DATA");
  fs::path root = fs::path(given ? given : LATHE_TEST_DATA) / "conformance/onnx";
  if (fs::exists(root))
    return root;
  fmt::print("SKIPPED, NO TEST DATA: {} is not there (set LATHE_TEST_DATA)\n", root.string());
  return std::nullopt;
}

std::vector<fs::path> listCases(const fs::path &root, const std::set<std::string> &wanted) {
  std::vector<fs::path> folders;
  for (auto &entry : fs::recursive_directory_iterator(root, fs::directory_options::follow_directory_symlink)) {
    if (entry.path().filename() != "model.onnx")
      continue;
    fs::path folder = entry.path().parent_path();
    if (wanted.empty() || wanted.contains(folder.filename().string()) ||
        wanted.contains(fs::relative(folder, root).generic_string()))
      folders.push_back(folder);
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

} // namespace lathe::conformance
