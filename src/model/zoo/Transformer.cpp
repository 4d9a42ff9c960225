// BERT and GPT-2 as PyTorch's exporter writes them: attention, layer normalisation and GELU in primitive operators.
#include "zoo/Architectures.h"

#include <cmath>

namespace lathe::zoo {

namespace {

/// Emits the operators that exporters use, on values of any rank.
class Writer {
public:
  explicit Writer(Network &n) : n(n) {}
  Network &n;
  using Value = mlir::Value;

  Value binary(const char *mnemonic, const char *onnxOp, Value x, Value y, const std::string &name) {
    auto attrs = findOp(mnemonic)->makeAttrs();
    return n.apply(mnemonic, onnxOp, {x, y}, std::move(*attrs), name);
  }
  Value add(Value x, Value y, const std::string &name) { return binary("add", "Add", x, y, name); }
  Value sub(Value x, Value y, const std::string &name) { return binary("sub", "Sub", x, y, name); }
  Value mul(Value x, Value y, const std::string &name) { return binary("mul", "Mul", x, y, name); }
  Value div(Value x, Value y, const std::string &name) { return binary("div", "Div", x, y, name); }
  Value pow(Value x, Value y, const std::string &name) { return binary("pow", "Pow", x, y, name); }
  Value matmul(Value x, Value y, const std::string &name) { return binary("matmul", "MatMul", x, y, name); }
  Value unary(const char *mnemonic, const char *onnxOp, Value x, const std::string &name) {
    auto attrs = findOp(mnemonic)->makeAttrs();
    return n.apply(mnemonic, onnxOp, {x}, std::move(*attrs), name);
  }
  Value scalar(double value, const std::string &name) { return n.scalar(value, name + ".constant"); }

  Value reshape(Value x, std::vector<int64_t> shape, const std::string &name) {
    return n.reshape({x}, std::move(shape), name).value;
  }
  Value transpose(Value x, std::vector<int64_t> perm, const std::string &name) {
    return n.transpose({x}, std::move(perm), name).value;
  }
  Value softmax(Value x, const std::string &name) { return n.softmax({x}, -1, name).value; }
  /// Rows of `table` by token.
  Value gather(Value table, Value tokens, const std::string &name) {
    return n.apply("gather", "Gather", {table, tokens}, GatherAttrs(), name);
  }
  std::vector<Value> split(Value x, int64_t axis, std::vector<int64_t> sizes, const std::string &name) {
    std::vector<Value> pieces;
    for (const Signal &piece : n.split({x}, std::move(sizes), name, axis))
      pieces.push_back(piece.value);
    return pieces;
  }
  Value concat(Value x, Value y, int64_t axis, const std::string &name) {
    ConcatAttrs attrs;
    attrs.axis = axis;
    return n.apply("concat", "Concat", {x, y}, std::move(attrs), name);
  }

  /// The extent of `x` along `axis`, as a vector of one element.
  Value extent(Value x, int64_t axis, const std::string &name) {
    ShapeAttrs attrs;
    attrs.start = axis;
    attrs.end = axis + 1;
    return n.apply("shape", "Shape", {x}, std::move(attrs), name);
  }
  /// The position of the greatest element along the last axis, which is removed.
  Value argMax(Value x, const std::string &name) {
    ArgMaxAttrs attrs;
    attrs.axis = -1;
    attrs.keepdims = false;
    return n.apply("arg_max", "ArgMax", {x}, std::move(attrs), name);
  }

  /// Over the last axis: mean, difference, mean of its square, root, quotient, scale and shift.
  Value layerNorm(Value x, double epsilon, const std::string &name) {
    auto mean = [&](Value value, const std::string &part) {
      ReduceMeanAttrs attrs;
      attrs.axes = {-1};
      attrs.keepdims = true;
      return n.apply("reduce_mean", "ReduceMean", {value}, std::move(attrs), name + part);
    };
    int64_t width = llvm::cast<mlir::RankedTensorType>(x.getType()).getShape().back();
    Value centred = sub(x, mean(x, ".mean"), name + ".sub");
    Value variance = mean(pow(centred, scalar(2, name + ".pow"), name + ".pow"), ".variance");
    Value deviation =
        unary("sqrt", "Sqrt", add(variance, scalar(epsilon, name + ".epsilon"), name + ".epsilon"), name + ".sqrt");
    Value scaled =
        mul(div(centred, deviation, name + ".div"), n.noise(name + ".weight", {width}, 1, 0.1), name + ".scale");
    return add(scaled, n.noise(name + ".bias", {width}, 0, 0.1), name + ".shift");
  }

