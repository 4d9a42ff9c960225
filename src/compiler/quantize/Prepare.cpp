#include "quantize/Graph.h"

#include "ir/SymbolicShapes.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"

#include <cmath>
#include <cstring>

namespace lathe::quantize {
namespace {

/// Rewrites swish as x * sigmoid(alpha * x), because Swish needs opset 24.
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
  options.forFiles = true;
  optimizeGraph(module, options);
  for (mlir::Operation &op : llvm::make_early_inc_range(mainFunction(module).getBody().front()))
    if (isOp(&op, "swish"))
      spellOutSwish(&op);
}

void requireFiniteConstants(mlir::func::FuncOp main) {
  for (mlir::Operation &op : main.getBody().front())
    for (mlir::OpOperand &operand : op.getOpOperands()) {
      auto constant = operand.get().getDefiningOp<nn::ConstantOp>();
      if (!constant || nn::infoOf(operand.get()).type != ElementType::f32)
        continue;
      bool weight = layerAt(&op).has_value() && operand.getOperandNumber() > 0;
      nn::ConstantData data = nn::constantData(constant.getValue()); // splats stay one element
      for (size_t at = 0; at + sizeof(float) <= data.bytes.size(); at += sizeof(float)) {
        float value = 0;
        std::memcpy(&value, data.bytes.data() + at, sizeof value);
        require(weight ? std::isfinite(value) : !std::isnan(value), "{}: the model has a weight of {}, expected {}",
                nn::describe(op.getLoc()), value, weight ? "finite weights" : "numbers");
      }
    }
}

std::string valueName(mlir::Value value) {
  if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {
    auto main = llvm::cast<mlir::func::FuncOp>(argument.getOwner()->getParentOp());
    auto name = main.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), "nn.name");
    return fmt::format("input '{}'", name ? name.str() : std::to_string(argument.getArgNumber()));
  }
  std::vector<std::string> nodes = nn::nodeNames(value.getDefiningOp()->getLoc());
  return fmt::format("node '{}'", nodes.empty() ? "?" : nodes.back());
}

ComparedOutput comparedOutput(mlir::func::FuncOp main) {
  nn::SymbolicShapes shapes(main);
  ComparedOutput output;
  size_t tensors = 0;
  for (mlir::OpOperand &operand : main.getBody().front().getTerminator()->getOpOperands()) {
    TensorInfo info = shapes.of(operand.get());
    if (!info.isTensor())
      continue;
    if (llvm::none_of(info.dims, [](const Dim &dim) { return isUnknown(dim); })) {
      output.index = tensors;
      output.byRow =
          info.rank() > 1 && !info.dims[0].isConstant() && llvm::any_of(main.getArguments(), [&](mlir::Value input) {
            TensorInfo given = shapes.of(input);
            return given.isTensor() && given.rank() && given.dims[0] == info.dims[0];
          });
      return output;
    }
    auto name = main.getResultAttrOfType<mlir::StringAttr>(operand.getOperandNumber(), "nn.name");
    output.open.push_back(name ? name.str() : std::to_string(operand.getOperandNumber()));
    ++tensors;
  }
  output.open.clear(); // because the chosen output becomes the first one
  return output;
}

} // namespace lathe::quantize
