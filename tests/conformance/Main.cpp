// conformance [--compiled] [-O0 ... -O4] [--update] [--verbose] [CASE...]: runs the ONNX backend test cases on the
// references or, with --compiled, as packages in the runtime, each in a process of its own.
//
// Without cases it runs all of them and compares with passing.txt. Exit code 1 for a regression: a case listed there
// that does not pass, or any case, listed or not, that gives a wrong answer, crashes or hangs (an operator or form that
// is not supported and says so is none). --update writes passing.txt anew. Exit code 77: no test data.
#include "tests/conformance/Case.h"
#include "tests/conformance/Isolated.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

using namespace lathe::conformance;
namespace fs = std::filesystem;

namespace {

std::set<std::string> readList(const fs::path &path) {
  std::set<std::string> names;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#')
      names.insert(line);
  return names;
}

const char *name(Verdict verdict) {
  static const char *const names[] = {"passed", "passed with parameters bound", "unsupported", "failed"};
  return names[static_cast<int>(verdict)];
}

} // namespace

int main(int argc, char **argv) {
  bool update = false, verbose = false;
  RunOptions options;
  std::set<std::string> wanted;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--update")
      update = true;
    else if (argument == "--verbose")
      verbose = true;
    else if (argument == "--compiled")
      options.compiled = true;
    else if (argument.size() == 3 && argument.starts_with("-O"))
      options.level = argument[2] - '0';
    else
      wanted.insert(argument);
  }
  std::optional<fs::path> found = casesRoot();
  if (!found)
    return skipped;
  const fs::path &root = *found;
  fs::path listPath = fs::path(LATHE_SOURCE_DIR) / "tests/conformance/passing.txt";
  std::set<std::string> pinned = readList(listPath), passing;
  std::map<Verdict, int> counts;
  int regressions = 0;
  for (const fs::path &folder : listCases(root, wanted)) {
    std::string id = fs::relative(folder, root).generic_string();
    Result result = options.compiled ? runIsolated(folder, options, 60) : run(folder, options);
    ++counts[result.verdict];
    bool passed = result.verdict == Verdict::passed || result.verdict == Verdict::specialised;
    if (passed)
      passing.insert(id);
    bool regression = result.verdict == Verdict::failed || (!passed && pinned.contains(id));
    regressions += regression;
    if (regression || verbose || !wanted.empty())
      fmt::print("{}{}: {}{}{}\n", regression ? "REGRESSION " : "", id, name(result.verdict),
                 result.detail.empty() ? "" : ": ", result.detail);
    std::fflush(stdout);
  }
  for (auto &[verdict, count] : counts)
    fmt::print("{:5} {}\n", count, name(verdict));
  if (!wanted.empty())
    return counts[Verdict::failed] ? 1 : 0;
  if (update) {
    std::ofstream out(listPath);
    out << "# Cases that must pass; written by `conformance --update`.\n";
    for (const std::string &id : passing)
      out << id << "\n";
    return 0;
  }
  std::vector<std::string> fresh;
  std::set_difference(passing.begin(), passing.end(), pinned.begin(), pinned.end(), std::back_inserter(fresh));
  if (!fresh.empty())
    fmt::print("{} cases pass that are not in the list; `conformance --update` adds them\n", fresh.size());
  fmt::print("{} regressions: of {} pinned cases, and of others that are wrong\n", regressions, pinned.size());
  return regressions ? 1 : 0;
}
