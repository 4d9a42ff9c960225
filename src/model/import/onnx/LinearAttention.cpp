// LinearAttention (opset 27 on): every head has a matrix that each position changes and reads. A few positions are
// unrolled in the graph; more positions become a loop.
#include "import/Bodies.h"
#include "import/onnx/Onnx.h"

#include <cmath>

namespace lathe::onnx {
namespace {

constexpr int64_t alwaysUnrolled = 8;

class LinearAttentionImport {
public:
  explicit LinearAttentionImport(StructureNode &node)
      : node(node), build(node.graph, node.record, node.loc, operands(node), node.name) {}

  void run() {
    readAttributes();
    prepare();
    const Dim steps = build.info(build.in(0)).dims[1];
    bool few = steps.isConstant() && steps.constant() >= 1 && steps.constant() <= alwaysUnrolled;
    std::optional<Result> result = few ? unrolled(steps.constant()) : looped();
    if (!result)
      return;
    finish(*result);
  }

private:
  struct Result {
    mlir::Value state, reads; // reads: steps x batch x heads x queries of a head x lanes of a value
  };

  StructureNode &node;
  Node build;
  bool gated = false, delta = false;
  double scale = 0;
  Dim batch, heads, group, depth, width; // group: query heads for each head of keys and values
  mlir::Value q, k, v, decay, beta;      // steps first: steps x batch x heads x rows x columns, float32
  mlir::Value initial;                   // batch x heads x depth x width, float32

  static Values operands(StructureNode &node) {
    Values values;
    for (size_t i = 0; i < node.inputs.size(); ++i)
      values.push_back(node.inputs[i].absent ? mlir::Value() : node.tensor(i));
    return values;
  }

  Dim lanes(size_t input, const Dim &count, const char *what) {
    const Dims &dims = build.info(build.in(input)).dims;
    require(dims.size() == 3, "{} is {}, expected rank 3", what, str(dims));
    auto each = dims[2].dividedExactlyBy(count);
    require(each.has_value(), "{} is {}, expected a multiple of {} heads in the last extent", what, str(dims),
            count.str());
    return *each;
  }

  void readAttributes() {
    require(build.version() >= 27, "there is no such operator in opset {}", build.version());
    build.expectInputs(3, 6);
    int64_t queryHeads = build.intAttr("q_num_heads", 0), keyHeads = build.intAttr("kv_num_heads", 0);
    require(queryHeads > 0 && keyHeads > 0 && queryHeads % keyHeads == 0,
            "q_num_heads is {} and kv_num_heads {}, expected positive numbers, one a multiple of the other", queryHeads,
            keyHeads);
    std::string rule = build.stringAttr("update_rule", "gated_delta");
    require(rule == "linear" || rule == "gated" || rule == "delta" || rule == "gated_delta",
            "update_rule is '{}', expected linear, gated, delta or gated_delta", rule);
    gated = rule.starts_with("gated");
    delta = rule.ends_with("delta");
    require(!gated || build.has(4), "update_rule is '{}', and there is no decay", rule);
    require(!delta || build.has(5), "update_rule is '{}', and there is no beta", rule);
    build.ignore({"chunk_size"}); // a hint that does not change the result
    heads = keyHeads;
    group = queryHeads / keyHeads;
    depth = lanes(1, heads, "key");
    width = lanes(2, heads, "value");
    require(lanes(0, Dim(queryHeads), "query") == depth, "query and key have heads of {} and {} lanes",
            lanes(0, Dim(queryHeads), "query").str(), depth.str());
    batch = build.info(build.in(0)).dims[0];
    scale = build.floatAttr("scale", 0);
    if (scale == 0 && depth.isConstant())
      scale = 1 / std::sqrt(static_cast<double>(depth.constant()));
    build.checkAllUnderstood();
  }

  /// Input [batch, steps, heads * rows * columns] as steps x batch x heads x rows x columns.
  mlir::Value stepsFirst(size_t input, const Dim &count, const Dim &rows, const Dim &columns) {
    mlir::Value x = build.cast(build.in(input), ElementType::f32);
    const Dims dims = build.info(x).dims;
    x = build.reshape(x, {dims[0], dims[1], count, rows, columns});
    return build.emit("transpose", {x}, {{"perm", std::vector<int64_t>{1, 0, 2, 3, 4}}});
  }

