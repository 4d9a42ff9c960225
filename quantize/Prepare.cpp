#include "quantize/Graph.h"

#include "passes/Passes.h"
#include "passes/Pipeline.h"

namespace lathe::quantize {
namespace {

/// x * sigmoid(alpha * x): Swish is of opset 24.
void spellOutSwish(mlir::Operation *op) {
  mlir::OpBuilder b(op);
  mlir::Location loc = op->getLoc();
  mlir::Value x = op->getOperand(0), scaled = x;
  if (double alpha = nn::attrsAs<SwishAttrs>(op).alpha; alpha != 1)
    scaled = nn::buildValue(b, loc, "mul",
                            {x, makeConstant(b, loc, ElementType::f32, {}, {alpha}, constantName(op, ".alpha"))},
                            MulAttrs());
  mlir::Value gate = nn::buildValue(b, loc, "sigmoid", {scaled}, SigmoidAttrs());
  replaceWith(op, nn::buildValue(b, loc, "mul", {x, gate}, MulAttrs()));
}

} // namespace

void prepare(mlir::ModuleOp module) {
  PipelineOptions options;
  options.level = 1;
  optimizeGraph(module, options);
  for (mlir::Operation &op : llvm::make_early_inc_range(mainFunction(module).getBody().front()))
    if (isOp(&op, "swish"))
      spellOutSwish(&op);
}

} // namespace lathe::quantize
