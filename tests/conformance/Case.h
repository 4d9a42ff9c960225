// One case of the ONNX project's backend test suite: a model, inputs, and the outputs expected.
#pragma once

#include <filesystem>
#include <string>

namespace lathe::conformance {

enum class Verdict {
  passed,
  specialised, // passed once operands that set shapes (axes, pads, sizes, ...) were bound as constants
  unsupported,
  failed,
};

struct Result {
  Verdict verdict = Verdict::passed;
  std::string detail; // why it did not pass
};

struct RunOptions {
  bool compiled = false; // as a package in the runtime; otherwise on the references
  int level = 3;         // -O
};

/// Runs the case in `folder` (model.onnx, test_data_set_*/{input,output}_*.pb). Never throws.
/// Floats agree within rtol 1e-3 and atol 1e-7, everything else exactly: the ONNX runner's defaults.
Result run(const std::filesystem::path &folder, const RunOptions &options = {});

/// The same in a process of its own: a crash or more than `seconds` is a failure, not the end.
Result runIsolated(const std::filesystem::path &folder, const RunOptions &options, unsigned seconds);

} // namespace lathe::conformance
