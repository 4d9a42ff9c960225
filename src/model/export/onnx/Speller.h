// Tools that replace operators which ONNX lacks by several other operators ("spell them out").
#pragma once

#include "export/onnx/GraphWriter.h"

namespace lathe::onnx {

/// Emits nn operators before the operator `op`, with names made from its name.
class Speller {
public:
  explicit Speller(mlir::Operation *op) : op(op), b(op), loc(op->getLoc()) {}

protected:
  mlir::Operation *op;
  mlir::OpBuilder b;
  mlir::Location loc;

  template <class OpAttrs>
  mlir::Value emit(llvm::StringRef name, llvm::ArrayRef<mlir::Value> operands, OpAttrs &&attrs) {
    return nn::buildValue(b, loc, name, operands, std::forward<OpAttrs>(attrs));
  }

  /// Emits a constant of an integer type; doubles must be able to hold its elements.
  mlir::Value constant(ElementType type, const std::vector<int64_t> &dims, const std::vector<double> &values) {
    std::string bytes;
    for (double value : values)
      bytes += elementBytes(type, value);
    auto names = nn::nodeNames(loc);
    auto attr = nn::makeConstant(b.getContext(), type, dims, {bytes.data(), bytes.size()},
                                 (names.empty() ? "value" : names.front()) + "_constant");
    return b.create<nn::ConstantOp>(loc, attr.getType(), attr).getOutput();
  }
  mlir::Value number(double value, ElementType type = ElementType::i64) { return constant(type, {}, {value}); }

  mlir::Value cast(mlir::Value value, ElementType type) {
    if (nn::infoOf(value).type == type)
      return value;
    CastAttrs attrs;
    attrs.to = type;
    return emit("cast", {value}, std::move(attrs));
  }
  mlir::Value clip(mlir::Value value, double least, double most) {
    ClipAttrs attrs;
    attrs.min = least;
    attrs.max = most;
    return emit("clip", {value, mlir::Value(), mlir::Value()}, std::move(attrs));
  }
  mlir::Value gather(mlir::Value table, mlir::Value index) { return emit("gather", {table, index}, GatherAttrs()); }
  mlir::Value multiply(mlir::Value x, mlir::Value y) { return emit("mul", {x, y}, MulAttrs()); }
  /// Emits the quotient x / y of integers, rounded towards zero, as ONNX divides them.
  mlir::Value divide(mlir::Value x, mlir::Value y) { return emit("div", {x, y}, DivAttrs()); }
  /// Emits an arithmetic shift to the right as a division that rounds down; this works because ONNX's Mod has the sign
  /// of the divisor.
  mlir::Value floorDivide(mlir::Value x, mlir::Value y) {
    return divide(emit("sub", {x, emit("mod", {x, y}, ModAttrs())}, SubAttrs()), y);
  }
};

/// True for a conv or conv_transpose of integers with sums of 32 or 64 bits, whose operands are 8-bit integers (x also
/// 16-bit) less a zero point: ONNX has ConvInteger only for bytes (IntegerConv.cpp).
bool isConvolutionOfIntegers(mlir::Operation *op);
/// Emits a convolution for which isConvolutionOfIntegers is true, with conv_integer of bytes.
mlir::Value spelledConvolution(mlir::Operation *op);

} // namespace lathe::onnx
