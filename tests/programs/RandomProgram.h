// Random programs: ONNX models of nested If, Loop and Scan, with sequences, optionals and extents that the run decides,
// for property tests.
#pragma once

#include <cstdint>
#include <string>

namespace lathe {

struct ProgramOptions {
  int depth = 3;         // of nesting, at most
  int statements = 6;    // of the main graph, about; bodies have fewer
  bool optionals = true; // false: for runtimes that cannot pass them through every operator
};

/// The bytes of an ONNX model. Inputs: x (f32, rows x 4, at least one row), count (i64 scalar, not negative), flag (bool
/// scalar). Outputs y0, y1, ...: f32 with 4 columns, or scanned ones of rank 3, and integers. Rows are symbolic; carried
/// values may grow. Numbers stay bounded. Everything follows from the seed.
///
/// What decides by its sign is the result of a node whose name contains `programMargin`. Where such a result is near zero,
/// rounding decides, and results of different compilers need not agree.
std::string randomProgram(uint64_t seed, const ProgramOptions &options = {});
inline constexpr const char *programMargin = "margin";

/// A program with the same inputs (x has one row) whose loop runs `count` times, as often as wanted (LongProgram.cpp).
/// Outputs: rows, and the length of a sequence, at most 5.
std::string longProgram();

} // namespace lathe
