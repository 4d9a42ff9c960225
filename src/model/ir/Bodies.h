// Bodies of control flow (nn.if, nn.loop): modules inside the module, each with a function @main.
#pragma once

#include "ir/Bridge.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe::nn {

/// A body and what its operation says about it.
struct BodyRef {
  mlir::ModuleOp module;
  mlir::func::FuncOp main;
};

/// The bodies that `op` runs: two of nn.if (then, else), one of nn.loop, none of any other operation. Throws Error with
/// the node for a body that does not exist.
llvm::SmallVector<BodyRef> bodiesOf(mlir::Operation *op);

/// Names of the attributes that name these bodies, in the same order.
llvm::SmallVector<llvm::StringRef> bodyAttributes(mlir::Operation *op);
/// A name for another body of `module`: `wanted` in the letters of MLIR's symbols, with a number if it is taken.
std::string freeBodyName(mlir::ModuleOp module, const std::string &wanted);

/// Operands of nn.if and nn.loop that are passed to the bodies unchanged, its last ones, and the first argument of @main
/// they become.
struct Captured {
  mlir::OperandRange values;
  unsigned firstArgument;
};
Captured capturedBy(mlir::Operation *op);

/// Operands of nn.loop by role.
mlir::OperandRange carriedBy(LoopOp loop);
/// The first arguments of the body of nn.loop are the iteration number and the condition; the carried values follow.
inline constexpr unsigned loopHeader = 2;

/// Removes bodies of `module` that no operation of its @main runs.
void eraseUnusedBodies(mlir::ModuleOp module);

} // namespace lathe::nn
