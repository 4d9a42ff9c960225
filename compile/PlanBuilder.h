// From a module at kernels level to the plan: values, instructions, packed constants, and the table of kernels.
#pragma once

#include "compile/Kernels.h"
#include "ir/SymbolicShapes.h"
#include "package/Writer.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace lathe {

/// An operator the plan leaves to its reference.
struct ReferenceUse {
  std::string node;   // "model.onnx: node 12 'nms' (NonMaxSuppression, opset 13)"
  std::string op;     // mnemonic
  std::string type;   // element type of the first result
  std::string reason; // why no code was made
};

struct BuiltPlan {
  std::unique_ptr<plan::PlanT> plan;
  std::vector<size_t> code; // by plan kernel: index into the library's code entries
  std::vector<ReferenceUse> references;
  double referenceFlops = 0; // of operators left to references, symbols at 1
  int layoutConversions = 0; // calls of kernels that only convert a layout
};

/// Builds the plan of @main. Kernels are asked from `library`; constants are packed into `constants`, each distinct
/// form once. Throws Error naming the node where the module is not at kernels level.
BuiltPlan buildPlan(mlir::ModuleOp module, KernelLibrary &library, package::Constants &constants);

/// Operations of one evaluation of `op`, by its record; may depend on symbols.
Dim flopsOf(mlir::Operation *op, const nn::SymbolicShapes &shapes);

/// @main of a module; throws Error when there is none.
mlir::func::FuncOp mainOf(mlir::ModuleOp module);

} // namespace lathe
