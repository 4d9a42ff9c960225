// Operators that compute every element of the result from elements at the same position.
#include "import/tflite/Tflite.h"

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;

struct Mnemonic {
  BuiltinOperator code;
  const char *mnemonic;
};

constexpr Mnemonic unary[] = {
    {ABS, "abs"},
    {CEIL, "ceil"},
    {COS, "cos"},
    {ELU, "elu"},
    {EXP, "exp"},
    {FLOOR, "floor"},
    {HARD_SWISH, "hard_swish"},
    {LOG, "log"},
    {LOGICAL_NOT, "not"},
    {LOGISTIC, "sigmoid"},
    {NEG, "neg"},
    {RELU, "relu"},
    {ROUND, "round"},
    {SIGN, "sign"},
    {SIN, "sin"},
    {SQRT, "sqrt"},
    {TANH, "tanh"},
    {STABLEHLO_ABS, "abs"},
    {STABLEHLO_COSINE, "cos"},
    {STABLEHLO_EXPONENTIAL, "exp"},
    {STABLEHLO_FLOOR, "floor"},
    {STABLEHLO_LOG, "log"},
    {STABLEHLO_LOGISTIC, "sigmoid"},
    {STABLEHLO_NEGATE, "neg"},
    {STABLEHLO_TANH, "tanh"},
};

constexpr Mnemonic binary[] = {
    {BITWISE_XOR, "bitwise_xor"},
    {EQUAL, "equal"},
    {GREATER, "greater"},
    {GREATER_EQUAL, "greater_equal"},
    {LESS, "less"},
    {LESS_EQUAL, "less_equal"},
    {LOGICAL_AND, "and"},
    {LOGICAL_OR, "or"},
    {MAXIMUM, "max"},
    {MINIMUM, "min"},
    {POW, "pow"},
    {STABLEHLO_ADD, "add"},
    {STABLEHLO_DIVIDE, "div"},
    {STABLEHLO_MAXIMUM, "max"},
    {STABLEHLO_MINIMUM, "min"},
    {STABLEHLO_MULTIPLY, "mul"},
    {STABLEHLO_POWER, "pow"},
    {STABLEHLO_SUBTRACT, "sub"},
};

const char *mnemonicIn(std::span<const Mnemonic> table, BuiltinOperator code) {
  for (const Mnemonic &row : table)
    if (row.code == code)
      return row.mnemonic;
  return nullptr;
}

// ---- One operand --------------------------------------------------------------------------------------------------

void importUnary(Operator &op) {
  op.node.expectInputs(1, 1);
  op.set(op.emit(mnemonicIn(unary, op.code()), {op.in(0)}));
}

void importRelus(Operator &op) {
  op.node.expectInputs(1, 1);
  double low = op.code() == RELU_N1_TO_1 ? -1 : 0, high = op.code() == RELU6 ? 6 : 1;
  op.set(op.emit("clip", {op.in(0)}, {{"min", low}, {"max", high}}));
}

void importLeakyRelu(Operator &op) {
  op.node.expectInputs(1, 1);
  double alpha = shortestDouble(op.options<file::LeakyReluOptions>(BuiltinOptions::LeakyRelu).alpha());
  op.set(op.emit("leaky_relu", {op.in(0)}, {{"alpha", alpha}}));
}

void importGelu(Operator &op) {
  op.node.expectInputs(1, 1);
  bool approximate = op.options<file::GeluOptions>(BuiltinOptions::Gelu).approximate();
  op.set(op.emit("gelu", {op.in(0)}, {{"approximate", approximate ? "tanh" : "none"}}));
}

void importRsqrt(Operator &op) {
  op.node.expectInputs(1, 1);
  op.set(op.emit("reciprocal", {op.emit("sqrt", {op.in(0)})}));
}

void importSquare(Operator &op) {
  op.node.expectInputs(1, 1);
  op.set(op.emit("mul", {op.in(0), op.in(0)}));
}

/// The type of the result stands in the tensor; the options need not have it.
void importCast(Operator &op) {
  op.node.expectInputs(1, 1);
  ElementType to = op.outputType();
  if (to == ElementType::invalid)
    op.unsupported("a cast to " + typeName(op.outputTensor() ? op.outputTensor()->type() : file::TensorType::RESOURCE));
  op.set(op.node.cast(op.in(0), to));
}

void importBitcast(Operator &op) {
  op.node.expectInputs(1, 1);
  ElementType from = op.node.info(op.in(0)).type, to = op.outputType();
  if (to == ElementType::invalid || bitWidth(from) != bitWidth(to))
    op.unsupported(fmt::format("the bits of {} as {}: elements of another width", name(from), name(to)));
  op.set(from == to ? op.in(0) : op.emit("bit_cast", {op.in(0)}, {{"to", to}}));
}

