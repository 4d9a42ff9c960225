// Lists of problems: from CSV files, or built one by one.
#pragma once

#include "lab/ProblemSyntax.h"

#include <map>

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

/// Problems of a CSV list whose suite is in `suites`: a name, or a name with `*` at its end. The first line names the
/// columns: suite, name, count and either those of shared convolution lists (batch, in_channels, ... groups), or m, n,
/// k, trans_a, trans_b, or `kind` and `problem` with a short text. Throws Error: no such file, a malformed line, a
/// suite without problems (with those there are).
std::vector<ListedProblem> readProblems(const std::string &path, const std::vector<std::string> &suites,
                                        const SyntaxOptions &options = {});

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
