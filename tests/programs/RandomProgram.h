// Random programs: ONNX models of nested If, Loop and Scan, with sequences, for property tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lathe {

struct ProgramOptions {
  int depth = 3;      // of nesting, at most
  int statements = 6; // of the main graph, about; bodies have fewer
};

/// The bytes of an ONNX model. Inputs: x (f32, rows x 4), count (i64 scalar), flag (bool scalar). Outputs y0, y1, ...: f32
/// with 4 columns, except scanned ones, which have rank 3. Rows are symbolic; carried values may grow. Numbers stay
/// bounded. Everything follows from the seed.
std::string randomProgram(uint64_t seed, const ProgramOptions &options = {});

} // namespace lathe
