// Operators that compute every element of the result from elements at the same position.
#include "import/tensorflow/TensorFlow.h"

#include <limits>

namespace lathe::tensorflow {
namespace {

struct Mnemonic {
  const char *op, *mnemonic;
};

constexpr Mnemonic unary[] = {
    {"Abs", "abs"},           {"Acos", "acos"},
    {"Acosh", "acosh"},       {"Asin", "asin"},
    {"Asinh", "asinh"},       {"Atan", "atan"},
    {"Atanh", "atanh"},       {"Ceil", "ceil"},
    {"Cos", "cos"},           {"Cosh", "cosh"},
    {"Elu", "elu"},           {"Erf", "erf"},
    {"Exp", "exp"},           {"Floor", "floor"},
    {"Inv", "reciprocal"},    {"Invert", "bitwise_not"},
    {"IsInf", "is_inf"},      {"IsNan", "is_nan"},
    {"Log", "log"},           {"LogicalNot", "not"},
    {"Neg", "neg"},           {"Reciprocal", "reciprocal"},
    {"Relu", "relu"},         {"Rint", "round"},
    {"Selu", "selu"},         {"Sigmoid", "sigmoid"},
    {"Sign", "sign"},         {"Sin", "sin"},
    {"Sinh", "sinh"},         {"Softplus", "softplus"},
    {"Softsign", "softsign"}, {"Sqrt", "sqrt"},
    {"Tan", "tan"},           {"Tanh", "tanh"},
};

constexpr Mnemonic binary[] = {
    {"Add", "add"},
    {"AddV2", "add"},
    {"BitwiseAnd", "bitwise_and"},
    {"BitwiseOr", "bitwise_or"},
    {"BitwiseXor", "bitwise_xor"},
    {"Div", "div"},
    {"Greater", "greater"},
    {"GreaterEqual", "greater_equal"},
    {"Less", "less"},
    {"LessEqual", "less_equal"},
    {"LogicalAnd", "and"},
    {"LogicalOr", "or"},
    {"LogicalXor", "xor"},
    {"Maximum", "max"},
    {"Minimum", "min"},
    {"Mul", "mul"},
    {"Pow", "pow"},
    {"RealDiv", "div"},
    {"Sub", "sub"},
    {"TruncateDiv", "div"},
};

template <size_t N> const char *mnemonicIn(const Mnemonic (&table)[N], const std::string &op) {
  for (const Mnemonic &row : table)
    if (op == row.op)
      return row.mnemonic;
  return nullptr;
}

// ---- One operand --------------------------------------------------------------------------------------------------

void importUnary(Operator &op) {
  op.node.expectInputs(1, 1);
  op.set(op.emit(mnemonicIn(unary, op.code()), {op.in(0)}));
}

/// Halves to even; whole numbers are round.
void importRound(Operator &op) {
  op.node.expectInputs(1, 1);
  op.set(isFloat(op.typeOf(op.in(0))) ? op.emit("round", {op.in(0)}) : op.in(0));
}

void importRelu6(Operator &op) {
  op.node.expectInputs(1, 1);
  op.set(op.emit("clip", {op.in(0)}, {{"min", 0.0}, {"max", 6.0}}));
}

void importLeakyRelu(Operator &op) {
  op.node.expectInputs(1, 1);
  op.set(op.emit("leaky_relu", {op.in(0)}, {{"alpha", op.node.floatAttr("alpha", 0.2)}}));
}

void importRsqrt(Operator &op) {
  op.node.expectInputs(1, 1);
  op.set(op.emit("reciprocal", {op.emit("sqrt", {op.in(0)})}));
}

void importSquare(Operator &op) {
  op.node.expectInputs(1, 1);
  op.set(op.emit("mul", {op.in(0), op.in(0)}));
}

void importErfc(Operator &op) {
  op.node.expectInputs(1, 1);
  op.set(op.emit("sub", {op.number(op.typeOf(op.in(0)), 1), op.emit("erf", {op.in(0)})}));
}

/// log(1 + x) with all digits for small x: u = 1 + x rounds, and log(u) / (u - 1) hardly depends on it.
void importLog1p(Operator &op) {
  op.node.expectInputs(1, 1);
  mlir::Value x = op.in(0), one = op.number(op.typeOf(x), 1), u = op.emit("add", {x, one});
  mlir::Value slope = op.emit("div", {op.emit("log", {u}), op.emit("sub", {u, one})});
  mlir::Value whole = op.emit("or", {op.emit("equal", {u, one}), op.emit("is_inf", {u})});
  mlir::Value rest = op.emit("where", {op.emit("is_inf", {u}), u, x});
  op.set(op.emit("where", {whole, rest, op.emit("mul", {x, slope})}));
}

/// exp(x) - 1 with all digits for small x: 2 tanh(x / 2) / (1 - tanh(x / 2)).
void importExpm1(Operator &op) {
  op.node.expectInputs(1, 1);
  mlir::Value x = op.in(0);
  ElementType type = op.typeOf(x);
  mlir::Value one = op.number(type, 1), t = op.emit("tanh", {op.emit("mul", {x, op.number(type, 0.5)})});
  mlir::Value small = op.emit("div", {op.emit("add", {t, t}), op.emit("sub", {one, t})});
  mlir::Value isSmall = op.emit("less", {op.emit("abs", {x}), one});
  op.set(op.emit("where", {isSmall, small, op.emit("sub", {op.emit("exp", {x}), one})}));
}

void importIsFinite(Operator &op) {
  op.node.expectInputs(1, 1);
  op.set(op.emit("not", {op.emit("or", {op.emit("is_nan", {op.in(0)}), op.emit("is_inf", {op.in(0)})})}));
}

void importCast(Operator &op) {
  op.node.expectInputs(1, 1);
  op.node.ignore({"Truncate"});
  op.set(op.node.cast(op.in(0), op.typeAttr("DstT", ElementType::invalid)));
}

void importBitcast(Operator &op) {
  op.node.expectInputs(1, 1);
  ElementType to = op.typeAttr("type", ElementType::invalid);
  if (bitWidth(to) != bitWidth(op.typeOf(op.in(0))))
    op.unsupported("a bitcast between types of different widths");
  op.set(op.emit("bit_cast", {op.in(0)}, {{"to", to}}));
}

// ---- Two operands -------------------------------------------------------------------------------------------------

void importBinary(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(op.emit(mnemonicIn(binary, op.code()), {op.in(0), op.in(1)}));
}

void importEqual(Operator &op) {
  op.node.expectInputs(2, 2);
  mlir::Value equal = op.emit("equal", {op.in(0), op.in(1)});
  op.set(op.code() == "NotEqual" ? op.emit("not", {equal}) : equal);
}

void importSquaredDifference(Operator &op) {
  op.node.expectInputs(2, 2);
  mlir::Value difference = op.emit("sub", {op.in(0), op.in(1)});
  op.set(op.emit("mul", {difference, difference}));
}

void importFloorDiv(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(floorDiv(op, op.in(0), op.in(1)));
}

void importFloorMod(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(floorMod(op, op.in(0), op.in(1)));
}

void importTruncateMod(Operator &op) { // the sign of the dividend
  op.node.expectInputs(2, 2);
  op.set(op.emit("mod", {op.in(0), op.in(1)}, {{"fmod", true}}));
}

void importAtan2(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(atan2(op, op.in(0), op.in(1)));
}

/// The result where the operand `decides` is not zero, else 0.
mlir::Value unlessZero(Operator &op, mlir::Value decides, mlir::Value result) {
  mlir::Value zero = op.number(op.typeOf(decides), 0);
  return op.emit("where", {op.emit("equal", {decides, zero}), zero, result});
}

void importNoNan(Operator &op) {
  op.node.expectInputs(2, 2);
  mlir::Value a = op.in(0), b = op.in(1);
  op.set(unlessZero(op, b, op.emit(op.code() == "DivNoNan" ? "div" : "mul", {a, b})));
}

void importXlogy(Operator &op) {
  op.node.expectInputs(2, 2);
  mlir::Value x = op.in(0), y = op.in(1);
  bool more = op.code() == "Xlog1py";
  mlir::Value log = op.emit("log", {more ? op.emit("add", {y, op.number(op.typeOf(y), 1)}) : y});
  op.set(unlessZero(op, x, op.code() == "Xdivy" ? op.emit("div", {x, y}) : op.emit("mul", {x, log})));
}

void importApproximateEqual(Operator &op) {
  op.node.expectInputs(2, 2);
  mlir::Value difference = op.emit("abs", {op.emit("sub", {op.in(0), op.in(1)})});
  double tolerance = op.node.floatAttr("tolerance", 1e-5);
  op.set(op.emit("less", {difference, op.number(op.typeOf(difference), tolerance)}));
}

void importShift(Operator &op) {
  op.node.expectInputs(2, 2);
  if (!isUnsignedInteger(op.typeOf(op.in(0))))
    op.unsupported(fmt::format("shifts of {}; only unsigned numbers are shifted", name(op.typeOf(op.in(0)))));
  const char *direction = op.code() == "LeftShift" ? "LEFT" : "RIGHT";
  op.set(op.emit("bit_shift", {op.in(0), op.in(1)}, {{"direction", direction}}));
}

// ---- More operands ------------------------------------------------------------------------------------------------

void importAddN(Operator &op) {
  op.node.ignore({"shape"});
  mlir::Value sum = op.in(0);
  for (size_t i = 1; i < op.node.inputCount(); ++i)
    sum = op.emit("add", {sum, op.in(i)});
  op.set(sum);
}

/// A condition of rank 1 chooses whole rows in the first version.
void importSelect(Operator &op) {
  op.node.expectInputs(3, 3);
  mlir::Value condition = op.in(0), a = op.in(1), b = op.in(2);
  Dims dims = op.dims(condition);
  if (op.code() == "Select" && dims.size() == 1 && op.rank(a) > 1) {
    dims.resize(op.dims(a).size(), Dim(1));
    condition = op.node.reshape(condition, dims);
  }
  op.set(op.emit("where", {condition, a, b}));
}

void importClip(Operator &op) { // operand, smallest value, largest value
  op.node.expectInputs(3, 3);
  op.set(op.emit("max", {op.emit("min", {op.in(0), op.in(2)}), op.in(1)}));
}

} // namespace

void addElementwiseImporters(Importers &table) {
  for (const Mnemonic &row : unary)
    table[row.op] = {importUnary};
  for (const Mnemonic &row : binary)
    table[row.op] = {importBinary};
  table["Round"] = {importRound};
  table["Relu6"] = {importRelu6};
  table["LeakyRelu"] = {importLeakyRelu};
  table["Rsqrt"] = {importRsqrt};
  table["Square"] = {importSquare};
  table["Erfc"] = {importErfc};
  table["Log1p"] = {importLog1p};
  table["Expm1"] = {importExpm1};
  table["IsFinite"] = {importIsFinite};
  table["Cast"] = {importCast};
  table["Bitcast"] = {importBitcast};
  table["Equal"] = table["NotEqual"] = {importEqual};
  table["SquaredDifference"] = {importSquaredDifference};
  table["FloorDiv"] = {importFloorDiv};
  table["FloorMod"] = {importFloorMod};
  table["Mod"] = table["TruncateMod"] = {importTruncateMod};
  table["Atan2"] = {importAtan2};
  table["DivNoNan"] = table["MulNoNan"] = {importNoNan};
  table["Xlogy"] = table["Xlog1py"] = table["Xdivy"] = {importXlogy};
  table["ApproximateEqual"] = {importApproximateEqual};
  table["LeftShift"] = table["RightShift"] = {importShift};
  table["AddN"] = table["AccumulateNV2"] = {importAddN};
  table["Select"] = table["SelectV2"] = {importSelect};
  table["ClipByValue"] = {importClip};
}

} // namespace lathe::tensorflow
