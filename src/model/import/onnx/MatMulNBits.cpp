// MatMulNBits of the domain com.microsoft: a matrix product by weights of 4 or 8 bits, which ONNX Runtime's quantisers
// write. Source: ContribOperators.md in the documentation of ONNX Runtime.
//
//   A           rows x K, float
//   B           N x blocks x bytes, u8: the steps of a block of a column are consecutive, the first step of a byte in
//               its low bits
//   scales      one number for each column and block
//   zero_points one for each column and block: numbers of the type of A, or codes packed like B, where each column
//               begins a new byte; absent: half the range of codes
//
// The weights become blocks x steps x N codes, the form of ir/PackedWeights.h.
#include "import/onnx/Onnx.h"

namespace lathe::onnx {
namespace {

struct Product {
  int64_t k, n, bits, block;
  int64_t blocks() const { return (k + block - 1) / block; }
  int64_t steps() const { return blocks() * block; } // includes the steps that fill the last block
};

/// Pads A with zeros for the steps that fill the last block, because their codes may have any value.
mlir::Value padded(Node &node, mlir::Value a, const Product &product) {
  auto rank = node.rank(a);
  require(rank >= 1 && mayAgree(node.info(a).dims.back(), product.k), "A is {}, expected {} columns",
          str(node.info(a).dims), product.k);
  if (product.steps() == product.k)
    return a;
  std::vector<int64_t> pads(static_cast<size_t>(2 * rank));
  pads.back() = product.steps() - product.k;
  return node.emit("pad", {a}, {{"pads", pads}});
}

/// Unpacks u8 into the codes it holds, along a new last axis.
mlir::Value unpacked(Node &node, mlir::Value bytes, const Product &product, int64_t count) {
  Dims dims = {Dim(product.n), Dim(count)};
  if (product.bits == 8)
    return node.reshape(bytes, dims);
  dims.back() = Dim((count + 1) / 2);
  dims.push_back(1);
  bytes = node.reshape(bytes, dims);
  auto number = [&](double value) { return node.constantScalar(ElementType::u8, value); };
  mlir::Value low = node.emit("bitwise_and", {bytes, number(15)}),
              high = node.emit("bit_shift", {bytes, number(4)}, {{"direction", "RIGHT"}});
  mlir::Value codes = node.emit("concat", {low, high}, {{"axis", 2}});
  codes = node.reshape(codes, {Dim(product.n), Dim((count + 1) / 2 * 2)});
  if (count % 2)
    codes = node.emit("slice", {codes},
                      {{"starts", std::vector<int64_t>{0}},
                       {"ends", std::vector<int64_t>{count}},
                       {"axes", std::vector<int64_t>{1}},
                       {"steps", std::vector<int64_t>{1}}});
  return codes;
}

/// Turns weights of extents N x (blocks * steps) into blocks x steps x N.
mlir::Value columnsLast(Node &node, mlir::Value value, const Product &product, int64_t steps) {
  value = node.reshape(value, {Dim(product.n), Dim(product.blocks()), Dim(steps)});
  return node.emit("transpose", {value}, {{"perm", std::vector<int64_t>{1, 2, 0}}});
}

mlir::Value zeroPoints(Node &node, const Product &product) {
  if (!node.has(3))
    return node.constantScalar(ElementType::f32, double(int64_t(1) << (product.bits - 1)));
  mlir::Value zeros = node.in(3);
  if (!isFloat(node.info(zeros).type))
    zeros = unpacked(node, zeros, product, product.blocks());
  return node.cast(columnsLast(node, zeros, product, 1), ElementType::f32);
}

void importMatMulNBits(Node &node) {
  node.expectInputs(3, 6);
  Product product{node.intAttr("K", 0), node.intAttr("N", 0), node.intAttr("bits", 4), node.intAttr("block_size", 0)};
  node.ignore({"accuracy_level"}); // a hint about the rounding of products
  require(product.k > 0 && product.n > 0 && product.block > 0,
          "K, N and block_size are {}, {} and {}, expected positive numbers", product.k, product.n, product.block);
  if (product.bits != 4 && product.bits != 8)
    node.unsupported(fmt::format("weights of {} bits, only 4 and 8 are", product.bits));
  if (node.has(4))
    node.unsupported("group indices (g_idx)");
  ElementType type = node.info(node.in(0)).type;
  mlir::Value codes = columnsLast(node, unpacked(node, node.in(1), product, product.steps()), product, product.block);
  if (product.bits == 4)
    codes = node.cast(codes, ElementType::u4);
  mlir::Value scale = node.cast(columnsLast(node, node.in(2), product, 1), ElementType::f32),
              zero = zeroPoints(node, product);
  // Casts the codes last, so that the constants before are folded first.
  mlir::Value weights = node.emit("sub", {node.cast(codes, ElementType::f32), zero});
  weights = node.reshape(node.emit("mul", {weights, scale}), {Dim(product.steps()), Dim(product.n)});
  mlir::Value y = node.emit("matmul", {padded(node, node.cast(node.in(0), ElementType::f32), product), weights});
  if (node.has(5))
    y = node.emit("add", {y, node.cast(node.in(5), ElementType::f32)});
  node.set(0, node.cast(y, type));
}

} // namespace

void addMatMulNBitsHandlers(Handlers &table) { table["MatMulNBits"] = importMatMulNBits; }

} // namespace lathe::onnx
