#include "ir/SymbolicShapes.h"
#include "passes/Passes.h"
#include "passes/Rewrite.h"

namespace lathe {
namespace {

/// The constant of known contents, in the integer type the IR gives the value.
Tensor tensorOf(const TensorInfo &info) {
  std::vector<int64_t> values = constants(*info.contents);
  Tensor tensor = Tensor::of<int64_t>(constants(info.dims), values);
  return info.type == ElementType::i64 ? tensor : tensor.convertedTo(info.type);
}

} // namespace

void inferShapes(mlir::ModuleOp module) {
  mlir::func::FuncOp function = mainFunction(module);
  nn::SymbolicShapes shapes(function);
  for (mlir::Operation &op : llvm::make_early_inc_range(function.getBody().front())) {
    if (!nn::recordOf(&op) && !llvm::isa<nn::IfOp, nn::LoopOp>(op))
      continue;
    for (mlir::Value result : op.getResults()) {
      TensorInfo info = shapes.of(result);
      auto known = rankedType(result);
      result.setType(nn::toMlirType(module.getContext(), info, known ? known.getEncoding() : mlir::Attribute()));
    }
    if (op.getNumResults() != 1 || !nn::recordOf(&op))
      continue;
    TensorInfo info = shapes.of(op.getResult(0));
    if (info.contents && allConstant(*info.contents) && allConstant(info.dims)) {
      mlir::OpBuilder builder(&op);
      replaceWith(&op, makeConstant(builder, op.getLoc(), tensorOf(info), constantName(&op, "")));
    }
  }
  settleResultTypes(function);
}

} // namespace lathe
