// One case of the ONNX project's backend test suite: a model, inputs, and the outputs expected.
#pragma once

#include "import/onnx/onnx.pb.h"
#include "runtime/Tensor.h"

#include "mlir/IR/BuiltinOps.h"

#include <filesystem>
#include <string>
#include <vector>

namespace lathe::conformance {

/// Thrown for data the runner has no value for.
struct NoTensor {
  std::string reason;
};

/// The inputs a case gives and the outputs it expects, in the order of the graph.
struct DataSet {
  std::vector<onnx::TensorProto> inputs; // with the inputs' names
  std::vector<Tensor> inputTensors, outputs;
};

/// Reads `test_data_set_*`. Throws NoTensor and Error.
DataSet readSet(const std::filesystem::path &folder, const onnx::ModelProto &model);
/// The model of a case. Throws Error.
onnx::ModelProto readModel(const std::filesystem::path &folder);
/// The model with the small vectors and scalars after its first input bound to this set's values.
std::string specialised(onnx::ModelProto model, const DataSet &set);
/// The set's tensors in the order of the arguments of @main.
std::vector<Value> argumentsOf(mlir::ModuleOp module, const DataSet &set);
/// Compiles at -O`level` and runs. The module is consumed.
std::vector<Value> compiledResults(mlir::ModuleOp module, const std::vector<Value> &inputs, int level);
/// "" when they agree: floats within rtol 1e-3 and atol 1e-7, NaN with NaN, everything else exactly.
std::string difference(const Tensor &got, const Tensor &expected);

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
