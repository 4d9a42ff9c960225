// The interpreter: runs a module at graph or kernels level on the reference implementations. Twin runs, constant
// folding and `lathe verify` use it.
#pragma once

#include "ir/Bridge.h"
#include "ir/Main.h"
#include "ops/Reference.h"
#include "runtime/Tensor.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace lathe {

struct EvaluateOptions {
  /// Computes every float tensor (inputs, constants, results) in float64 within the range of its
  /// type; conversions to 16-bit and 8-bit floats still round (docs/numerics.md).
  bool judge = false;
  /// Number of threads for the outer loops of references; results do not depend on it.
  int threads = 1;
  /// Called after each operator with its results, in order of execution, also for operators inside
  /// kernels.
  std::function<void(mlir::Operation *, std::span<const Value>)> observe;
  /// Calls `observe` in the bodies of control flow, too, once for each iteration.
  bool observeBodies = false;
};

/// Returns the results of @main. Calls are followed, layouts are ignored, and values are freed
/// after their last use. Throws Error with the failing node, or with the input of wrong type or
/// shape.
std::vector<Value> evaluate(mlir::ModuleOp module, std::span<const Value> inputs, const EvaluateOptions &options = {});

/// Evaluates one operator. `operands` are in the order of the record (null: absent); operands that the record declares
/// static may be tensors.
std::vector<Value> evaluateOperator(const OpRecord &record, const Attrs &attrs, std::span<const Value *const> operands,
                                    const EvaluateOptions &options = {});

/// Returns the elements of a constant, borrowed from the IR; splats are expanded.
Tensor toTensor(mlir::ElementsAttr constant);
/// Makes a constant from a tensor; equal elements become a splat.
mlir::ElementsAttr toConstant(mlir::MLIRContext *context, const Tensor &tensor, llvm::StringRef name);

/// Sets the field `attribute` of `attrs` from the elements of `value`. Returns false if the field
/// cannot hold a tensor.
bool setStaticAttribute(Attrs &attrs, std::string_view attribute, const Tensor &value);

} // namespace lathe
