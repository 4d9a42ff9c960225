// NonMaxSuppressionV5 that lowers the scores of overlapping boxes instead of dropping them. Each round (an iteration of
// a loop) takes the best remaining box and lowers the scores of the others by their overlap with it.
#include "import/Bodies.h"
#include "import/tensorflow/TensorFlow.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace lathe::tensorflow {
namespace {

/// The value of a constant of one element; nothing for other values.
std::optional<float> constantNumber(mlir::Value value) {
  auto constant = value ? value.getDefiningOp<nn::ConstantOp>() : nn::ConstantOp();
  if (!constant)
    return std::nullopt;
  nn::ConstantData data = nn::constantData(constant.getValue());
  float number = 0;
  if (data.type != ElementType::f32 || data.bytes.size() != sizeof number)
    return std::nullopt;
  std::memcpy(&number, data.bytes.data(), sizeof number);
  return number;
}

class SoftSuppression {
public:
  explicit SoftSuppression(StructureNode &node)
      : node(node), builder(node.graph, node.record, node.loc, {}, node.name), op(builder) {}

  void run() {
    mlir::Value boxes = builder.cast(node.tensor(0), ElementType::f32);
    mlir::Value scores = builder.cast(node.tensor(1), ElementType::f32);
    require(op.rank(boxes) == 2 && op.rank(scores) == 1, "boxes have rank {} and scores rank {}, expected 2 and 1",
            op.rank(boxes), op.rank(scores));
    std::optional<int64_t> limit = node.scalar(node.in(2));
    if (!limit)
      node.unsupported("the number of boxes is computed at run time");
    most = *limit;
    require(most >= 0, "the number of boxes is {}, expected none below 0", most);
    overlap = scalar(3), least = scalar(4);
    scale = -0.5 / static_cast<double>(*constantNumber(node.tensor(5)));
    readCorners(boxes);
    nothing = number(-INFINITY);
    int64_t count = knownExtent(op, op.dims(scores)[0], "the boxes");
    if (!node.intAttr("pad_to_max_output_size", 0))
      most = std::min(most, count);
    places = ramp(op, count, 0, 1);
    rows = ramp(op, most, 0, 1);
    mlir::Value left = op.emit("where", {op.emit("greater", {scores, least}), scores, nothing});
    LoopParts parts;
    parts.tripCount = builder.constantInts({}, {most});
    parts.condition = anyIn(left);
    mlir::Value extent = builder.constantInts({1}, {most});
    parts.carried = {left, filled(op, extent, ElementType::i64, 0), filled(op, extent, ElementType::f32, 0),
                     builder.constantInts({}, {0})};
    parts.iterate = [&](BodyImport &body) { return std::optional(round(body)); };
    std::optional<Values> results = emitLoop(node, parts);
    if (results)
      setResults((*results)[1], (*results)[2], (*results)[3]);
  }

private:
  StructureNode &node;
  Node builder;
  Emitter op;
  mlir::Value begins[2], ends[2], areas; // of all boxes, along both axes
  mlir::Value overlap, least, nothing, places, rows;
  int64_t most = 0;
  double scale = 0;

  mlir::Value number(double value) { return op.number(ElementType::f32, value); }
  mlir::Value scalar(size_t index) { return builder.reshape(builder.cast(node.tensor(index), ElementType::f32), {}); }
  mlir::Value greatest(mlir::Value x) { return op.emit("reduce_max", {x}, {{"axes", Ints{0}}, {"keepdims", false}}); }
  mlir::Value anyIn(mlir::Value left) { return op.emit("greater", {greatest(left), nothing}); }

  /// Sorts the corners, which may be given in any order.
  void readCorners(mlir::Value boxes) {
    auto column = [&](int64_t index) {
      return builder.reshape(cut(op, boxes, 1, index, index + 1), {op.dims(boxes)[0]});
    };
    for (int64_t axis : {0, 1}) {
      mlir::Value a = column(axis), b = column(axis + 2);
      begins[axis] = op.emit("min", {a, b}), ends[axis] = op.emit("max", {a, b});
    }
    areas = op.emit("mul", {op.emit("sub", {ends[0], begins[0]}), op.emit("sub", {ends[1], begins[1]})});
  }

  /// Intersection over union of all boxes with box `best`.
  mlir::Value shared(mlir::Value best) {
    auto own = [&](mlir::Value values) { return op.emit("gather", {values, best}, {{"axis", 0}}); };
    auto along = [&](int axis) {
      mlir::Value begin = op.emit("max", {begins[axis], own(begins[axis])});
      mlir::Value end = op.emit("min", {ends[axis], own(ends[axis])});
      return op.emit("max", {op.emit("sub", {end, begin}), number(0)});
    };
    mlir::Value both = op.emit("mul", {along(0), along(1)}), area = own(areas);
    mlir::Value ratio = op.emit("div", {both, op.emit("sub", {op.emit("add", {areas, area}), both})});
    mlir::Value real = op.emit("greater", {op.emit("min", {areas, area}), number(0)});
    return op.emit("where", {real, ratio, number(0)});
  }

  /// Carried values: the remaining scores, the selected boxes with their scores, and the number of selected boxes.
  Values round(BodyImport &body) {
    mlir::Value left = body.argument(2), taken = body.argument(3), scores = body.argument(4), count = body.argument(5);
    mlir::Value best = op.emit("arg_max", {left}, {{"axis", 0}, {"keepdims", false}});
    mlir::Value here = op.emit("equal", {rows, count});
    taken = op.emit("where", {here, best, taken});
    scores = op.emit("where", {here, greatest(left), scores});
    mlir::Value ratio = shared(best);
    mlir::Value weight = op.emit("exp", {op.emit("mul", {op.emit("mul", {ratio, ratio}), number(scale)})});
    weight = op.emit("where", {op.emit("less_equal", {ratio, overlap}), weight, number(0)});
    mlir::Value lowered = op.emit("mul", {left, weight});
    mlir::Value stays = op.emit("and", {op.emit("greater", {left, nothing}), op.emit("greater", {lowered, least})});
    stays = op.emit("and", {stays, op.emit("not", {op.emit("equal", {places, best})})});
    left = op.emit("where", {stays, lowered, nothing});
    count = op.emit("add", {count, builder.constantInts({}, {1})});
    return {anyIn(left), left, taken, scores, count};
  }

  void setResults(mlir::Value taken, mlir::Value scores, mlir::Value count) {
    if (!node.intAttr("pad_to_max_output_size", 0)) {
      mlir::Value begin = builder.constantInts({1}, {0}), end = builder.reshape(count, {Dim(1)});
      taken = op.emit("slice", {taken, begin, end, {}, {}});
      scores = op.emit("slice", {scores, begin, end, {}, {}});
    }
    ElementType type = op.typeOf(node.tensor(1));
    Values values = {builder.cast(taken, ElementType::i32), builder.cast(scores, type),
                     builder.cast(count, ElementType::i32)};
    for (size_t i = 0; i < values.size() && i < node.outputs.size(); ++i)
      node.outputs[i].value = values[i];
  }
};

void importSoftSuppression(StructureNode &node) { SoftSuppression(node).run(); }

} // namespace

StructureHandler softSuppression(const NodeRecord &node, const std::vector<Entry> &inputs) {
  if (node.op != "NonMaxSuppressionV5" || inputs.size() != 6)
    return nullptr;
  std::optional<float> sigma = constantNumber(inputs[5].value);
  return sigma && *sigma > 0 ? importSoftSuppression : nullptr;
}

} // namespace lathe::tensorflow
