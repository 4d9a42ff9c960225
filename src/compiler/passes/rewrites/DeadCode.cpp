#include "ir/Bodies.h"
#include "passes/Passes.h"
#include "passes/Rewrite.h"

#include "llvm/ADT/DenseSet.h"

namespace lathe {

void deadCode(mlir::ModuleOp module) {
  for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(mainFunction(module).getBody().front())))
    if (!op.hasTrait<mlir::OpTrait::IsTerminator>() &&
        op.use_empty()) // nn operators and kernel calls have no side effects
      op.erase();
  llvm::DenseSet<mlir::StringAttr> called; // in one walk; asking for each function's uses would walk once per function
  module.walk([&](mlir::func::CallOp call) { called.insert(call.getCalleeAttr().getAttr()); });
  for (auto function : llvm::make_early_inc_range(module.getOps<mlir::func::FuncOp>()))
    if (function.isPrivate() && !called.contains(function.getSymNameAttr()))
      function.erase();
  nn::eraseUnusedBodies(module);
}

} // namespace lathe