  /// x / 2 (1 + erf(x / sqrt 2))
  Value gelu(Value x, const std::string &name) {
    Value erf = unary("erf", "Erf", div(x, scalar(std::sqrt(2.0), name + ".div"), name + ".div"), name + ".erf");
    Value both = mul(x, add(erf, scalar(1, name + ".add"), name + ".add"), name + ".mul");
    return mul(both, scalar(0.5, name + ".half"), name + ".half");
  }

  /// x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
  Value tanhGelu(Value x, const std::string &name) {
    Value half = mul(x, scalar(0.5, name + ".half"), name + ".half");
    Value cube = pow(x, scalar(3, name + ".pow"), name + ".pow");
    Value inner = add(x, mul(cube, scalar(0.044715, name + ".cube"), name + ".cube"), name + ".inner");
    Value tanh =
        unary("tanh", "Tanh", mul(inner, scalar(std::sqrt(2 / 3.141592653589793), name + ".scale"), name + ".scale"),
              name + ".tanh");
    return mul(half, add(tanh, scalar(1, name + ".add"), name + ".add"), name + ".mul");
  }

  /// A dense layer over the last axis by MatMul and Add.
  Value linear(Value x, int64_t outFeatures, const std::string &name, double gain = 1) {
    return n.linear({x}, outFeatures, name, gain).value;
  }

  /// Conv1D of GPT-2: multiplies the rows of all sequences of `tokens` rows by a weight of inputs x outputs.
  Value conv1d(Value x, int64_t tokens, int64_t outFeatures, const std::string &name, double gain) {
    int64_t inFeatures = llvm::cast<mlir::RankedTensorType>(x.getType()).getShape().back();
    Value rows = reshape(x, {-1, inFeatures}, name + ".rows");
    rows = n.apply("gemm", "Gemm",
                   {rows, n.noise(name + ".weight", {inFeatures, outFeatures}, 0, gain / std::sqrt(inFeatures)),
                    n.noise(name + ".bias", {outFeatures}, 0, 0.1)},
                   GemmAttrs(), name);
    return reshape(rows, {-1, tokens, outFeatures}, name + ".sequence");
  }
};

constexpr int64_t width = 768, heads = 12, headWidth = 64, layers = 12;

/// batch x tokens x width to batch x heads x tokens x headWidth (or, for keys, x headWidth x tokens).
mlir::Value toHeads(Writer &w, mlir::Value x, int64_t tokens, bool keys, const std::string &name) {
  x = w.reshape(x, {-1, tokens, heads, headWidth}, name + ".heads");
  return w.transpose(x, keys ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 2, 1, 3},
                     name + ".transpose");
}
mlir::Value fromHeads(Writer &w, mlir::Value x, int64_t tokens, const std::string &name) {
  return w.reshape(w.transpose(x, {0, 2, 1, 3}, name + ".transpose"), {-1, tokens, width}, name + ".merge");
}

/// Positions of `tokens` tokens after `before` earlier tokens.
mlir::Value positionsFrom(Writer &w, int64_t before, int64_t tokens) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < tokens; ++i)
    places.push_back(before + i);
  return w.n.integers({1, tokens}, places, "positions");
}

/// A causal mask: row i of `tokens` sees the `past` tokens and everything up to itself.
mlir::Value causalMask(Writer &w, int64_t tokens, int64_t past, const std::string &name) {
  std::vector<int64_t> visible;
  for (int64_t i = 0; i < tokens; ++i)
    for (int64_t j = 0; j < past + tokens; ++j)
      visible.push_back(j <= past + i);
  mlir::Value numbers = w.n.integers({1, 1, tokens, past + tokens}, visible, name);
  CastAttrs attrs;
  attrs.to = ElementType::boolean;
  return w.n.apply("cast", "Cast", {numbers}, std::move(attrs), name + ".cast");
}

} // namespace

