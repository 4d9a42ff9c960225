// Builds the plan of a module at kernels level: the plan's values, instructions, packed constants and the table of
// kernels.
#pragma once

#include "compile/Kernels.h"
#include "ir/SymbolicShapes.h"
#include "package/Writer.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace lathe {

/// An operator that runs on its reference implementation, because no kernel computes it.
struct ReferenceUse {
  std::string node;   // the node with its place in the model: "model.onnx: node 12 'nms' (NonMaxSuppression, opset 13)"
  std::string op;     // mnemonic of the operator
  std::string type;   // element type of the operator's first result
  std::string reason; // reason why no code was generated
};

struct BuiltPlan {
  std::unique_ptr<plan::PlanT> plan;
  std::vector<mlir::func::FuncOp> entry; // by instruction of the entry block: the kernel that it calls; null: none
  std::vector<size_t> code;              // by kernel of the plan: index of its code among the kernel library's entries
  std::vector<ReferenceUse> references;
  double referenceFlops = 0; // number of operations of the operators in `references`; symbols count as 1
  int layoutConversions = 0; // number of kernel calls that only convert a layout
  int timedBatches = 0;      // number of kernel calls with measured times for both orders of images
};

/// Builds the plan of the function @main with kernels from `library`. Constants are packed into `constants`, each
/// distinct form once. Throws Error with the node if the module is not at kernels level.
BuiltPlan buildPlan(mlir::ModuleOp module, KernelLibrary &library, package::Constants &constants);

/// Bytes of a tensor in memory: a blocked axis is padded to whole blocks.
Dim physicalBytes(const TensorInfo &info, nn::BlockedAttr layout);

/// Bytes that one call of a kernel reads and writes; may depend on symbols. `operands` and `results` are the values of
/// the call, or the arguments and results of the function. A slice or gather reads at most the bytes it writes.
Dim bytesMoved(mlir::func::FuncOp kernel, mlir::ValueRange operands, mlir::ValueRange results,
               const nn::SymbolicShapes &shapes);

/// Number of operations (flops) of one evaluation of `op`, as its record states; may depend on symbols.
Dim flopsOf(mlir::Operation *op, const nn::SymbolicShapes &shapes);

} // namespace lathe
