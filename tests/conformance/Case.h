// Cases of the ONNX project's backend test suite: a model, inputs and expected outputs.
#pragma once

#include "import/onnx/onnx.pb.h"
#include "runtime/Tensor.h"

#include "mlir/IR/BuiltinOps.h"

#include <filesystem>
#include <string>
#include <vector>

namespace lathe::conformance {

/// Thrown for data that no value of Lathe can represent.
struct NoTensor {
  std::string reason;
};

/// Inputs and expected outputs of a test case, in the order of the graph.
struct DataSet {
  std::vector<onnx::TensorProto> inputs; // named like the inputs; an input that is no tensor has only its name
  std::vector<Tensor> inputTensors;      // undefined for an input that is no tensor
  std::vector<Value> inputValues, outputs;
};

/// Reads a folder `test_data_set_*`. Throws NoTensor for data that no value can represent, and Error for unreadable
/// files.
DataSet readSet(const std::filesystem::path &folder, const onnx::ModelProto &model);
/// Reads the model of a test case. Throws Error if it cannot be read.
onnx::ModelProto readModel(const std::filesystem::path &folder);
/// Returns the model with its inputs that are small vectors or scalars, except the first input, replaced by the values
/// of this set.
std::string specialised(onnx::ModelProto model, const DataSet &set);
/// Returns the tensors of the set in the order of the arguments of @main.
std::vector<Value> argumentsOf(mlir::ModuleOp module, const DataSet &set);
/// Compiles the module, which is consumed, at optimisation level `level`, and returns the outputs of a run.
/// kernelCache: as in CompileOptions.
std::vector<Value> compiledResults(mlir::ModuleOp module, const std::vector<Value> &inputs, int level,
                                   const std::string &kernelCache = "");
/// Returns "" if two tensors agree, otherwise a text about the difference. Floats agree within rtol 1e-3 and atol
/// 1e-7, NaN with NaN, everything else exactly. `ofLargest` times the largest finite |expected| is added to atol.
std::string difference(const Tensor &got, const Tensor &expected, double ofLargest = 0);
/// Returns the difference of two values of any kind, tensor by tensor, as the function for tensors does.
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
  bool compiled = false; // true: run as a package in the runtime; false: by the reference functions
  int level = 3;         // optimisation level (-O)
};

/// Runs the test case in `folder` (model.onnx, test_data_set_*/{input,output}_*.pb). Never throws. Floats must agree
/// within rtol 1e-3 and atol 1e-7 (defaults of the ONNX runner), everything else exactly. At -O4, atol is larger by
/// 2^-11 of the largest expected value: relaxed functions have such errors in elements that are small because terms
/// cancel.
Result run(const std::filesystem::path &folder, const RunOptions &options = {});

/// Runs the test case in a separate process. A crash, or a run of more than `seconds` seconds, is a failure.
Result runIsolated(const std::filesystem::path &folder, const RunOptions &options, unsigned seconds);

} // namespace lathe::conformance