Signal bertBase(Network &n) {
  Writer w(n);
  const int64_t vocabulary = 30522, positions = 512, tokens = n.sequence(128);
  require(tokens <= positions, "zoo bert_base: sequence is {}, expected at most {}", tokens, positions);
  mlir::Value ids = n.input("input_ids", ElementType::i64, {n.batch(), tokens});
  mlir::Value seen = n.input("attention_mask", ElementType::i64, {n.batch(), tokens});
  mlir::Value types = n.input("token_type_ids", ElementType::i64, {n.batch(), tokens});

  // Lowers the scores of masked tokens by (1 - mask) * -10000, like the exporter. Numbers other than 0 and 1 count as
  // 1.
  mlir::Value mask = w.reshape(seen, {-1, 1, 1, tokens}, "mask.unsqueeze");
  CastAttrs toBool, toFloat;
  toBool.to = ElementType::boolean;
  toFloat.to = ElementType::f32;
  mask = n.apply("cast", "Cast", {mask}, std::move(toBool), "mask.bool");
  mask = n.apply("cast", "Cast", {mask}, std::move(toFloat), "mask.float");
  mask = w.mul(w.sub(w.scalar(1, "mask.sub"), mask, "mask.sub"), w.scalar(-10000, "mask.mul"), "mask.mul");

  mlir::Value position = n.noise("embeddings.position.weight", {positions, width}, 0, 0.5);
  SliceAttrs first;
  first.starts = {0};
  first.ends = {tokens};
  first.axes = {0};
  mlir::Value x = w.gather(n.noise("embeddings.word.weight", {vocabulary, width}, 0, 1), ids, "embeddings.word");
  // Two types of tokens, but rows for any number that a random input may hold.
  x = w.add(x, w.gather(n.noise("embeddings.type.weight", {16, width}, 0, 0.5), types, "embeddings.type"),
            "embeddings.add");
  x = w.add(x, n.apply("slice", "Slice", {position}, std::move(first), "embeddings.position"),
            "embeddings.add_position");
  x = w.layerNorm(x, 1e-12, "embeddings.norm");

  for (int64_t layer = 0; layer < layers; ++layer) {
    std::string name = "layer" + std::to_string(layer);
    mlir::Value q = toHeads(w, w.linear(x, width, name + ".query"), tokens, false, name + ".query");
    mlir::Value k = toHeads(w, w.linear(x, width, name + ".key"), tokens, true, name + ".key");
    mlir::Value v = toHeads(w, w.linear(x, width, name + ".value"), tokens, false, name + ".value");
    mlir::Value scores = w.matmul(q, k, name + ".scores");
    scores = w.div(scores, w.scalar(8, name + ".scale"), name + ".scale");
    mlir::Value weights = w.softmax(w.add(scores, mask, name + ".mask"), name + ".softmax");
    mlir::Value attended = fromHeads(w, w.matmul(weights, v, name + ".context"), tokens, name + ".context");
    x = w.layerNorm(w.add(w.linear(attended, width, name + ".output"), x, name + ".residual"), 1e-12, name + ".norm1");
    mlir::Value inner = w.gelu(w.linear(x, 4 * width, name + ".up"), name + ".gelu");
    x = w.layerNorm(w.add(w.linear(inner, width, name + ".down"), x, name + ".residual2"), 1e-12, name + ".norm2");
  }
  GatherAttrs firstToken;
  firstToken.axis = 1;
  mlir::Value start =
      n.apply("gather", "Gather", {x, n.integers({}, {0}, "pooler.index")}, std::move(firstToken), "pooler.first");
  GemmAttrs dense;
  dense.trans_b = true;
  mlir::Value pooled = n.apply("gemm", "Gemm",
                               {start, n.noise("pooler.weight", {width, width}, 0, 1 / std::sqrt(width)),
                                n.noise("pooler.bias", {width}, 0, 0.1)},
                               std::move(dense), "pooler.dense");
  n.alsoReturn("pooler_output", w.unary("tanh", "Tanh", pooled, "pooler.tanh"));
  return {x};
}

