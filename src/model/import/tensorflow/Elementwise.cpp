// Elementwise operators.
#include "import/tensorflow/TensorFlow.h"

#include <limits>

namespace lathe::tensorflow {
namespace {

// ---- One operand --------------------------------------------------------------------------------------------------

/// Rounds halves to even; integers stay as they are.
void importRound(Operator &op) { op.set(isFloat(op.typeOf(op.in(0))) ? op.emit("round", {op.in(0)}) : op.in(0)); }

void importLeakyRelu(Operator &op) {
  op.set(op.emit("leaky_relu", {op.in(0)}, {{"alpha", op.node.floatAttr("alpha", 0.2)}}));
}

void importErfc(Operator &op) {
  op.set(op.emit("sub", {op.number(op.typeOf(op.in(0)), 1), op.emit("erf", {op.in(0)})}));
}

/// log(1 + x), precise for small x: u = 1 + x rounds, but log(u) / (u - 1) hardly depends on the rounding.
void importLog1p(Operator &op) {
  mlir::Value x = op.in(0), one = op.number(op.typeOf(x), 1), u = op.emit("add", {x, one});
  mlir::Value slope = op.emit("div", {op.emit("log", {u}), op.emit("sub", {u, one})});
  mlir::Value whole = op.emit("or", {op.emit("equal", {u, one}), op.emit("is_inf", {u})});
  mlir::Value rest = op.emit("where", {op.emit("is_inf", {u}), u, x});
  op.set(op.emit("where", {whole, rest, op.emit("mul", {x, slope})}));
}

/// exp(x) - 1, precise for small x: 2 tanh(x / 2) / (1 - tanh(x / 2)).
void importExpm1(Operator &op) {
  mlir::Value x = op.in(0);
  ElementType type = op.typeOf(x);
  mlir::Value one = op.number(type, 1), t = op.emit("tanh", {op.emit("mul", {x, op.number(type, 0.5)})});
  mlir::Value small = op.emit("div", {op.emit("add", {t, t}), op.emit("sub", {one, t})});
  mlir::Value isSmall = op.emit("less", {op.emit("abs", {x}), one});
  op.set(op.emit("where", {isSmall, small, op.emit("sub", {op.emit("exp", {x}), one})}));
}

void importIsFinite(Operator &op) {
  op.set(op.emit("not", {op.emit("or", {op.emit("is_nan", {op.in(0)}), op.emit("is_inf", {op.in(0)})})}));
}

void importCast(Operator &op) {
  op.node.ignore({"Truncate"});
  op.set(op.node.cast(op.in(0), op.typeAttr("DstT", ElementType::invalid)));
}

void importBitcast(Operator &op) {
  ElementType to = op.typeAttr("type", ElementType::invalid);
  if (bitWidth(to) != bitWidth(op.typeOf(op.in(0))))
    op.unsupported("a bitcast between types of different widths");
  op.set(op.emit("bit_cast", {op.in(0)}, {{"to", to}}));
}

// ---- Two operands -------------------------------------------------------------------------------------------------

void importTruncateMod(Operator &op) { // has the sign of the dividend
  op.set(op.emit("mod", {op.in(0), op.in(1)}, {{"fmod", true}}));
}

/// `result` where the operand `decides` is not zero, else 0.
mlir::Value unlessZero(Operator &op, mlir::Value decides, mlir::Value result) {
  mlir::Value zero = op.number(op.typeOf(decides), 0);
  return op.emit("where", {op.emit("equal", {decides, zero}), zero, result});
}

void importNoNan(Operator &op) {
  mlir::Value a = op.in(0), b = op.in(1);
  op.set(unlessZero(op, b, op.emit(op.code() == "DivNoNan" ? "div" : "mul", {a, b})));
}

void importXlogy(Operator &op) {
  mlir::Value x = op.in(0), y = op.in(1);
  bool more = op.code() == "Xlog1py";
  mlir::Value log = op.emit("log", {more ? op.emit("add", {y, op.number(op.typeOf(y), 1)}) : y});
  op.set(unlessZero(op, x, op.code() == "Xdivy" ? op.emit("div", {x, y}) : op.emit("mul", {x, log})));
}

void importApproximateEqual(Operator &op) {
  mlir::Value difference = op.emit("abs", {op.emit("sub", {op.in(0), op.in(1)})});
  double tolerance = op.node.floatAttr("tolerance", 1e-5);
  op.set(op.emit("less", {difference, op.number(op.typeOf(difference), tolerance)}));
}

void importShift(Operator &op) {
  if (!isUnsignedInteger(op.typeOf(op.in(0))))
    op.unsupported(fmt::format("shifts of {}; only unsigned numbers are shifted", name(op.typeOf(op.in(0)))));
  const char *direction = op.code() == "LeftShift" ? "LEFT" : "RIGHT";
  op.set(op.emit("bit_shift", {op.in(0), op.in(1)}, {{"direction", direction}}));
}

// ---- More operands ------------------------------------------------------------------------------------------------

void importClip(Operator &op) { // operand, smallest value, largest value
  op.set(op.emit("max", {op.emit("min", {op.in(0), op.in(2)}), op.in(1)}));
}

} // namespace

void addElementwiseImporters(Importers &table) {
  table["Round"] = {importRound, 1};
  table["LeakyRelu"] = {importLeakyRelu, 1};
  table["Erfc"] = {importErfc, 1};
  table["Log1p"] = {importLog1p, 1};
  table["Expm1"] = {importExpm1, 1};
  table["IsFinite"] = {importIsFinite, 1};
  table["Cast"] = {importCast, 1};
  table["Bitcast"] = {importBitcast, 1};
  table["Mod"] = table["TruncateMod"] = {importTruncateMod, 2};
  table["DivNoNan"] = table["MulNoNan"] = {importNoNan, 2};
  table["Xlogy"] = table["Xlog1py"] = table["Xdivy"] = {importXlogy, 2};
  table["ApproximateEqual"] = {importApproximateEqual, 2};
  table["LeftShift"] = table["RightShift"] = {importShift, 2};
  table["ClipByValue"] = {importClip, 3};
}

} // namespace lathe::tensorflow
