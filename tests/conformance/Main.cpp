// conformance [--compiled] [-O0 ... -O4] [--update] [--verbose] [CASE...]: runs the ONNX backend test cases on the
// references or, with --compiled, as packages in the runtime, each in a process of its own.
//
// Without cases it runs all of them and compares with passing.txt. Exit code 1 for a regression: a case listed there
// that does not pass, or any case, listed or not, that gives a wrong answer, crashes or hangs (an operator or form that
// is not supported and says so is none). On the references it also compares docs/generated/conformance.md, the cases that
// are not supported by reason. --update writes both anew. Exit code 77: no test data. The cases that
// tests/stand_ins.py writes are others than the page counts: it is neither compared nor written.
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

/// "Attention: softcap is set" of "model.onnx: not supported: 'Y' (Attention, opset 23): softcap is set".
std::string reasonOf(const std::string &detail) {
  constexpr std::string_view file = "model.onnx: ", word = "not supported: ";
  std::string text = detail.starts_with(file) ? detail.substr(file.size()) : detail;
  if (!text.starts_with(word))
    return text;
  text = text.substr(word.size());
  size_t open = text.find("' ("), comma = text.find(", opset", open), colon = text.find("): ", open);
  if (open == std::string::npos || comma == std::string::npos || colon == std::string::npos)
    return text;
  return text.substr(open + 3, comma - open - 3) + ": " + text.substr(colon + 3);
}

/// The page of the cases that are not supported.
std::string reasonsPage(const std::map<std::string, std::vector<std::string>> &reasons, size_t all) {
  size_t count = 0;
  for (auto &[reason, cases] : reasons)
    count += cases.size();
  std::string page = fmt::format("<!-- Written by `conformance --update`; do not edit. -->\n# Which conformance cases "
                                 "are not supported, and why?\n\n"
                                 "Of the {} cases of the ONNX project's backend tests in the test data, {} pass and {} "
                                 "are not supported. None gives "
                                 "a\nwrong answer: a test fails for one.\n\n| reason | cases |\n|---|---|\n",
                                 all, all - count, count);
  for (auto &[reason, cases] : reasons)
    page += fmt::format("| {} | {} |\n", reason, fmt::join(cases, ", "));
  return page;
}

std::string contentsOf(const fs::path &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Arguments {
  bool update = false, verbose = false;
  RunOptions options;
  std::set<std::string> wanted;
};

Arguments parse(int argc, char **argv) {
  Arguments result;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--update")
      result.update = true;
    else if (argument == "--verbose")
      result.verbose = true;
    else if (argument == "--compiled")
      result.options.compiled = true;
    else if (argument.size() == 3 && argument.starts_with("-O"))
      result.options.level = argument[2] - '0';
    else
      result.wanted.insert(argument);
  }
  return result;
}

/// What the cases have given.
struct Outcome {
  std::set<std::string> passing;
  std::map<Verdict, int> counts;
  std::map<std::string, std::vector<std::string>> reasons; // cases that are not supported
  int regressions = 0;
};

Outcome runCases(const fs::path &root, const std::vector<fs::path> &folders, const std::set<std::string> &pinned,
                 const Arguments &arguments) {
  Outcome outcome;
  for (const fs::path &folder : folders) {
    std::string id = fs::relative(folder, root).generic_string();
    const RunOptions &options = arguments.options;
    Result result = options.compiled ? runIsolated(folder, options, 60) : run(folder, options);
    ++outcome.counts[result.verdict];
    bool passed = result.verdict == Verdict::passed || result.verdict == Verdict::specialised;
    if (passed)
      outcome.passing.insert(id);
    if (result.verdict == Verdict::unsupported)
      outcome.reasons[reasonOf(result.detail)].push_back(folder.filename().string());
    bool regression = result.verdict == Verdict::failed || (!passed && pinned.contains(id));
    outcome.regressions += regression;
    if (regression || arguments.verbose || !arguments.wanted.empty())
      fmt::print("{}{}: {}{}{}\n", regression ? "REGRESSION " : "", id, name(result.verdict),
                 result.detail.empty() ? "" : ": ", result.detail);
    std::fflush(stdout);
  }
  for (auto &[verdict, count] : outcome.counts)
    fmt::print("{:5} {}\n", count, name(verdict));
  return outcome;
}

void writeLists(const fs::path &listPath, const std::set<std::string> &passing, const fs::path &pagePath,
                const std::string &page) {
  std::ofstream(pagePath) << page;
  std::ofstream out(listPath);
  out << "# Cases that must pass; written by `conformance --update`.\n";
  for (const std::string &id : passing)
    out << id << "\n";
}

} // namespace

int main(int argc, char **argv) {
  Arguments arguments = parse(argc, argv);
  std::optional<fs::path> root = casesRoot();
  if (!root)
    return skipped;
  fs::path source = LATHE_SOURCE_DIR, listPath = source / "tests/conformance/passing.txt";
  std::set<std::string> pinned = readList(listPath);
  std::vector<fs::path> folders = listCases(*root, arguments.wanted);
  Outcome outcome = runCases(*root, folders, pinned, arguments);
  if (!arguments.wanted.empty())
    return outcome.counts[Verdict::failed] ? 1 : 0;
  fs::path pagePath = source / "docs/generated/conformance.md";
  std::string page = reasonsPage(outcome.reasons, folders.size());
  bool other = fs::exists(*root / "own");
  if (arguments.update && !other) {
    writeLists(listPath, outcome.passing, pagePath, page);
    return 0;
  }
  bool samePage = arguments.options.compiled || other || page == contentsOf(pagePath);
  if (!samePage)
    fmt::print("{} is not up to date; `conformance --update` writes it\n", pagePath.string());
  std::vector<std::string> fresh;
  std::set_difference(outcome.passing.begin(), outcome.passing.end(), pinned.begin(), pinned.end(),
                      std::back_inserter(fresh));
  if (!fresh.empty() && !other)
    fmt::print("{} cases pass that are not in the list; `conformance --update` adds them\n", fresh.size());
  fmt::print("{} regressions: of {} pinned cases, and of others that are wrong\n", outcome.regressions, pinned.size());
  return outcome.regressions || !samePage ? 1 : 0;
}
