// Elementwise operators.
#include "import/tflite/Tflite.h"

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;

// ---- One operand --------------------------------------------------------------------------------------------------

void importLeakyRelu(Operator &op) {
  double alpha = shortestDouble(op.options<file::LeakyReluOptions>(BuiltinOptions::LeakyRelu).alpha());
  op.set(op.emit("leaky_relu", {op.in(0)}, {{"alpha", alpha}}));
}

void importGelu(Operator &op) {
  bool approximate = op.options<file::GeluOptions>(BuiltinOptions::Gelu).approximate();
  op.set(op.emit("gelu", {op.in(0)}, {{"approximate", approximate ? "tanh" : "none"}}));
}

/// The tensor states the type of the result; the options may lack it.
void importCast(Operator &op) {
  ElementType to = op.outputType();
  if (to == ElementType::invalid)
    op.unsupported("a cast to " + typeName(op.outputTensor() ? op.outputTensor()->type() : file::TensorType::RESOURCE));
  op.set(op.node.cast(op.in(0), to));
}

void importBitcast(Operator &op) {
  ElementType from = op.node.info(op.in(0)).type, to = op.outputType();
  if (to == ElementType::invalid || bitWidth(from) != bitWidth(to))
    op.unsupported(fmt::format("the bits of {} as {}: elements of another width", name(from), name(to)));
  op.set(from == to ? op.in(0) : op.emit("bit_cast", {op.in(0)}, {{"to", to}}));
}

/// Weights that are stored in 16 bits; quantised operands have a separate importer.
void importDequantize(Operator &op) {
  if (!isFloat(op.node.info(op.in(0)).type))
    op.unsupported(fmt::format("the operand is {} without a scale", name(op.node.info(op.in(0)).type)));
  op.set(op.node.cast(op.in(0), ElementType::f32));
}

void importFakeQuant(Operator &op) {
  const auto &options = op.options<file::FakeQuantOptions>(BuiltinOptions::FakeQuant);
  op.set(fakeQuant(op, op.in(0), options.min(), options.max(), options.bits(), options.narrow_range()));
}

// ---- Two operands -------------------------------------------------------------------------------------------------

void importArithmetic(Operator &op) {
  bool sum = op.code() == ADD || op.code() == SUB;
  Activation activation =
      op.code() == ADD ? op.options<file::SumOptions>(BuiltinOptions::Add).activation()
      : op.code() == SUB
          ? op.options<file::SumOptions>(BuiltinOptions::Sub).activation()
          : op.options<file::ActivationOptions>(op.code() == MUL ? BuiltinOptions::Mul : BuiltinOptions::Div)
                .activation();
  const char *mnemonic = sum ? (op.code() == ADD ? "add" : "sub") : op.code() == MUL ? "mul" : "div";
  op.set(activate(op.node, op.emit(mnemonic, {op.in(0), op.in(1)}), activation));
}

/// x shifted by 0 to width - 1 bits, the limits of TensorFlow Lite; the sign bit is kept.
void importRightShift(Operator &op) {
  ElementType type = op.node.info(op.in(0)).type;
  auto number = [&](int64_t value) { return op.node.constantScalar(type, static_cast<double>(value)); };
  auto shifted = [&](mlir::Value x, mlir::Value by) { return op.emit("bit_shift", {x, by}, {{"direction", "RIGHT"}}); };
  mlir::Value x = op.in(0), by = op.emit("min", {op.in(1), number(bitWidth(type) - 1)});
  if (isUnsignedInteger(type))
    return op.set(shifted(x, by));
  by = op.emit("max", {by, number(0)});
  ElementType natural = type == ElementType::i8    ? ElementType::u8
                        : type == ElementType::i16 ? ElementType::u16
                        : type == ElementType::i32 ? ElementType::u32
                                                   : ElementType::u64;
  auto cast = [&](mlir::Value value, ElementType to) { return op.emit("bit_cast", {value}, {{"to", to}}); };
  // For negative numbers the complement is shifted, so that ones move in.
  mlir::Value negative = op.emit("less", {x, number(0)});
  mlir::Value positive = op.emit("where", {negative, op.emit("bitwise_not", {x}), x});
  mlir::Value y = cast(shifted(cast(positive, natural), cast(by, natural)), type);
  op.set(op.emit("where", {negative, op.emit("bitwise_not", {y}), y}));
}

// ---- More operands ------------------------------------------------------------------------------------------------

void importClamp(Operator &op) { // operands: smallest value, x, largest value
  op.set(op.emit("min", {op.emit("max", {op.in(1), op.in(0)}), op.in(2)}));
}

} // namespace

void addElementwiseImporters(Importers &table) {
  for (BuiltinOperator code : {ADD, SUB, MUL, DIV})
    table[code] = {importArithmetic, 2};
  table[LEAKY_RELU] = {importLeakyRelu, 1};
  table[GELU] = {importGelu, 1};
  table[CAST] = {importCast, 1};
  table[STABLEHLO_CONVERT] = {importCast, 1};
  table[BITCAST] = {importBitcast, 1};
  table[RIGHT_SHIFT] = {importRightShift, 2};
  table[DEQUANTIZE] = {importDequantize, 1};
  table[FAKE_QUANT] = {importFakeQuant, 1};
  table[STABLEHLO_CLAMP] = {importClamp, 3};
}

} // namespace lathe::tflite
