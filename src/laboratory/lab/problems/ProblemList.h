// Lists of problems, read from CSV files or built one by one.
#pragma once

#include "lab/problems/ProblemSyntax.h"

#include <map>
#include <set>

namespace lathe::lab {

/// A problem in a list of problems. Equal problems of several layers or suites are one entry.
struct ListedProblem {
  Problem problem;
  std::string kind;                    // kind of the problem; `kind` and `text` are the arguments of parseProblem
  std::string text;                    // short text of the problem (ProblemSyntax.h)
  std::string name;                    // name of the problem's first occurrence
  std::vector<std::string> suites;     // names of the suites that contain the problem
  int64_t count = 0;                   // number of occurrences in all suites
  std::vector<std::string> nodes = {}; // for problems of a model: names of the nodes that have this problem
};

/// Reads problems of the given suites (names, or prefixes ending in `*`) from CSV lists. A suite is
/// read from the first list that has it. Lines that begin with # are comments. The first other line
/// names the columns: suite, name, count, and either the columns of convolution lists (batch,
/// in_channels, ... groups), or m, n, k, trans_a, trans_b, or `kind` and `problem` with a short
/// text, which may have ranges. Throws Error for a missing file, a malformed line, or a suite
/// without problems (with the valid names).
std::vector<ListedProblem> readProblems(const std::vector<std::string> &paths, const std::vector<std::string> &suites,
                                        const SyntaxOptions &options = {});
std::vector<ListedProblem> readProblems(const std::string &path, const std::vector<std::string> &suites,
                                        const SyntaxOptions &options = {});

/// Paths of the lists of problems installed with this program: CSV files of share/lathe/suites, else of lab/suites in
/// the source tree.
std::vector<std::string> shippedLists();

struct SuiteSummary {
  std::string name, path;
  std::set<std::string> kinds; // kinds of problems, as in `lathe ops bench KIND`
  size_t problems = 0;         // number of distinct problems, with ranges expanded
};
/// Summarises all suites of the lists, in order. Of two suites with one name the first counts.
std::vector<SuiteSummary> suitesOf(const std::vector<std::string> &paths);

/// Builds a list of problems. Adding an equal problem increases the count of its entry.
class ProblemList {
public:
  ListedProblem &add(ListedProblem problem);
  std::vector<ListedProblem> take() { return std::move(problems); } // leaves the list empty
  bool empty() const { return problems.empty(); }

private:
  std::vector<ListedProblem> problems;
  std::map<std::string, size_t> places; // index of each problem in the list, by the problem's text
};

} // namespace lathe::lab
