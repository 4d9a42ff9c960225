// Writes QuantizeLinear and DequantizeLinear for operators that spell them out (ir/QuantizedForm.h).
#include "export/onnx/GraphWriter.h"

#include <cmath>

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

/// One element, or a vector: the scales that ONNX Runtime accepts.
bool isPlainScale(mlir::Value value) {
  auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
  return type.getRank() <= 1 || (type.hasStaticShape() && type.getNumElements() == 1);
}

std::string bytesOf(const std::vector<double> &values, ElementType type) {
  std::string bytes;
  for (double value : values)
    bytes += elementBytes(type, value);
  return bytes;
}

/// The bytes of values for each block and column of weights, row by row; two 4-bit elements share a byte.
std::string parameterBytes(mlir::Value value, const nn::PackedWeights &weights, ElementType type) {
  std::vector<double> numbers = *nn::constantNumbers(value);
  llvm::ArrayRef<int64_t> dims = llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
  bool byColumn = !dims.empty() && dims.back() != 1, byBlock = dims.size() == 3 && dims[0] != 1;
  std::string bytes;
  int64_t width = byColumn ? weights.columns : 1, count = 0;
  for (int64_t block = 0; block < weights.blocks; ++block)
    for (int64_t column = 0; column < weights.columns; ++column, ++count) {
      double number = numbers[size_t((byBlock ? block * width : 0) + (byColumn ? column : 0))];
      if (bitWidth(type) >= 8)
        bytes += elementBytes(type, number);
      else if (count % 2 == 0)
        bytes += static_cast<char>(static_cast<int>(number) & 15);
      else
        bytes.back() = static_cast<char>(bytes.back() | (static_cast<int>(number) & 15) << 4);
    }
  return bytes;
}

/// True if every zero point is an integer in the range of the codes.
bool hasIntegerZeros(const nn::PackedWeights &weights) {
  if (!weights.zero)
    return true;
  auto numbers = nn::constantNumbers(weights.zero);
  auto [least, most] = nn::integerLimits(nn::infoOf(weights.codes).type);
  return numbers && llvm::all_of(*numbers, [&](double number) {
           return number == std::trunc(number) && number >= least && number <= most;
         });
}

} // namespace

std::optional<nn::PackedWeights> writtenPacked(mlir::Operation *product) {
  std::optional<nn::PackedWeights> weights = nn::packedWeightsOf(product);
  if (!weights || !nn::constantNumbers(weights->scale) || !hasIntegerZeros(*weights))
    return std::nullopt;
  bool four = bitWidth(nn::infoOf(weights->codes).type) == 4;
  return four || weights->blocks > 1 ? weights : std::nullopt;
}

void GraphWriter::findPacked(mlir::Block &block) {
  for (mlir::Operation &op : block) {
    std::optional<nn::PackedWeights> weights = writtenPacked(&op);
    if (!weights)
      continue;
    for (mlir::Operation *inner : llvm::ArrayRef(weights->ops).drop_back())
      skipped.insert(inner);
    // Codes get other extents and parameters another type, so they are written with the node.
    for (mlir::Value value : {weights->codes, weights->scale, weights->zero})
      if (value && value.hasOneUse())
        skipped.insert(value.getDefiningOp());
    mlir::Operation *last = weights->ops.back();
    packed.try_emplace(last, std::move(*weights));
  }
}

void GraphWriter::writePacked(NodeWriter &writer, const nn::PackedWeights &weights) {
  const std::string name = writer.node.name();
  nn::ConstantData codes = nn::constantData(weights.codes.getDefiningOp<nn::ConstantOp>().getValue());
  writer.node.set_op_type("DequantizeLinear");
  writer.node.add_input(addConstant(name + "_quantized", codes, {weights.blocks * weights.steps, weights.columns}));
  bool blocks = weights.blocks > 1;
  std::vector<int64_t> dims = {weights.columns};
  if (blocks)
    dims.insert(dims.begin(), weights.blocks);
  writer.node.add_input(addInitializer(name + "_scale", ElementType::f32, dims,
                                       parameterBytes(weights.scale, weights, ElementType::f32)));
  if (weights.zero)
    writer.node.add_input(
        addInitializer(name + "_zero_point", codes.type, dims, parameterBytes(weights.zero, weights, codes.type)));
  writer.attr("axis", static_cast<int64_t>(blocks ? 0 : 1));
  if (blocks)
    writer.attr("block_size", weights.steps);
}

// ONNX Runtime (1.30, at its default level) fuses MatMulInteger, Cast and the product with Mul(scale of x, scale of w)
// to MatMulIntegerToFloat, which has one scale for all rows of x, even if the operand has several. The Sum breaks the
// pattern.
std::optional<std::pair<mlir::Value, std::string>> GraphWriter::hideScale(mlir::Operation &op) {
  if (!isOp(&op, "mul"))
    return std::nullopt;
  for (unsigned i : {0, 1}) {
    mlir::Operation *sums = op.getOperand(1 - i).getDefiningOp(), *scale = op.getOperand(i).getDefiningOp();
    if (!isOp(sums, "cast") || !isOp(sums->getOperand(0).getDefiningOp(), "matmul_integer") || !isOp(scale, "mul") ||
        llvm::all_of(scale->getOperands(), isPlainScale))
      continue;
    NodeProto &node = *graph->add_node();
    node.set_op_type("Sum");
    node.set_name(nodeNames.take(nameOf(scale->getResult(0)) + "_sum"));
    node.add_input(nameOf(scale->getResult(0)));
    node.add_output(uniqueValueName(node.name()));
    return std::pair(scale->getResult(0), node.output(0));
  }
  return std::nullopt;
}

void GraphWriter::findQuantized(mlir::Block &block) {
  llvm::DenseSet<mlir::Value> operands;
  for (mlir::Operation &op : block) {
    bool quantizes = true;
    std::optional<nn::QuantizedForm> form = nn::quantizeAt(&op);
    if (!form) {
      quantizes = false;
      form = nn::dequantizeAt(&op);
    }
    if (!form || packed.contains(&op) || skipped.contains(&op) || !isClosed(*form) ||
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
