// Cases of the ONNX project's backend test suite: a model, inputs and expected outputs.
#pragma once

#include "import/onnx/onnx.pb.h"
#include "runtime/Tensor.h"

#include "mlir/IR/BuiltinOps.h"

#include <filesystem>
#include <string>
#include <vector>

namespace lathe::conformance {

/// Thrown for data that Lathe has no value for.
struct NoTensor {
  std::string reason;
};

/// Inputs of a case and expected outputs, in the order of the graph.
struct DataSet {
  std::vector<onnx::TensorProto> inputs; // named like the inputs; only the name of what is no tensor
  std::vector<Tensor> inputTensors;      // undefined for what is no tensor
  std::vector<Value> inputValues, outputs;
};

/// Reads a folder `test_data_set_*`. Throws NoTensor and Error.
DataSet readSet(const std::filesystem::path &folder, const onnx::ModelProto &model);
/// Reads the model of a case. Throws Error.
onnx::ModelProto readModel(const std::filesystem::path &folder);
/// Returns the model with its small vectors and scalars, except the first input, bound to the
/// values of this set.
std::string specialised(onnx::ModelProto model, const DataSet &set);
/// Tensors of the set in the order of the arguments of @main.
std::vector<Value> argumentsOf(mlir::ModuleOp module, const DataSet &set);
/// Compiles the module, which is consumed, at -O`level`, and runs it. kernelCache: as in CompileOptions.
std::vector<Value> compiledResults(mlir::ModuleOp module, const std::vector<Value> &inputs, int level,
                                   const std::string &kernelCache = "");
/// Returns "" if the values agree, else the difference: floats within rtol 1e-3 and atol 1e-7, NaN
/// with NaN, everything else exactly. `ofLargest` times the largest finite |expected| is added to
/// atol.
std::string difference(const Tensor &got, const Tensor &expected, double ofLargest = 0);
/// The same for values of any kind, tensor by tensor.
std::string difference(const Value &got, const Value &expected, double ofLargest = 0);

enum class Verdict {
  passed,
  specialised, // passed after operands that determine shapes (axes, pads, sizes, ...) were bound as constants
  unsupported,
  failed,
};

struct Result {
  Verdict verdict = Verdict::passed;
  std::string detail; // reason if it did not pass
};

struct RunOptions {
  bool compiled = false; // true: as a package in the runtime; false: on the references
  int level = 3;         // -O
};

/// Runs the case in `folder` (model.onnx, test_data_set_*/{input,output}_*.pb). Never throws.
/// Floats agree within rtol 1e-3 and atol 1e-7 (defaults of the ONNX runner), everything else
/// exactly. At -O4 atol is 2^-11 of the largest expected value more: relaxed functions have such
/// errors in elements that are small because terms cancel.
Result run(const std::filesystem::path &folder, const RunOptions &options = {});

/// Runs the case in another process; a crash, or more than `seconds`, is a failure.
Result runIsolated(const std::filesystem::path &folder, const RunOptions &options, unsigned seconds);

} // namespace lathe::conformance