/// Weights that are stored in 16 bits; quantised operands have an importer of their own.
void importDequantize(Operator &op) {
  op.node.expectInputs(1, 1);
  if (!isFloat(op.node.info(op.in(0)).type))
    op.unsupported(fmt::format("the operand is {} without a scale", name(op.node.info(op.in(0)).type)));
  op.set(op.node.cast(op.in(0), ElementType::f32));
}

// ---- Two operands -------------------------------------------------------------------------------------------------

void importBinary(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(op.emit(mnemonicIn(binary, op.code()), {op.in(0), op.in(1)}));
}

void importNotEqual(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(op.emit("not", {op.emit("equal", {op.in(0), op.in(1)})}));
}

void importArithmetic(Operator &op) {
  op.node.expectInputs(2, 2);
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

void importSquaredDifference(Operator &op) {
  op.node.expectInputs(2, 2);
  mlir::Value difference = op.emit("sub", {op.in(0), op.in(1)});
  op.set(op.emit("mul", {difference, difference}));
}

void importFloorMod(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(floorMod(op, op.in(0), op.in(1)));
}

void importFloorDiv(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(floorDiv(op, op.in(0), op.in(1)));
}

/// x shifted by 0 to width - 1 bits, as TensorFlow Lite limits them; the sign moves in.
void importRightShift(Operator &op) {
  op.node.expectInputs(2, 2);
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
  // Of a negative number the complement is shifted: zeros move in, which are ones of the number.
  mlir::Value negative = op.emit("less", {x, number(0)});
  mlir::Value positive = op.emit("where", {negative, op.emit("bitwise_not", {x}), x});
  mlir::Value y = cast(shifted(cast(positive, natural), cast(by, natural)), type);
  op.set(op.emit("where", {negative, op.emit("bitwise_not", {y}), y}));
}

// ---- More operands ------------------------------------------------------------------------------------------------

void importPrelu(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(op.emit("prelu", {op.in(0), op.in(1)}));
}

void importAddN(Operator &op) {
  mlir::Value sum = op.in(0);
  for (size_t i = 1; i < op.node.inputCount(); ++i)
    sum = op.emit("add", {sum, op.in(i)});
  op.set(sum);
}

/// A condition of rank 1 chooses whole rows in SELECT.
void importSelect(Operator &op) {
  op.node.expectInputs(3, 3);
  mlir::Value condition = op.in(0), a = op.in(1), b = op.in(2);
  Dims dims = op.dims(condition);
  if (op.code() == SELECT && dims.size() == 1 && op.node.rank(a) > 1) {
    dims.resize(op.dims(a).size(), Dim(1));
    condition = op.node.reshape(condition, dims);
  }
  op.set(op.emit("where", {condition, a, b}));
}

void importClamp(Operator &op) { // smallest value, operand, largest value
  op.node.expectInputs(3, 3);
  op.set(op.emit("min", {op.emit("max", {op.in(1), op.in(0)}), op.in(2)}));
}

} // namespace

void addElementwiseImporters(Importers &table) {
  for (const Mnemonic &row : unary)
    table[row.code] = {importUnary};
  for (const Mnemonic &row : binary)
    table[row.code] = {importBinary};
  for (BuiltinOperator code : {RELU6, RELU_N1_TO_1, RELU_0_TO_1})
    table[code] = {importRelus};
  for (BuiltinOperator code : {ADD, SUB, MUL, DIV})
    table[code] = {importArithmetic};
  table[LEAKY_RELU] = {importLeakyRelu};
  table[GELU] = {importGelu};
  table[RSQRT] = {importRsqrt};
  table[STABLEHLO_RSQRT] = {importRsqrt};
  table[SQUARE] = {importSquare};
  table[CAST] = {importCast};
  table[STABLEHLO_CONVERT] = {importCast};
  table[BITCAST] = {importBitcast};
  table[RIGHT_SHIFT] = {importRightShift};
  table[DEQUANTIZE] = {importDequantize};
  table[NOT_EQUAL] = {importNotEqual};
  table[SQUARED_DIFFERENCE] = {importSquaredDifference};
  table[FLOOR_DIV] = {importFloorDiv};
  table[FLOOR_MOD] = {importFloorMod};
  table[PRELU] = {importPrelu};
  table[ADD_N] = {importAddN};
  table[SELECT] = {importSelect, /*moves=*/true};
  table[SELECT_V2] = {importSelect, /*moves=*/true};
  table[STABLEHLO_SELECT] = {importSelect, /*moves=*/true};
  table[STABLEHLO_CLAMP] = {importClamp};
}

} // namespace lathe::tflite
