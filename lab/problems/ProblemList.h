// Lists of problems: from CSV files, or built one by one.
#pragma once

#include "lab/problems/ProblemSyntax.h"

#include <map>
#include <set>

namespace lathe::lab {

/// A problem as a list has it. Equal problems of several layers or suites are one entry.
struct ListedProblem {
  Problem problem;
  std::string kind;                    // for parseProblem, with `text`
  std::string text;                    // short
  std::string name;                    // the first one's
  std::vector<std::string> suites;     // that have it
  int64_t count = 0;                   // how often it occurs in them, together
  std::vector<std::string> nodes = {}; // of a model: the node behind each occurrence
};

/// Problems of CSV lists whose suite is in `suites`: a name, or a name with `*` at its end. A suite is read from the
/// first list that has it. Lines that begin with # are comments. The first other line names the columns: suite, name,
/// count and either those of shared convolution lists (batch, in_channels, ... groups), or m, n, k, trans_a, trans_b,
/// or `kind` and `problem` with a short text, which may have ranges. Throws Error: no such file, a malformed line, a
/// suite without problems (with those there are).
std::vector<ListedProblem> readProblems(const std::vector<std::string> &paths, const std::vector<std::string> &suites,
                                        const SyntaxOptions &options = {});
std::vector<ListedProblem> readProblems(const std::string &path, const std::vector<std::string> &suites,
                                        const SyntaxOptions &options = {});

/// The lists that come with this program: the CSV files of share/lathe/suites beside its folder, else of lab/suites in
/// the source tree.
std::vector<std::string> shippedLists();

struct SuiteSummary {
  std::string name, path;
  std::set<std::string> kinds; // of problems, as `lathe ops bench KIND`
  size_t problems = 0;         // distinct lines, ranges counted out
};
/// Every suite of the lists, in their order; of two of one name the first.
std::vector<SuiteSummary> suitesOf(const std::vector<std::string> &paths);

/// Adds to a list, or to the count of an equal problem that is in it.
class ProblemList {
public:
  ListedProblem &add(ListedProblem problem);
  std::vector<ListedProblem> take() { return std::move(problems); } // it is empty then
  bool empty() const { return problems.empty(); }

private:
  std::vector<ListedProblem> problems;
  std::map<std::string, size_t> places; // by the problem's own text
};

} // namespace lathe::lab
