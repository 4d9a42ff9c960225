// Attention layers. Keras adds -1e9 to masked scores, so a query that sees no key weights all keys equally.
// nn.attention's fill does the same.
#include "import/keras/Keras.h"

#include <cmath>

namespace lathe::keras {
namespace {

using Ints = std::vector<int64_t>;

constexpr double hidden = -1e9;

/// Operands and results of an attention, with the heads behind the batch.
struct Heads {
  mlir::Value q, k, v; // batch x heads x steps x size
  double scale = 1;
};

/// A mask of the call or of the sequence, as batch x 1 x queries x keys; extents that it does not depend on are 1.
mlir::Value asScores(Layer &layer, mlir::Value mask, size_t axis) {
  Dims dims = layer.dims(mask);
  if (axis == 2) // mask of queries: batch x queries
    dims = {dims.at(0), Dim(1), dims.at(1), Dim(1)};
  else if (axis == 3) // mask of keys
    dims = {dims.at(0), Dim(1), Dim(1), dims.at(1)};
  else if (dims.size() == 3)
    dims.insert(dims.begin() + 1, Dim(1));
  return layer.node.cast(layer.node.reshape(mask, dims), ElementType::boolean);
}

mlir::Value both(Layer &layer, mlir::Value a, mlir::Value b) { return !a ? b : !b ? a : layer.emit("and", {a, b}); }

/// A matrix queries x keys, true for keys that are not after the query.
mlir::Value causalMask(Layer &layer, const Dim &queries, const Dim &keys) {
  if (!queries.isConstant() || !keys.isConstant())
    layer.unsupported("a causal mask beside another one needs a known number of steps; give it with --shape");
  auto positions = [&](const Dim &count, const Ints &dims) {
    Ints values(static_cast<size_t>(count.constant()));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<int64_t>(i);
    return layer.node.constantInts(dims, values);
  };
  return layer.emit("greater_equal",
                    {positions(queries, {queries.constant(), 1}), positions(keys, {1, keys.constant()})});
}

/// The softmax of the masked scores, and the weighted sum of the values.
std::pair<mlir::Value, mlir::Value> explicitAttention(Layer &layer, mlir::Value scores, mlir::Value mask,
                                                      mlir::Value v) {
  if (mask)
    scores = layer.emit("add", {scores, layer.emit("where", {mask, layer.scalar(0), layer.scalar(hidden)})});
  mlir::Value weights = layer.emit("softmax", {scores}, {{"axis", -1}});
  return {layer.emit("matmul", {weights, v}), weights};
}

mlir::Value lastTwoSwapped(Layer &layer, mlir::Value x) {
  Ints perm;
  for (int64_t axis = 0; axis < layer.rank(x); ++axis)
    perm.push_back(axis);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return transpose(layer.node, x, perm);
}

bool wantsScores(Layer &layer) {
  const json &flag = member(layer.source.call->keywords, "return_attention_scores");
  return layer.node.wants(1) || (flag.is_boolean() && flag.get<bool>());
}

/// x (batch x steps x inputs) times a kernel inputs x heads x size, as batch x heads x steps x size.
mlir::Value projected(Layer &layer, mlir::Value x, mlir::Value w, mlir::Value bias) {
  const Dims dims = layer.dims(w), own = layer.dims(x);
  require(dims.size() == 3, "a projection has a kernel of rank {}, expected 3", dims.size());
  mlir::Value y = layer.emit("matmul", {x, layer.node.reshape(w, {dims[0], dims[1] * dims[2]})});
  if (bias)
    y = layer.emit("add", {y, layer.node.reshape(bias, {dims[1] * dims[2]})});
  y = layer.node.reshape(y, {own[0], own[1], dims[1], dims[2]});
  return transpose(layer.node, y, {0, 2, 1, 3});
}

/// batch x heads x steps x size times a kernel heads x size x outputs....
mlir::Value joinedHeads(Layer &layer, mlir::Value y, mlir::Value w, mlir::Value bias) {
  const Dims dims = layer.dims(w);
  require(dims.size() >= 3, "the output has a kernel of rank {}, expected at least 3", dims.size());
  y = transpose(layer.node, y, {0, 2, 1, 3});
  const Dims own = layer.dims(y);
  Dim outputs = product(std::span(dims).subspan(2));
  y = layer.node.reshape(y, {own[0], own[1], own[2] * own[3]});
  y = layer.emit("matmul", {y, layer.node.reshape(w, {dims[0] * dims[1], outputs})});
  if (bias)
    y = layer.emit("add", {y, layer.node.reshape(bias, {outputs})});
  if (dims.size() == 3)
    return y;
  Dims wide = {own[0], own[1]};
  wide.insert(wide.end(), dims.begin() + 2, dims.end());
  return layer.node.reshape(y, wide);
}

mlir::Value maskOfCall(Layer &layer, const json &query, const json &value, const json &key) {
  mlir::Value mask;
  auto add = [&](const char *name, const json &operand, size_t axis) {
    mlir::Value given = layer.tensorOf(member(layer.source.call->keywords, name));
    if (!given)
      if (std::vector<size_t> tensors = layer.tensorsIn(operand); tensors.size() == 1)
        given = layer.mask(tensors[0]);
    if (given)
      mask = both(layer, mask, asScores(layer, given, axis));
  };
  add("query_mask", query, 2);
  add("value_mask", value, 3);
  if (layer.tensorsIn(key) != layer.tensorsIn(value))
    add("key_mask", key, 3);
  if (mlir::Value given = layer.tensorOf(layer.argument(3, "attention_mask")))
    mask = both(layer, mask, asScores(layer, given, 0));
  return mask;
}

void importMultiHead(Layer &layer) {
  const json &query = layer.argument(0, "query"), &value = layer.argument(1, "value");
  const json &given = layer.argument(2, "key"), &key = given.is_null() ? value : given;
  mlir::Value q = layer.tensorOf(query), v = layer.tensorOf(value), k = layer.tensorOf(key);
  require(q && v && k, "is called without a query or a value");
  if (layer.rank(q) != 3 || layer.rank(v) != 3 || layer.rank(k) != 3)
    layer.unsupported("attention over several axes is not supported");
  bool bias = layer.flag("use_bias", true);
  size_t step = bias ? 2 : 1;
  layer.expectWeights(4 * step);
  auto weight = [&](size_t part, bool isBias) {
    return isBias && !bias ? mlir::Value() : layer.weight(part * step + isBias);
  };
  Heads heads{projected(layer, q, weight(0, false), weight(0, true)),
              projected(layer, k, weight(1, false), weight(1, true)),
              projected(layer, v, weight(2, false), weight(2, true)), 1};
  heads.scale = 1 / std::sqrt(static_cast<double>(layer.dims(heads.q)[3].constant()));
  mlir::Value mask = maskOfCall(layer, query, value, key);
  bool causal = flagMember(layer.source.call->keywords, "use_causal_mask", false);
  if (causal && (mask || wantsScores(layer))) {
    mask = both(layer, mask, causalMask(layer, layer.dims(heads.q)[2], layer.dims(heads.k)[2]));
    causal = false;
  }
  mlir::Value y;
  if (wantsScores(layer)) {
    if (layer.dims(heads.q)[1] != layer.dims(heads.k)[1])
      layer.unsupported("the scores of grouped queries are not returned");
    mlir::Value scaled = layer.emit("mul", {heads.q, layer.scalar(heads.scale)});
    mlir::Value scores = layer.emit("matmul", {scaled, lastTwoSwapped(layer, heads.k)});
    auto [sum, weights] = explicitAttention(layer, scores, mask, heads.v);
    y = sum;
    layer.set(weights, 1);
  } else {
    y = layer.emit("attention", {heads.q, heads.k, heads.v, {}, mask},
                   {{"scale", heads.scale}, {"causal", causal ? "upper_left" : "none"}, {"fill", hidden}});
  }
  layer.set(joinedHeads(layer, y, weight(3, false), weight(3, true)));
}

/// Attention and AdditiveAttention: operands query, value and optionally key.
void importDotAttention(Layer &layer, bool additive) {
  require(layer.tensorCount() == 2 || layer.tensorCount() == 3, "has {} operands, expected 2 or 3",
          layer.tensorCount());
  mlir::Value q = layer.in(0), v = layer.in(1), k = layer.tensorCount() == 3 ? layer.in(2) : v;
  require(layer.rank(q) == 3 && layer.rank(v) == 3, "operands have ranks {} and {}, expected 3", layer.rank(q),
          layer.rank(v));
  bool concat = layer.text("score_mode", "dot") == "concat";
  bool useScale = layer.flag("use_scale", additive);
  layer.expectWeights(static_cast<size_t>(useScale) + (concat && !additive));
  mlir::Value scores;
  if (additive || concat) {
    Dims qDims = layer.dims(q), kDims = layer.dims(k);
    qDims.insert(qDims.begin() + 2, Dim(1));
    kDims.insert(kDims.begin() + 1, Dim(1));
    mlir::Value sum = layer.emit("add", {layer.node.reshape(q, qDims), layer.node.reshape(k, kDims)});
    if (concat && useScale)
      sum = layer.emit("mul", {sum, layer.node.reshape(layer.weight(0), {})});
    sum = layer.emit("tanh", {sum});
    if (additive && useScale)
      sum = layer.emit("mul", {sum, layer.weight(0)});
    scores = layer.emit("reduce_sum", {sum}, {{"axes", Ints{-1}}, {"keepdims", false}});
    if (concat)
      scores = layer.emit("mul", {scores, layer.node.reshape(layer.weight(useScale), {})});
  } else {
    scores = layer.emit("matmul", {q, lastTwoSwapped(layer, k)});
    if (useScale)
      scores = layer.emit("mul", {scores, layer.node.reshape(layer.weight(0), {})});
  }
  mlir::Value mask;
  if (mlir::Value keys = layer.mask(1)) {
    Dims dims = layer.dims(keys);
    mask = layer.node.reshape(keys, {dims.at(0), Dim(1), dims.at(1)});
  }
  if (layer.flag("causal", false) || flagMember(layer.source.call->keywords, "use_causal_mask", false))
    mask = both(layer, mask, causalMask(layer, layer.dims(q)[1], layer.dims(k)[1]));
  auto [y, weights] = explicitAttention(layer, scores, mask, v);
  if (mlir::Value queries = layer.mask(0)) { // results of masked queries are zero
    Dims dims = layer.dims(queries);
    dims.emplace_back(1);
    y = layer.emit("mul", {y, layer.node.cast(layer.node.reshape(queries, dims), layer.computeType())});
  }
  layer.set(y);
  if (wantsScores(layer))
    layer.set(weights, 1);
}

void importAttention(Layer &layer) { importDotAttention(layer, false); }
void importAdditive(Layer &layer) { importDotAttention(layer, true); }

} // namespace

void addAttentionImporters(Importers &table) {
  for (const char *name : {"MultiHeadAttention", "GroupQueryAttention", "GroupedQueryAttention"})
    table[name] = {importMultiHead, "`matmul`, `attention`", MaskUse::readsAndPasses};
  table["Attention"] = {importAttention, "`matmul`, `softmax`", MaskUse::readsAndPasses};
  table["AdditiveAttention"] = {importAdditive, "`tanh`, `reduce_sum`, `softmax`, `matmul`", MaskUse::readsAndPasses};
}

} // namespace lathe::keras
