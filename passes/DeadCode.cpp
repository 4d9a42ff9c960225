#include "passes/Passes.h"
#include "passes/Rewrite.h"

#include "mlir/IR/SymbolTable.h"

namespace lathe {

void deadCode(mlir::ModuleOp module) {
  for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(mainFunction(module).getBody().front())))
    if (!op.hasTrait<mlir::OpTrait::IsTerminator>() &&
        op.use_empty()) // nn operators and kernel calls have no side effects
      op.erase();
  for (auto function : llvm::make_early_inc_range(module.getOps<mlir::func::FuncOp>()))
    if (function.isPrivate() && mlir::SymbolTable::symbolKnownUseEmpty(function, module))
      function.erase();
}

} // namespace lathe