  void prepare() {
    q = stepsFirst(0, heads, group, depth);
    if (scale == 0) // the run knows the depth
      q = overRootOfExtent(build, q, 4), scale = 1;
    k = stepsFirst(1, heads, depth, 1);
    v = stepsFirst(2, heads, 1, width);
    if (gated) { // for each lane of a key, or for each head
      bool lane = build.info(build.in(4)).dims.back() == heads * depth;
      decay = build.emit("exp", {stepsFirst(4, heads, lane ? depth : Dim(1), 1)});
    }
    if (delta) {
      bool shared = build.info(build.in(5)).dims.back() == Dim(1);
      beta = stepsFirst(5, shared ? Dim(1) : heads, 1, 1);
    }
    if (build.has(3)) {
      initial = build.cast(build.in(3), ElementType::f32);
      return;
    }
    if (!depth.isConstant() || !width.isConstant())
      node.unsupported("the lanes of a head are not static");
    initial = build.expand(build.constantScalar(ElementType::f32, 0), {batch, heads, depth, width}, build.in(0));
  }

  /// One position: updates the state, then reads it.
  struct Step {
    mlir::Value q, k, v, decay, beta;
  };
  std::pair<mlir::Value, mlir::Value> step(mlir::Value state, const Step &at) {
    if (at.decay)
      state = build.emit("mul", {state, at.decay});
    mlir::Value write = at.v;
    if (at.beta) { // replaces what the state holds for the key by the value
      mlir::Value row = build.reshape(at.k, {batch, heads, 1, depth});
      write = build.emit("mul", {at.beta, build.emit("sub", {at.v, build.emit("matmul", {row, state})})});
    }
    state = build.emit("add", {state, build.emit("mul", {at.k, write})});
    mlir::Value read = build.emit("matmul", {at.q, state});
    return {state, build.emit("mul", {read, build.constantScalar(ElementType::f32, scale)})};
  }

  Step stepAt(const std::function<mlir::Value(mlir::Value)> &at) {
    auto maybe = [&](mlir::Value x) { return x ? at(x) : x; };
    return {at(q), at(k), at(v), maybe(decay), maybe(beta)};
  }

  std::optional<Result> unrolled(int64_t steps) {
    mlir::Value state = initial;
    Values reads;
    for (int64_t i = 0; i < steps; ++i) {
      Step at = stepAt([&](mlir::Value x) {
        mlir::Value one = build.emit("slice", {x},
                                     {{"starts", std::vector<int64_t>{i}},
                                      {"ends", std::vector<int64_t>{i + 1}},
                                      {"axes", std::vector<int64_t>{0}},
                                      {"steps", std::vector<int64_t>{1}}});
        Dims dims = build.info(one).dims;
        dims.erase(dims.begin());
        return build.reshape(one, dims);
      });
      auto [next, read] = step(state, at);
      state = next;
      Dims dims = build.info(read).dims;
      dims.insert(dims.begin(), Dim(1));
      reads.push_back(build.reshape(read, dims));
    }
    return Result{state, reads.size() == 1 ? reads[0] : build.emit("concat", reads, {{"axis", 0}})};
  }

  std::optional<Result> looped() {
    LoopParts parts;
    parts.tripCount = extentOf(build, build.in(0), 1);
    parts.condition = build.constantScalar(ElementType::boolean, 1);
    parts.carried = {initial};
    parts.iterate = [&](BodyImport &body) -> std::optional<Values> {
      mlir::Value position = body.argument(0);
      Step at = stepAt([&](mlir::Value x) { return stepOf(build, x, position, 0); });
      auto [state, read] = step(body.argument(2), at);
      return Values{body.argument(1), state, read};
    };
    std::optional<Values> results = emitLoop(node, parts);
    if (!results)
      return std::nullopt;
    return Result{results->at(0), results->at(1)};
  }

  void finish(const Result &result) {
    ElementType type = build.info(build.in(0)).type;
    const Dims given = build.info(build.in(0)).dims;
    mlir::Value y = build.emit("transpose", {result.reads}, {{"perm", std::vector<int64_t>{1, 0, 2, 3, 4}}});
    node.outputs.at(0).value = build.cast(build.reshape(y, {given[0], given[1], heads * group * width}), type);
    if (node.outputs.size() > 1)
      node.outputs[1].value = build.cast(result.state, type);
  }
};

} // namespace

mlir::Value stepOf(Node &node, mlir::Value x, mlir::Value iteration, int64_t axis) {
  Dims dims = node.info(x).dims;
  bool empty = dims.at(static_cast<size_t>(axis)) == Dim(0);
  dims.erase(dims.begin() + axis);
  ElementType type = node.info(x).type;
  if (!empty || !allConstant(dims) || type == ElementType::string)
    return node.emit("gather", {x, iteration}, {{"axis", axis}});
  mlir::Value shape = node.constantInts({static_cast<int64_t>(dims.size())}, constants(dims));
  return node.emit("constant_of_shape", {shape}, {{"value", 0.0}, {"type", type}});
}

void importLinearAttention(StructureNode &node) { LinearAttentionImport(node).run(); }

} // namespace lathe::onnx
