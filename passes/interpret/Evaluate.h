// The interpreter: runs graph or kernels level on the operators' references. Oracle of every twin run, constant
// folder's engine, and judge of `lathe verify`.
#pragma once

#include "ir/Bridge.h"
#include "ops/Reference.h"
#include "runtime/Tensor.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace lathe {

struct EvaluateOptions {
  /// Every float tensor (inputs, constants, results) in float64, within the range of its type; conversions to floats of
  /// 16 and 8 bits round (docs/numerics.md).
  bool judge = false;
  /// Threads a reference's outer loop is split over; results do not depend on it.
  int threads = 1;
  /// Called after each operator with its results, in order of execution; operators inside kernels too.
  std::function<void(mlir::Operation *, std::span<const Value>)> observe;
};

/// Results of @main for `inputs`. A func.call is followed, layouts are ignored, a value is freed after its last use.
/// Throws Error naming the node on which evaluation fails, or the input of wrong type or shape.
std::vector<Value> evaluate(mlir::ModuleOp module, std::span<const Value> inputs, const EvaluateOptions &options = {});

/// One operator on given operands (by position in the record, null: absent); operands that are static in the record may
/// be tensors.
std::vector<Value> evaluateOperator(const OpRecord &record, const Attrs &attrs, std::span<const Value *const> operands,
                                    const EvaluateOptions &options = {});

/// The tensor behind a constant: borrowed from the IR, expanded when it is a splat.
Tensor toTensor(mlir::ElementsAttr constant);
/// A constant of the tensor's elements; a tensor of equal elements becomes a splat.
mlir::ElementsAttr toConstant(mlir::MLIRContext *context, const Tensor &tensor, llvm::StringRef name);

/// Sets field `attribute` of `attrs` from the elements of `value`. False when no such field takes a tensor.
bool setStaticAttribute(Attrs &attrs, std::string_view attribute, const Tensor &value);

/// The function @main; throws Error when the module has none.
mlir::func::FuncOp mainFunction(mlir::ModuleOp module);

} // namespace lathe
