// Bodies of control flow (nn.if, nn.loop): modules inside the module, each with a function @main.
#pragma once

#include "ir/Bridge.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe::nn {

/// A body of an nn.if or nn.loop: its module, and the function @main inside.
struct BodyRef {
  mlir::ModuleOp module;
  mlir::func::FuncOp main;
};

/// Returns the bodies that `op` runs: two for nn.if (then, else), one for nn.loop, none for other operations. Throws
/// Error with the node for a body that does not exist.
llvm::SmallVector<BodyRef> bodiesOf(mlir::Operation *op);

/// Names of the attributes of `op` that name its bodies, in the order of bodiesOf.
llvm::SmallVector<llvm::StringRef> bodyAttributes(mlir::Operation *op);
/// Returns a name for a new body that is free in `module`: `wanted`, with the characters that MLIR's symbols allow,
/// and with a number if it is taken.
std::string freeBodyName(mlir::ModuleOp module, const std::string &wanted);

/// The captured values of an nn.if or nn.loop: the last operands, which are passed to the bodies unchanged, and the
/// index of the argument of @main that the first of them becomes.
struct Captured {
  mlir::OperandRange values;
  unsigned firstArgument;
};
Captured capturedBy(mlir::Operation *op);

mlir::OperandRange carriedBy(LoopOp loop);
/// Number of arguments in the body of an nn.loop before the carried values: the iteration number and the condition.
inline constexpr unsigned loopHeader = 2;

/// Removes the bodies in `module` that no operation of its @main runs.
void eraseUnusedBodies(mlir::ModuleOp module);

} // namespace lathe::nn
