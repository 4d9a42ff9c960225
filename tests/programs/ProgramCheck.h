// Compiles a random program at every level, runs it and compares it with the reference operators; makes a failing
// program smaller.
#pragma once

#include "runtime/Tensor.h"

#include <functional>
#include <string>
#include <vector>

namespace lathe {

/// A run of a random program on the reference operators: inputs, expected results, and how far rounding may take other
/// results from them.
struct ProgramRun {
  std::vector<Value> inputs, expected;
  double error = 0;  // largest difference of `expected` from the results of the same operators in float64
  double margin = 0; // smallest magnitude of a value whose sign decides something (tests/programs/RandomProgram.h)
};

struct ProgramCheck {
  std::vector<int> levels = {0, 1, 2, 3, 4};
  std::vector<int> threads = {1, 2};
  /// Folder for the packages of level 3 with their inputs and results, for the program run-programs; "": none.
  std::string packages;
  int runs = 0, undecided = 0; // number of sets of inputs; number of those for which rounding decides
  int level = 0;               // the level that was tried last
};

/// Makes sets of inputs for a random program, of several sizes. Inputs for which rounding decides are made again a few
/// times, then left out. Throws Error if the program cannot be imported or evaluated.
std::vector<ProgramRun> programRuns(const std::string &bytes, uint64_t seed, ProgramCheck &check);

/// Compiles and runs a random program. Returns "" if its results agree with the references; otherwise where and how
/// they differ, or the error.
std::string programFailure(const std::string &bytes, uint64_t seed, ProgramCheck &check);

/// Compares two values. Returns "" if their tensors agree within `tolerance`, otherwise what differs.
std::string programDifference(const Value &expected, const Value &actual, double tolerance);

/// Returns a smaller program that still fails, if leaving out outputs and passing operands on makes one.
std::string smallerProgram(const std::string &bytes, const std::function<bool(const std::string &)> &fails);

/// Writes a package and its runs for the program run-programs: NAME.lathe, NAME.txt with the tolerance of each run,
/// and arrays NAME.RUN.in0.npy, ..., NAME.RUN.out0.npy, ....
void writePackage(const std::string &folder, const std::string &name, const std::vector<char> &package,
                  const std::vector<ProgramRun> &runs);

/// Writes a random program into the folder for failed programs and returns the path.
std::string keepProgram(const std::string &bytes, const std::string &name);

} // namespace lathe
