// Attention (opset 23 on): scale, softcap, masks, causality, grouped heads, past keys and values, numbers of keys a
// row, and the scores as a result. RotaryEmbedding (opset 23 on).
#include "import/onnx/Onnx.h"

#include <cmath>
#include <numeric>

namespace lathe::onnx {
namespace {

mlir::Value swapHeads(Node &node, mlir::Value x) {
  return node.emit("transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
}

/// [batch, rows, heads * lanes] as [batch, heads, rows, lanes]; values of rank 4 stay as they are.
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

class AttentionImport {
public:
  explicit AttentionImport(Node &node) : node(node) {}

  void run() {
    node.expectInputs(3, node.version() >= 24 ? 7 : 6);
    node.ignore({"softmax_precision"}); // at least float32 here
    flat = node.rank(node.in(0)) == 3;
    int64_t queryHeads = node.intAttr("q_num_heads", 0), keyHeads = node.intAttr("kv_num_heads", 0);
    q = headsApart(node, node.in(0), queryHeads, "Q");
    k = headsApart(node, node.in(1), keyHeads, "K");
    v = headsApart(node, node.in(2), keyHeads, "V");
    newKeys = node.info(k).dims[2];
    appendToPast();
    queries = node.info(q).dims[2];
    keys = node.info(k).dims[2];
    scale = readScale();
    softcap = node.floatAttr("softcap", 0);
    require(softcap >= 0, "softcap is {}, expected 0 or more", softcap);
    readMasks();
    emitScores();
    mlir::Value y = node.emit("attention", {q, k, v, bias, mask},
                              {{"zero_masked_rows", true}, {"scale", scale}, {"softcap", softcap}, {"causal", causal}});
    if (flat) {
      const Dims result = node.info(y).dims;
      y = node.reshape(swapHeads(node, y), {result[0], result[2], result[1] * result[3]});
    }
    node.set(0, y);
  }

private:
  Node &node;
  mlir::Value q, k, v;    // heads apart; keys and values include the past
  mlir::Value bias, mask; // bias is added to the scores; mask is true for visible keys
  std::string causal = "none";
  Dim queries, keys, newKeys;
  double scale = 1, softcap = 0;
  bool flat = false;

  void appendToPast() {
    require(node.has(4) == node.has(5), "past_key and past_value are given one without the other");
    require(!node.has(4) || !node.has(6), "nonpad_kv_seqlen is given beside past_key, expected one of them");
    if (node.has(4)) {
      k = node.emit("concat", {node.in(4), k}, {{"axis", 2}});
      v = node.emit("concat", {node.in(5), v}, {{"axis", 2}});
    }
    if (node.wants(1))
      node.set(1, k);
    if (node.wants(2))
      node.set(2, v);
  }

  /// Reads the scale; the default is 1 / sqrt(depth). If only the run knows the depth, the queries are divided instead.
  double readScale() {
    const Dim depth = node.info(q).dims[3];
    if (node.hasAttr("scale"))
      return node.floatAttr("scale", 1);
    if (depth.isConstant())
      return 1 / std::sqrt(static_cast<double>(depth.constant()));
    q = overRootOfExtent(node, q, 3);
    return 1;
  }

  void readMasks() {
    if (node.has(3)) {
      mlir::Value given = withAllColumns(node.in(3));
      if (node.info(given).type == ElementType::boolean)
        mask = given;
      else
        bias = node.cast(given, node.info(q).type);
    }
    bool isCausal = node.intAttr("is_causal", 0) != 0;
    if (node.has(6))
      return limitKeys(isCausal);
    if (!isCausal)
      return;
    // The position of query i is i plus the number of past keys.
    if (node.has(4) && !(newKeys == queries))
      return seeBehindPast();
    causal = node.has(4) ? "lower_right" : "upper_left";
  }

  /// Adds causality to the mask, for different numbers of queries and new keys.
  void seeBehindPast() {
    mlir::Value last = node.emit("add", {numbers(q, 2, queries, 2), extentOf(node, node.in(4), 2)});
    mlir::Value seen = node.emit("less_equal", {numbers(k, 2, keys, 3), last});
    mask = mask ? node.emit("and", {mask, seen}) : seen;
  }

  /// If the mask has fewer columns than there are keys, the remaining keys are masked out.
  mlir::Value withAllColumns(mlir::Value given) {
    const TensorInfo info = node.info(given);
    if (info.rank() == 0 || !info.dims.back().isConstant() || !keys.isConstant() || info.dims.back() == Dim(1) ||
        info.dims.back() == keys)
      return given;
    int64_t missing = keys.constant() - info.dims.back().constant();
    require(missing > 0, "attn_mask is {}, expected at most {} columns", str(info.dims), keys.constant());
    bool boolean = info.type == ElementType::boolean;
    mlir::Value rest = node.constantScalar(boolean ? ElementType::u8 : info.type,
                                           boolean ? 0 : -std::numeric_limits<double>::infinity());
    if (boolean)
      rest = node.cast(rest, ElementType::boolean);
    Dims dims = info.dims;
    dims.back() = missing;
    return node.emit("concat", {given, node.expand(rest, dims, given)}, {{"axis", -1}});
  }

  /// 0, 1, ... along axis `axis` of four; the count is the extent of `of` along `along`.
  mlir::Value numbers(mlir::Value of, int64_t along, const Dim &count, int64_t axis) {
    mlir::Value range;
    if (count.isConstant()) {
      std::vector<int64_t> values(static_cast<size_t>(count.constant()));
      std::iota(values.begin(), values.end(), 0);
      range = node.constantInts({count.constant()}, values);
    } else {
      range = countTo(node, extentOf(node, of, along));
    }
    Dims dims(4, Dim(1));
    dims[static_cast<size_t>(axis)] = count;
    return node.reshape(range, dims);
  }

  /// Each row of the batch has its own number of keys. Causal queries are at the last of these positions.
  void limitKeys(bool isCausal) {
    const Dims rows = node.info(node.in(6)).dims;
    require(rows.size() == 1, "nonpad_kv_seqlen is {}, expected a vector", str(rows));
    mlir::Value lengths = node.reshape(node.cast(node.in(6), ElementType::i64), {rows[0], 1, 1, 1});
    mlir::Value column = numbers(k, 2, keys, 3), seen;
    if (isCausal) {
      mlir::Value row = numbers(q, 2, queries, 2);
      mlir::Value first = node.emit("sub", {lengths, extentOf(node, q, 2)});
      seen = node.emit("less_equal", {column, node.emit("add", {first, row})});
    } else {
      seen = node.emit("less", {column, lengths});
    }
    mask = mask ? node.emit("and", {mask, seen}) : seen;
  }

  /// The fourth result: scores of one stage (after the product, softcap, mask or softmax), computed separately.
  void emitScores() {
    int64_t mode = node.intAttr("qk_matmul_output_mode", 0);
    if (!node.wants(3))
      return;
    require(mode >= 0 && mode <= 3, "qk_matmul_output_mode is {}, expected 0 to 3", mode);
    mlir::Value scores = product();
    auto number = [&](double value) { return node.constantScalar(node.info(q).type, value); };
    if (mode >= 1 && softcap > 0) {
      mlir::Value bounded = node.emit("tanh", {node.emit("div", {scores, number(softcap)})});
      scores = node.emit("mul", {bounded, number(softcap)});
    }
    if (mode >= 2 && bias)
      scores = node.emit("add", {scores, bias});
    mlir::Value nothing = number(-std::numeric_limits<double>::infinity());
    if (mode >= 2 && mask)
      scores = node.emit("where", {mask, scores, nothing});
    if (mode >= 2 && causal != "none")
      scores = node.emit("where", {causalMask(), scores, nothing});
    node.set(3, mode == 3 ? shares(scores) : scores);
  }

  /// The softmax of the scores; all zero for a query that sees no key.
  mlir::Value shares(mlir::Value scores) {
    mlir::Value shares = node.emit("softmax", {scores}, {{"axis", -1}});
    if (!bias && !mask && causal == "none")
      return shares;
    mlir::Value greatest = node.emit("reduce_max", {scores}, {{"axes", std::vector<int64_t>{3}}, {"keepdims", true}});
    mlir::Value blind = node.emit("is_inf", {greatest}, {{"detect_positive", false}});
    return node.emit("where", {blind, node.constantScalar(node.info(shares).type, 0), shares});
  }

  /// scale * q k^T. Heads that share their keys are rows of one product.
  mlir::Value product() {
    const Dims rows = node.info(q).dims, columns = node.info(k).dims;
    auto shared = rows[1].dividedExactlyBy(columns[1]);
    require(shared.has_value(), "Q has {} heads, expected a multiple of the {} of K", rows[1].str(), columns[1].str());
    mlir::Value left = node.emit("mul", {q, node.constantScalar(node.info(q).type, scale)});
    if (!(*shared == Dim(1)))
      left = node.reshape(left, {rows[0], columns[1], *shared * rows[2], rows[3]});
    mlir::Value right = node.emit("transpose", {k}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
    mlir::Value scores = node.emit("matmul", {left, right});
    return *shared == Dim(1) ? scores : node.reshape(scores, {rows[0], rows[1], rows[2], columns[2]});
  }

  mlir::Value causalMask() {
    mlir::Value row = numbers(q, 2, queries, 2), column = numbers(k, 2, keys, 3);
    if (causal == "lower_right")
      row = node.emit("add", {row, extentOf(node, node.in(4), 2)});
    return node.emit("less_equal", {column, row});
  }
};

void importAttention(Node &node) { AttentionImport(node).run(); }

// ---- RotaryEmbedding ----

/// Positions [from, to) of the last axis of `x`, every `step`-th.
mlir::Value lanes(Node &node, mlir::Value x, int64_t from, int64_t to, int64_t step = 1) {
  return node.emit("slice", {x},
                   {{"starts", std::vector<int64_t>{from}},
                    {"ends", std::vector<int64_t>{to}},
                    {"axes", std::vector<int64_t>{node.rank(x) - 1}},
                    {"steps", std::vector<int64_t>{step}}});
}

/// Cosines or sines as [batch, rows, 1, lanes / 2]: rows of the cache selected by position, or the whole cache.
mlir::Value angles(Node &node, size_t input, int64_t half) {
  mlir::Value cache = node.in(input);
  if (node.has(3)) {
    require(node.rank(cache) == 2 && node.rank(node.in(3)) == 2,
            "with position_ids, expected caches of rank 2 and position_ids of rank 2");
    cache = node.emit("gather", {cache, node.in(3)}, {{"axis", 0}});
  }
  const Dims dims = node.info(cache).dims;
  require(dims.size() == 3 && dims[2] == Dim(half), "{} is {}, expected {} lanes for each row",
          input == 1 ? "cos_cache" : "sin_cache", str(dims), half);
  return node.reshape(cache, {dims[0], dims[1], Dim(1), dims[2]});
}

void importRotaryEmbedding(Node &node) {
  node.expectInputs(3, 4);
  int64_t heads = node.intAttr("num_heads", 0), width = node.intAttr("rotary_embedding_dim", 0);
  bool interleaved = node.intAttr("interleaved", 0) != 0, apart = node.rank(node.in(0)) == 4;
  const Dims given = node.info(node.in(0)).dims;
  mlir::Value x = node.in(0); // [batch, rows, heads, lanes] from here on
  if (apart) {
    x = swapHeads(node, x);
  } else {
    require(given.size() == 3 && heads > 0, "the input is {}, expected rank 4, or rank 3 and num_heads", str(given));
    auto each = given[2].dividedExactlyBy(Dim(heads));
    require(each.has_value(), "the input is {}, expected a multiple of {} heads in the last extent", str(given), heads);
    x = node.reshape(x, {given[0], given[1], Dim(heads), *each});
  }
  const Dims dims = node.info(x).dims;
  if (!dims[3].isConstant())
    node.unsupported("lanes of a head that are not static");
  int64_t all = dims[3].constant();
  width = width == 0 ? all : width;
  require(width > 0 && width <= all && width % 2 == 0, "rotary_embedding_dim is {}, expected an even number up to {}",
          width, all);
  int64_t half = width / 2;
  mlir::Value first = interleaved ? lanes(node, x, 0, width, 2) : lanes(node, x, 0, half);
  mlir::Value second = interleaved ? lanes(node, x, 1, width, 2) : lanes(node, x, half, width);
  mlir::Value cosine = angles(node, 1, half), sine = angles(node, 2, half);
  mlir::Value real = node.emit("sub", {node.emit("mul", {cosine, first}), node.emit("mul", {sine, second})});
  mlir::Value imaginary = node.emit("add", {node.emit("mul", {sine, first}), node.emit("mul", {cosine, second})});
  mlir::Value y;
  if (interleaved) {
    Dims pairs = dims;
    pairs[3] = half;
    pairs.push_back(1);
    y = node.emit("concat", {node.reshape(real, pairs), node.reshape(imaginary, pairs)}, {{"axis", 4}});
    Dims joined = dims;
    joined[3] = width;
    y = node.reshape(y, joined);
    if (width < all)
      y = node.emit("concat", {y, lanes(node, x, width, all)}, {{"axis", 3}});
  } else {
    Values parts = {real, imaginary};
    if (width < all)
      parts.push_back(lanes(node, x, width, all));
    y = node.emit("concat", parts, {{"axis", 3}});
  }
  node.set(0, apart ? swapHeads(node, y) : node.reshape(y, given));
}

} // namespace

void addAttentionHandlers(Handlers &table) {
  table["Attention"] = importAttention;
  table["RotaryEmbedding"] = importRotaryEmbedding;
}

} // namespace lathe::onnx
