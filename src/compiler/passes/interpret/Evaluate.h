// The interpreter: runs a module at graph or kernels level by the reference functions of its operators. Twin runs,
// constant folding and `lathe verify` use it.
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
  /// True: every float tensor (inputs, constants, results) is computed in float64 within the range of its type;
  /// conversions to 16-bit and 8-bit floats still round (docs/numerics.md).
  bool judge = false;
  /// Number of threads for the outer loops of the reference functions; results do not depend on it.
  int threads = 1;
  /// Function that is called after each operator with the operator's results, in order of execution. It is also called
  /// for operators inside kernels.
  std::function<void(mlir::Operation *, std::span<const Value>)> observe;
  /// True: `observe` is also called for operators in the bodies of control flow, once for each iteration.
  bool observeBodies = false;
};

/// Runs the function @main of a module and returns its results. Calls are followed, layouts are ignored, and values
/// are freed after their last use. Throws Error with the name of the node that fails, or of the input that has a wrong
/// type or shape.
std::vector<Value> evaluate(mlir::ModuleOp module, std::span<const Value> inputs, const EvaluateOptions &options = {});

/// Evaluates one operator and returns its results. `operands` are in the order of its record (null: absent). Operands
/// that the record declares static may be tensors.
std::vector<Value> evaluateOperator(const OpRecord &record, const Attrs &attrs, std::span<const Value *const> operands,
                                    const EvaluateOptions &options = {});

/// Returns the elements of a constant as a tensor, which uses the memory of the IR. A splat (one value for all
/// elements) is expanded.
Tensor toTensor(mlir::ElementsAttr constant);
/// Makes a constant from a tensor. If all elements are equal, it is a splat (one value for all elements).
mlir::ElementsAttr toConstant(mlir::MLIRContext *context, const Tensor &tensor, llvm::StringRef name);

/// Sets the field `attribute` of `attrs` from the elements of `value`. Returns false if the field
/// cannot hold a tensor.
bool setStaticAttribute(Attrs &attrs, std::string_view attribute, const Tensor &value);

} // namespace lathe
