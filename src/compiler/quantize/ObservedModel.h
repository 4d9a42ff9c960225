// A compiled graph that also returns inner values, which calibration observes.
#pragma once

#include "compile/Compile.h"
#include "runtime/Context.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <memory>
#include <vector>

namespace lathe::quantize {

/// The inputs of one run, one value per input of @main.
using Sample = std::vector<Value>;

class ObservedModel {
public:
  /// Compiles a copy of `module`. `observed` are values of @main of `module`.
  ObservedModel(mlir::ModuleOp module, llvm::ArrayRef<mlir::Value> observed, const CompileOptions &options);

  /// Runs the model on one sample and returns copies of the model's results. Calls `see` (may be empty) with each
  /// observed value, in order; the tensor is valid during the call.
  std::vector<Tensor> run(const Sample &sample, const std::function<void(size_t, const Tensor &)> &see = {});

  /// The context that runs the model; its profile has the times of instructions.
  runtime::Context &context() { return *running; }
  /// Median seconds of `runs` runs of a sample, after a warm-up.
  double seconds(const Sample &sample, size_t runs);

private:
  std::unique_ptr<runtime::Context> running;
  size_t results = 0;               // number of results that the model has without the observed values
  std::vector<int64_t> outputIndex; // by observed value: the output that has it, or -1 - i if it is input i
};

} // namespace lathe::quantize
