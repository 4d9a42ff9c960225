// FlexAttention (ai.onnx.preview): attention whose scores and probabilities pass through subgraphs of the model.
#include "import/onnx/Onnx.h"

#include <cmath>

namespace lathe::onnx {
namespace {

class FlexAttentionImport {
public:
  explicit FlexAttentionImport(StructureNode &node)
      : node(node), build(node.graph, node.record, node.loc, operands(node), node.name) {}

  void run() {
    build.expectInputs(3, 3);
    q = build.in(0), k = build.in(1), v = build.in(2);
    for (mlir::Value value : {q, k, v})
      require(build.rank(value) == 4, "an operand is {}, expected rank 4", str(build.info(value).dims));
    double scale = readScale();
    ElementType type = build.info(q).type, precision = build.typeAttr("softmax_precision", ElementType::f32);
    build.ignore({"score_mod", "prob_mod"});
    build.checkAllUnderstood();
    if (!node.attr("score_mod") && !node.attr("prob_mod")) {
      node.outputs.at(0).value = build.emit("attention", {q, k, v}, {{"scale", scale}});
      return;
    }
    if (bitWidth(precision) < bitWidth(type))
      precision = type;
    mlir::Value scores = build.cast(product(scale), precision);
    if (!modified("score_mod", scores))
      return;
    mlir::Value shares = build.emit("softmax", {scores}, {{"axis", -1}});
    if (!modified("prob_mod", shares))
      return;
    node.outputs.at(0).value = build.cast(weighed(shares), type);
  }

private:
  StructureNode &node;
  Node build;
  mlir::Value q, k, v;

  static Values operands(StructureNode &node) {
    Values values;
    for (size_t i = 0; i < node.inputs.size(); ++i)
      values.push_back(node.tensor(i));
    return values;
  }

  /// Reads the scale; the default is 1 / sqrt(depth). If only the run knows the depth, the queries are divided instead.
  double readScale() {
    const Dim depth = build.info(q).dims[3];
    double scale = build.floatAttr("scale", 0);
    if (scale != 0)
      return scale;
    if (depth.isConstant())
      return 1 / std::sqrt(static_cast<double>(depth.constant()));
    q = overRootOfExtent(build, q, 3);
    return 1;
  }

  /// Number of query heads for each head of keys and values.
  Dim shared() {
    const Dims rows = build.info(q).dims, columns = build.info(k).dims;
    auto times = rows[1].dividedExactlyBy(columns[1]);
    require(times.has_value(), "Q has {} heads, expected a multiple of the {} of K", rows[1].str(), columns[1].str());
    return *times;
  }

  /// Heads that share their keys are rows of one product.
  mlir::Value product(double scale) {
    const Dims rows = build.info(q).dims, columns = build.info(k).dims;
    mlir::Value left = build.emit("mul", {q, build.constantScalar(build.info(q).type, scale)});
    Dim times = shared();
    if (!(times == Dim(1)))
      left = build.reshape(left, {rows[0], columns[1], times * rows[2], rows[3]});
    mlir::Value right = build.emit("transpose", {k}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
    mlir::Value scores = build.emit("matmul", {left, right});
    return times == Dim(1) ? scores : build.reshape(scores, {rows[0], rows[1], rows[2], columns[2]});
  }

  mlir::Value weighed(mlir::Value shares) {
    const Dims rows = build.info(shares).dims, columns = build.info(v).dims;
    Dim times = shared();
    if (!(times == Dim(1)))
      shares = build.reshape(shares, {rows[0], columns[1], times * rows[2], rows[3]});
    mlir::Value y = build.emit("matmul", {shares, build.cast(v, build.info(shares).type)});
    return times == Dim(1) ? y : build.reshape(y, {rows[0], rows[1], rows[2], columns[3]});
  }

  /// Passes `value` through a subgraph, if the node has one. Returns false if one of its nodes could not be imported.
  bool modified(const char *name, mlir::Value &value) {
    if (!node.attr(name))
      return true;
    const GraphRecord &graph = node.subgraph(name);
    require(graph.outputs.size() == 1, "{} has {} outputs, expected 1", name, graph.outputs.size());
    std::vector<Entry> made = Body(node, graph).run(node, {{value, {}, false}}, node.name + "/");
    if (!allImported(made))
      return false;
    const TensorInfo before = build.info(value);
    require(made[0].value && build.info(made[0].value).type == before.type &&
                build.info(made[0].value).rank() == before.rank(),
            "{} changes its operand's type or rank", name);
    value = made[0].value;
    return true;
  }
};

} // namespace

void importFlexAttention(StructureNode &node) { FlexAttentionImport(node).run(); }

} // namespace lathe::onnx
