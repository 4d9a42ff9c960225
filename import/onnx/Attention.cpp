// Attention (opset 23 on) in the forms that are one nn.attention: scale, masks, causality, grouped heads, past keys and
// values.
#include "import/onnx/Onnx.h"

#include <cmath>

namespace lathe::onnx {
namespace {

mlir::Value swapHeads(Node &node, mlir::Value x) {
  return node.emit("transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
}

/// [batch, rows, heads * lanes] as [batch, heads, rows, lanes]; what has rank 4 already is left.
mlir::Value headsApart(Node &node, mlir::Value x, int64_t heads, const char *what) {
  const Dims dims = node.info(x).dims;
  if (dims.size() == 4)
    return x;
  require(dims.size() == 3, "{} has rank {}, expected 3 or 4", what, dims.size());
  require(heads > 0, "{} has rank 3: the number of its heads is missing", what);
  auto lanes = dims[2].dividedExactlyBy(Dim(heads));
  require(lanes.has_value(), "{} is {}, expected a multiple of {} heads in the last extent", what, str(dims), heads);
  return swapHeads(node, node.reshape(x, {dims[0], dims[1], Dim(heads), *lanes}));
}

void importAttention(Node &node) {
  node.expectInputs(3, node.version() >= 24 ? 7 : 6);
  if (node.has(6))
    node.unsupported("numbers of keys a batch (nonpad_kv_seqlen)");
  if (node.wants(3))
    node.unsupported("the output qk_matmul_output is used");
  if (node.floatAttr("softcap", 0) != 0)
    node.unsupported("softcap is set");
  node.ignore({"qk_matmul_output_mode", "softmax_precision"}); // at least float32 here
  bool flat = node.rank(node.in(0)) == 3;
  int64_t queryHeads = node.intAttr("q_num_heads", 0), keyHeads = node.intAttr("kv_num_heads", 0);
  mlir::Value q = headsApart(node, node.in(0), queryHeads, "Q"), k = headsApart(node, node.in(1), keyHeads, "K"),
              v = headsApart(node, node.in(2), keyHeads, "V");
  require(node.has(4) == node.has(5), "past_key and past_value are given one without the other");
  bool past = node.has(4);
  Dim newKeys = node.info(k).dims.size() == 4 ? node.info(k).dims[2] : Dim(0);
  if (past) {
    k = node.emit("concat", {node.in(4), k}, {{"axis", 2}});
    v = node.emit("concat", {node.in(5), v}, {{"axis", 2}});
  }
  if (node.wants(1))
    node.set(1, k);
  if (node.wants(2))
    node.set(2, v);
  const Dims dims = node.info(q).dims, keyDims = node.info(k).dims;
  Fields fields = {{"zero_masked_rows", true}};
  if (node.hasAttr("scale"))
    fields.emplace_back("scale", node.floatAttr("scale", 1));
  else if (dims[3].isConstant())
    fields.emplace_back("scale", 1 / std::sqrt(static_cast<double>(dims[3].constant())));
  else
    node.unsupported("the depth is not static and no scale is given");
  if (node.intAttr("is_causal", 0) != 0) {
    // Query i stands at position i behind the past.
    bool end = past && newKeys == dims[2];
    if (past && !end)
      node.unsupported("is_causal with past keys and another number of new ones than of queries");
    fields.emplace_back("causal", end ? "lower_right" : "upper_left");
  }
  mlir::Value bias, mask;
  if (node.has(3)) {
    const TensorInfo &info = node.info(node.in(3));
    if (info.rank() > 0 && info.dims.back().isConstant() && keyDims[2].isConstant() && !(info.dims.back() == Dim(1)) &&
        !(info.dims.back() == keyDims[2]))
      node.unsupported("attn_mask has fewer columns than there are keys");
    if (info.type == ElementType::boolean)
      mask = node.in(3);
    else
      bias = node.cast(node.in(3), node.info(q).type);
  }
  mlir::Value y = node.emit("attention", {q, k, v, bias, mask}, fields);
  if (flat) {
    const Dims result = node.info(y).dims;
    y = node.reshape(swapHeads(node, y), {result[0], result[2], result[1] * result[3]});
  }
  node.set(0, y);
}

} // namespace

void addAttentionHandlers(Handlers &table) { table["Attention"] = importAttention; }

} // namespace lathe::onnx
