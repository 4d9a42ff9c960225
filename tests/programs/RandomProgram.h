// Makes random programs for property tests: ONNX models of nested If, Loop and Scan, with sequences, optionals and
// extents that are known only at run time.
#pragma once

#include <cstdint>
#include <string>

namespace lathe {

struct ProgramOptions {
  int depth = 3;         // largest depth of nesting
  int statements = 6;    // approximate number of statements in the main graph; bodies have fewer
  bool optionals = true; // false: no optionals, for runtimes that cannot pass them through every operator
};

/// Makes a random program and returns the bytes of its ONNX model. Inputs: x (f32, rows x 4, at least one row), count
/// (i64 scalar, not negative), flag (bool scalar). Outputs y0, y1, ...: f32 with 4 columns, or scanned ones of rank 3,
/// and integers. The number of rows is symbolic; carried values may grow. Numbers stay bounded. Everything follows
/// from the seed.
//
/// Values that decide something by their sign are results of nodes whose names contain `programMargin`. If such a
/// result is near zero, rounding decides, and results of different compilers need not agree.
/// rounding decides, and results of different compilers need not agree.
std::string randomProgram(uint64_t seed, const ProgramOptions &options = {});
inline constexpr const char *programMargin = "margin";

/// Makes a program with the same inputs as a random program (x has one row) whose loop runs `count` times, for tests
/// of any length (LongProgram.cpp). Outputs: rows, and the length of a sequence, at most 5.
std::string longProgram();

} // namespace lathe
