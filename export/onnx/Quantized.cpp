// QuantizeLinear and DequantizeLinear, written for the operators that spell them out (ir/QuantizedForm.h).
#include "export/onnx/GraphWriter.h"

namespace lathe::onnx {
namespace {

/// True if no operator outside the form reads a value inside it.
bool isClosed(const nn::QuantizedForm &form) {
  for (mlir::Operation *op : llvm::ArrayRef(form.ops).drop_back())
    for (mlir::Operation *user : op->getUsers())
      if (!llvm::is_contained(form.ops, user))
        return false;
  return true;
}

bool isByte(ElementType type) { return type == ElementType::i8 || type == ElementType::u8; }

std::string bytesOf(const std::vector<double> &values, ElementType type) {
  std::string bytes;
  for (double value : values)
    bytes += elementBytes(type, value);
  return bytes;
}

} // namespace

void GraphWriter::findQuantized(mlir::Block &block) {
  llvm::DenseSet<mlir::Value> operands;
  for (mlir::Operation &op : block) {
    bool quantizes = true;
    std::optional<nn::QuantizedForm> form = nn::quantizeAt(&op);
    if (!form) {
      quantizes = false;
      form = nn::dequantizeAt(&op);
    }
    if (!form || !isClosed(*form) ||
        !(isByte(form->scale.type) || (!quantizes && form->scale.type == ElementType::i32)))
      continue;
    operands.insert(form->x);
    for (mlir::Operation *inner : llvm::ArrayRef(form->ops).drop_back())
      skipped.insert(inner);
    quantized.try_emplace(&op, QuantizedNode{std::move(*form), quantizes});
  }
  // Scales and zero points become operands of the node.
  for (mlir::Operation &op : llvm::reverse(block)) {
    bool parameter = llvm::isa<nn::ConstantOp>(op) || op.getName().stripDialect() == "reshape" ||
                     op.getName().stripDialect() == "cast";
    auto inside = [&](mlir::Operation *user) { return skipped.contains(user) || quantized.contains(user); };
    if (parameter && !quantized.contains(&op) && !op.use_empty() && !operands.contains(op.getResult(0)) &&
        llvm::all_of(op.getUsers(), inside))
      skipped.insert(&op);
  }
}

void GraphWriter::writeQuantized(NodeWriter &writer, const QuantizedNode &node) {
  const nn::QuantizedScale &scale = node.form.scale;
  writer.node.set_op_type(node.quantizes ? "QuantizeLinear" : "DequantizeLinear");
  writer.input(node.form.x);
  std::vector<int64_t> dims;
  if (!scale.perTensor())
    dims = {static_cast<int64_t>(scale.scale.size())};
  const std::string name = writer.node.name();
  writer.node.add_input(
      addInitializer(name + "_scale", ElementType::f32, dims, bytesOf(scale.scale, ElementType::f32)));
  writer.node.add_input(addInitializer(name + "_zero_point", scale.type, dims, bytesOf(scale.zeroPoint, scale.type)));
  if (!scale.perTensor())
    writer.attr("axis", *scale.axis);
}

} // namespace lathe::onnx
