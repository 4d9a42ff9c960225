// Runs a program compiled at every level and compares it with the references; makes a program that fails small.
#pragma once

#include "runtime/Tensor.h"

#include <functional>
#include <string>
#include <vector>

namespace lathe {

/// What the references give for some inputs, and how far rounding may take other results from that.
struct ProgramRun {
  std::vector<Value> inputs, expected;
  double error = 0;  // largest distance of the references from the judge
  double margin = 0; // least magnitude of what decides by its sign (tests/programs/RandomProgram.h)
};

struct ProgramCheck {
  std::vector<int> levels = {0, 1, 2, 3, 4};
  std::vector<int> threads = {1, 2};
  /// Folder for the packages of level 3 with their inputs and results, for run-programs; "": none.
  std::string packages;
  int runs = 0, undecided = 0; // sets of inputs; those that rounding decides
  int level = 0;               // the last one that was tried
};

/// Sets of inputs for a program, of several sizes. Inputs for which rounding decides are made anew a few times, then left
/// out. Throws Error if the program cannot be imported or evaluated.
std::vector<ProgramRun> programRuns(const std::string &bytes, uint64_t seed, ProgramCheck &check);

/// "" if the program, compiled, gives what the references give; otherwise where and how it differs, or the error.
std::string programFailure(const std::string &bytes, uint64_t seed, ProgramCheck &check);

/// "" where the tensors agree within `tolerance`, otherwise what differs.
std::string programDifference(const Value &expected, const Value &actual, double tolerance);

/// A smaller program that still fails, as far as leaving out outputs and passing operands on finds one.
std::string smallerProgram(const std::string &bytes, const std::function<bool(const std::string &)> &fails);

/// Writes a package and its runs for run-programs: NAME.lathe, NAME.txt with the tolerance of each run, and arrays
/// NAME.RUN.in0.npy, ..., NAME.RUN.out0.npy, ....
void writePackage(const std::string &folder, const std::string &name, const std::vector<char> &package,
                  const std::vector<ProgramRun> &runs);

/// Writes a program into the folder for those that failed and returns its path.
std::string keepProgram(const std::string &bytes, const std::string &name);

} // namespace lathe
