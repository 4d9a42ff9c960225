// Elementwise operators whose ONNX form is more general than one nn operator.
#include "import/onnx/Onnx.h"

namespace lathe::onnx {
namespace {

/// f over inputs [begin, end), combined pairwise: each of n terms passes at most log2(n) roundings, while a chain
/// rounds the first term n times (Higham, "Accuracy and Stability of Numerical Algorithms", 4.2).
mlir::Value pairwise(Node &node, const char *mnemonic, size_t begin, size_t end) {
  if (end - begin == 1)
    return node.in(begin);
  size_t middle = begin + (end - begin + 1) / 2;
  mlir::Value left = pairwise(node, mnemonic, begin, middle);
  return node.emit(mnemonic, {left, pairwise(node, mnemonic, middle, end)});
}

mlir::Value pairwise(Node &node, const char *mnemonic) {
  require(node.inputCount() >= 1, "has no inputs, expected at least 1");
  return pairwise(node, mnemonic, 0, node.inputCount());
}

void importSum(Node &node) { node.set(0, pairwise(node, "add")); }
void importMax(Node &node) { node.set(0, pairwise(node, "max")); }
void importMin(Node &node) { node.set(0, pairwise(node, "min")); }

void importMean(Node &node) {
  mlir::Value sum = pairwise(node, "add");
  if (node.inputCount() > 1) {
    mlir::Value count = node.constantScalar(node.info(sum).type, static_cast<double>(node.inputCount()));
    sum = node.emit("div", {sum, count});
  }
  node.set(0, sum);
}

/// Before opset 7 broadcasting was optional, and b could be aligned with any axis of a.
void importBinary(Node &node) {
  if (node.version() >= 7)
    return importDirectly(node);
  node.expectInputs(2, 2);
  mlir::Value a = node.in(0), b = node.in(1);
  Dims left = node.info(a).dims, right = node.info(b).dims;
  bool broadcast = node.intAttr("broadcast", 0) != 0;
  require(broadcast || left == right, "operands are {} and {}, expected equal extents without broadcast", str(left),
          str(right));
  if (broadcast && node.hasAttr("axis")) {
    auto rank = static_cast<int64_t>(left.size());
    int64_t axis = normalizeAxis(node.intAttr("axis", 0), rank, "axis"),
            after = rank - axis - static_cast<int64_t>(right.size());
    require(after >= 0, "b is {}, expected at most {} axes from axis {} on", str(right), rank - axis, axis);
    right.insert(right.end(), after, Dim(1));
    b = node.reshape(b, right);
  }
  std::string mnemonic = node.record.op;
  for (char &c : mnemonic)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  node.set(0, node.emit(mnemonic.c_str(), {a, b}));
}

/// Before opset 7 a slope of rank 1 has one element a channel.
void importPRelu(Node &node) {
  if (node.version() >= 7)
    return importDirectly(node);
  node.expectInputs(2, 2);
  mlir::Value x = node.in(0), slope = node.in(1);
  Dims dims = node.info(slope).dims;
  if (dims.size() == 1 && dims[0] != Dim(1) && node.rank(x) > 2) {
    dims.insert(dims.end(), node.rank(x) - 2, Dim(1));
    slope = node.reshape(slope, dims);
  }
  node.set(0, node.emit("prelu", {x, slope}));
}

/// Since opset 12 base and exponent may have different types; the result has the type of the base.
void importPow(Node &node) {
  if (node.version() < 12)
    return importBinary(node);
  node.expectInputs(2, 2);
  mlir::Value base = node.in(0), exponent = node.in(1);
  ElementType baseType = node.info(base).type, exponentType = node.info(exponent).type;
  // An integer to a fractional power is computed in the exponent's type.
  ElementType common = isFloat(exponentType) && !isFloat(baseType) ? exponentType : baseType;
  mlir::Value power = node.emit("pow", {node.cast(base, common), node.cast(exponent, common)});
  node.set(0, node.cast(power, baseType));
}

void importCastLike(Node &node) {
  require(node.version() >= 15, "there is no such operator in opset {}", node.version());
  node.expectInputs(2, 2);
  node.set(0, node.emit("cast", {node.in(0)},
                        {{"to", node.info(node.in(1)).type}, {"saturate", node.intAttr("saturate", 1) != 0}}));
}

/// Imports SwiGlu: swish(a) * b.
void importSwiGlu(Node &node) {
  require(node.version() >= 28, "there is no such operator in opset {}", node.version());
  node.expectInputs(2, 2);
  mlir::Value gate = node.emit("swish", {node.in(0)}, {{"alpha", node.floatAttr("alpha", 1)}});
  node.set(0, node.emit("mul", {gate, node.in(1)}));
}

} // namespace

void addElementwiseHandlers(Handlers &table) {
  table["Sum"] = importSum;
  table["Mean"] = importMean;
  table["Max"] = importMax;
  table["Min"] = importMin;
  for (const char *op : {"Add", "Sub", "Mul", "Div", "And", "Or", "Xor", "Equal", "Greater", "Less"})
    table[op] = importBinary;
  table["PRelu"] = importPRelu;
  table["Pow"] = importPow;
  table["CastLike"] = importCastLike;
  table["SwiGLU"] = importSwiGlu;
}

} // namespace lathe::onnx