Signal gpt2Small(Network &n, Gpt2Form form) {
  Writer w(n);
  const int64_t vocabulary = 50257, positions = 1024;
  const bool withPast = form != Gpt2Form::whole, open = form == Gpt2Form::decoder;
  const int64_t before = form == Gpt2Form::past ? n.sequence(64) : 0, tokens = withPast ? 1 : n.sequence(64);
  require(before + tokens <= positions, "zoo gpt2_small: sequence is {}, expected at most {}",
          before + tokens - withPast, positions - withPast);
  const Dim past = open ? Dim::symbol("P") : Dim(before);
  mlir::Value ids = n.input("input_ids", ElementType::i64, {n.batch(), tokens});
  std::vector<std::array<mlir::Value, 2>> caches(layers); // keys and values: batch x heads x past x headWidth
  if (withPast)
    for (int64_t layer = 0; layer < layers; ++layer)
      for (int64_t part = 0; part < 2; ++part)
        caches[layer][part] = n.input("past_" + std::to_string(layer) + (part ? "_value" : "_key"), ElementType::f32,
                                      {n.batch(), heads, past, headWidth});

  mlir::Value table = n.noise("wte.weight", {vocabulary, width}, 0, 1);
  mlir::Value places = open ? w.extent(caches[0][0], 2, "positions") : positionsFrom(w, before, tokens);
  mlir::Value position = w.gather(n.noise("wpe.weight", {positions, width}, 0, 0.3), places, "wpe");
  mlir::Value x = w.add(w.gather(table, ids, "wte"), position, "embedding");
  mlir::Value mask = open ? mlir::Value() : causalMask(w, tokens, before, "mask");

  for (int64_t layer = 0; layer < layers; ++layer) {
    std::string name = "h" + std::to_string(layer);
    mlir::Value normed = w.layerNorm(x, 1e-5, name + ".ln_1");
    auto qkv =
        w.split(w.conv1d(normed, tokens, 3 * width, name + ".c_attn", 1), 2, {width, width, width}, name + ".split");
    mlir::Value q = toHeads(w, qkv[0], tokens, false, name + ".query");
    mlir::Value k = toHeads(w, qkv[1], tokens, false, name + ".key"),
                v = toHeads(w, qkv[2], tokens, false, name + ".value");
    if (withPast) {
      k = w.concat(caches[layer][0], k, 2, name + ".keys");
      v = w.concat(caches[layer][1], v, 2, name + ".values");
      n.alsoReturn("present_" + std::to_string(layer) + "_key", k);
      n.alsoReturn("present_" + std::to_string(layer) + "_value", v);
    }
    mlir::Value scores = w.matmul(q, w.transpose(k, {0, 1, 3, 2}, name + ".key.turn"), name + ".scores");
    scores = w.div(scores, w.scalar(8, name + ".scale"), name + ".scale");
    if (mask) // a single query sees all keys
      scores = n.apply("where", "Where", {mask, scores, w.scalar(-3.4028234663852886e38, name + ".mask")}, WhereAttrs(),
                       name + ".where");
    mlir::Value attended =
        fromHeads(w, w.matmul(w.softmax(scores, name + ".softmax"), v, name + ".context"), tokens, name + ".context");
    x = w.add(w.conv1d(attended, tokens, width, name + ".c_proj", 0.5), x, name + ".residual");
    mlir::Value inner = w.tanhGelu(w.conv1d(w.layerNorm(x, 1e-5, name + ".ln_2"), tokens, 4 * width, name + ".c_fc", 1),
                                   name + ".gelu");
    x = w.add(x, w.conv1d(inner, tokens, width, name + ".mlp", 0.5), name + ".residual2");
  }
  x = w.layerNorm(x, 1e-5, "ln_f");
  // The output layer reuses the table of embeddings, scaled so that scores stay near one.
  mlir::Value scaled =
      w.mul(w.reshape(x, {-1, width}, "head.rows"), w.scalar(1 / std::sqrt(width), "head.scale"), "head.scale");
  GemmAttrs head;
  head.trans_b = true;
  mlir::Value logits =
      w.reshape(n.apply("gemm", "Gemm", {scaled, table}, std::move(head), "head"), {-1, tokens, vocabulary}, "logits");
  if (open)
    n.alsoReturn("next_ids", w.argMax(logits, "next_ids"));
  return {logits};
}

} // namespace lathe::zoo
