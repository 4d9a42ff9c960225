// Operators that are composed of other operators, so that they are compiled and fused without code of their own.
#include "import/onnx/Onnx.h"
#include "import/parts/Emitter.h"

#include <numeric>

namespace lathe::onnx {

mlir::Value extentOf(Node &node, mlir::Value x, int64_t axis) {
  return node.reshape(node.emit("shape", {x}, {{"start", axis}, {"end", axis + 1}}), {});
}

mlir::Value overRootOfExtent(Node &node, mlir::Value x, int64_t axis) {
  mlir::Value root = node.emit("sqrt", {node.cast(extentOf(node, x, axis), ElementType::f32)});
  return node.emit("div", {x, node.cast(root, node.info(x).type)});
}

mlir::Value countTo(Node &node, mlir::Value size) {
  std::optional<std::vector<int64_t>> known = node.staticInts(size);
  if (!known)
    return node.emit("range", {node.constantInts({}, {0}), size, node.constantInts({}, {1})});
  require(known->size() == 1 && known->front() >= 0 && known->front() < int64_t(1) << 32,
          "counts to {}, expected less than 2^32", fmt::join(*known, ", "));
  std::vector<int64_t> values(static_cast<size_t>(known->front()));
  std::iota(values.begin(), values.end(), 0);
  return node.constantInts({known->front()}, values);
}

mlir::Value column(Node &node, mlir::Value vector) {
  return node.emit("reshape", {vector}, {{"shape", std::vector<int64_t>{-1, 1}}});
}

namespace {

mlir::Value counting(Node &node, mlir::Value x, int64_t axis) { return countTo(node, extentOf(node, x, axis)); }

/// For bool rows x columns of x's last two axes: column >= row + k (`upper`), <= (`lower`) or == (`exactly`).
enum class Side { upper, lower, exactly };
mlir::Value triangle(Node &node, mlir::Value x, mlir::Value k, Side side) {
  int64_t rank = node.rank(x);
  mlir::Value rows = column(node, counting(node, x, rank - 2)), columns = counting(node, x, rank - 1);
  if (k)
    rows = node.emit("add", {rows, node.reshape(k, {})});
  return node.emit(side == Side::upper   ? "less_equal"
                   : side == Side::lower ? "greater_equal"
                                         : "equal",
                   {rows, columns});
}

void importTrilu(Node &node) {
  require(node.version() >= 14, "there is no such operator in opset {}", node.version());
  node.expectInputs(1, 2);
  mlir::Value x = node.in(0), k = node.inOrNull(1);
  require(node.rank(x) >= 2, "x has rank {}, expected at least 2", node.rank(x));
  bool upper = node.intAttr("upper", 1) != 0;
  mlir::Value mask = triangle(node, x, k, upper ? Side::upper : Side::lower);
  node.set(0, node.emit("where", {mask, x, node.constantScalar(node.info(x).type, 0)}));
}

void importEyeLike(Node &node) {
  node.expectInputs(1, 1);
  mlir::Value x = node.in(0);
  require(node.rank(x) == 2, "x has rank {}, expected 2", node.rank(x));
  ElementType type = node.info(x).type;
  if (node.hasAttr("dtype"))
    type = fromOnnxType(node.intAttr("dtype", 0));
  if (type == ElementType::invalid)
    node.unsupported("the element type is not supported");
  mlir::Value mask = triangle(node, x, node.constantInts({}, {node.intAttr("k", 0)}), Side::exactly);
  node.set(0, node.cast(mask, type));
}

/// where(indices == 0 ... depth - 1, on, off) with a new axis.
void importOneHot(Node &node) {
  node.expectInputs(3, 3);
  mlir::Value indices = node.cast(node.in(0), ElementType::i64), values = node.in(2), classes;
  Dims dims = node.info(indices).dims;
  int64_t axis = normalizeAxis(node.intAttr("axis", -1), static_cast<int64_t>(dims.size()) + 1, "axis");
  mlir::Value depth = node.cast(node.in(1), ElementType::i64);
  depth = node.reshape(depth, {});
  if (auto known = node.staticDoubles(node.in(1)); known && known->size() == 1) {
    require(known->front() >= 1 && known->front() < 1e9, "depth is {}, expected a positive number", known->front());
    std::vector<int64_t> all(static_cast<size_t>(known->front()));
    for (size_t i = 0; i < all.size(); ++i)
      all[i] = static_cast<int64_t>(i);
    depth = node.constantInts({}, {static_cast<int64_t>(all.size())});
    classes = node.constantInts({static_cast<int64_t>(all.size())}, all);
  } else {
    classes = node.emit("range", {node.constantInts({}, {0}), depth, node.constantInts({}, {1})});
  }
  // Negative indices count from the end.
  mlir::Value below = node.emit("less", {indices, node.constantInts({}, {0})});
  indices = node.emit("where", {below, node.emit("add", {indices, depth}), indices});
  auto after = static_cast<int64_t>(dims.size()) - axis;
  dims.insert(dims.begin() + axis, Dim(1));
  indices = node.reshape(indices, dims);
  std::vector<int64_t> shape(after + 1, 1);
  shape[0] = -1;
  classes = node.emit("reshape", {classes}, {{"shape", shape}});
  auto part = [&](int64_t i) {
    mlir::Value one =
        node.emit("slice", {values}, {{"starts", std::vector<int64_t>{i}}, {"ends", std::vector<int64_t>{i + 1}}});
    return node.reshape(one, {});
  };
  require(node.info(values).rank() == 1 && mayAgree(node.info(values).dims[0], 2),
          "values is {}, expected two elements", str(node.info(values).dims));
  node.set(0, node.emit("where", {node.emit("equal", {indices, classes}), part(1), part(0)}));
}

/// Cuts or pads every axis around its centre.
void importCenterCropPad(Node &node) {
  node.expectInputs(2, 2);
  mlir::Value x = node.in(0);
  const Dims dims = node.info(x).dims;
  auto rank = static_cast<int64_t>(dims.size());
  std::vector<int64_t> target = node.requireInts(1, "shape"), all;
  for (int64_t axis = 0; axis < rank; ++axis)
    all.push_back(axis);
  auto axes = normalizeAxes(node.intsAttr("axes", all), rank, "axes");
  require(target.size() == axes.size(), "shape has {} values, expected {}", target.size(), axes.size());
  std::vector<int64_t> starts, ends, pads(2 * rank);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!dims[axes[i]].isConstant())
      node.unsupported(fmt::format("centring needs extent '{}'; give it with --shape", dims[axes[i]].str()));
    int64_t extent = dims[axes[i]].constant(), more = target[i] - extent;
    require(target[i] >= 0 && target[i] < int64_t(1) << 40, "shape has value {}", target[i]);
    starts.push_back(more < 0 ? -more / 2 : 0);
    ends.push_back(starts.back() + std::min(extent, target[i]));
    pads[axes[i]] = std::max<int64_t>(more, 0) / 2;
    pads[rank + axes[i]] = std::max<int64_t>(more, 0) - pads[axes[i]];
  }
  x = node.emit("slice", {x}, {{"starts", starts}, {"ends", ends}, {"axes", axes}});
  node.set(0, node.emit("pad", {x}, {{"pads", pads}}));
}

mlir::Value scalar(Node &node, mlir::Value like, double value) {
  return node.constantScalar(node.info(like).type, value);
}

/// |x|^p
mlir::Value powered(Node &node, mlir::Value x, int64_t p) {
  if (p == 2)
    return node.emit("mul", {x, x});
  mlir::Value size = node.emit("abs", {x});
  return p == 1 ? size : node.emit("pow", {size, scalar(node, x, static_cast<double>(p))});
}
/// x^(1/p)
mlir::Value root(Node &node, mlir::Value x, int64_t p) {
  if (p == 1)
    return x;
  return p == 2 ? node.emit("sqrt", {x}) : node.emit("pow", {x, scalar(node, x, 1.0 / static_cast<double>(p))});
}

/// The mean over a window, with padding counted, is the window's sum divided by a constant.
void importLpPool(Node &node) {
  int64_t p = node.intAttr("p", 2), elements = 1;
  require(p >= 1, "p is {}, expected at least 1", p);
  Fields fields = averagePoolFields(node);
  for (auto &[name, field] : fields)
    if (name == "kernel")
      for (int64_t extent : std::get<std::vector<int64_t>>(field.value))
        elements *= extent;
  // Padding that ceil_mode adds at the end counts as well, so that the divisor is the same for every window.
  padForCeil(node.info(node.in(0)).dims, fields);
  fields.emplace_back("count_include_pad", true);
  mlir::Value mean = node.emit("average_pool", {powered(node, node.in(0), p)}, fields);
  mlir::Value sum = node.emit("mul", {mean, scalar(node, mean, static_cast<double>(elements))});
  node.set(0, root(node, sum, p));
}

void importGlobalLpPool(Node &node) {
  node.expectInputs(1, 1);
  mlir::Value x = node.in(0);
  int64_t p = node.intAttr("p", 2);
  require(p >= 1, "p is {}, expected at least 1", p);
  std::vector<int64_t> axes;
  for (int64_t axis = 2; axis < node.rank(x); ++axis)
    axes.push_back(axis);
  require(!axes.empty(), "x has rank {}, expected at least 3", node.rank(x));
  mlir::Value sum = node.emit("reduce_sum", {powered(node, x, p)}, {{"axes", axes}, {"keepdims", true}});
  node.set(0, root(node, sum, p));
}

/// Picks classes with gather_elements; ignored labels have weight 0.
mlir::Value logLikelihoodLoss(Node &node, mlir::Value x, mlir::Value labels, mlir::Value weights) {
  std::string reduction = node.stringAttr("reduction", "mean");
  require(reduction == "none" || reduction == "sum" || reduction == "mean",
          "reduction is '{}', expected none, sum or mean", reduction);
  Dims dims = node.info(labels).dims;
  require(node.rank(x) == static_cast<int64_t>(dims.size()) + 1, "x has rank {} and target {}, expected one less",
          node.rank(x), dims.size());
  labels = node.cast(labels, ElementType::i64);
  mlir::Value counted; // 1 or the weight of the class, 0 where ignored
  mlir::Value one = scalar(node, x, 1), zero = scalar(node, x, 0);
  if (node.hasAttr("ignore_index")) {
    mlir::Value ignored = node.emit("equal", {labels, node.constantInts({}, {node.intAttr("ignore_index", 0)})});
    labels = node.emit("where", {ignored, node.constantInts({}, {0}), labels});
    counted = node.emit("where", {ignored, zero, weights ? node.emit("gather", {weights, labels}) : one});
  } else if (weights) {
    counted = node.emit("gather", {weights, labels});
  }
  dims.insert(dims.begin() + 1, Dim(1));
  mlir::Value picked = node.emit("gather_elements", {x, node.reshape(labels, dims)}, {{"axis", 1}});
  dims.erase(dims.begin() + 1);
  mlir::Value loss = node.emit("neg", {node.reshape(picked, dims)});
  if (counted)
    loss = node.emit("mul", {loss, counted});
  if (reduction == "none")
    return loss;
  if (reduction == "mean" && !counted)
    return node.emit("reduce_mean", {loss}, {{"keepdims", false}});
  mlir::Value sum = node.emit("reduce_sum", {loss}, {{"keepdims", false}});
  return reduction == "sum" ? sum : node.emit("div", {sum, node.emit("reduce_sum", {counted}, {{"keepdims", false}})});
}

void importNegativeLogLikelihoodLoss(Node &node) {
  node.expectInputs(2, 3);
  node.set(0, logLikelihoodLoss(node, node.in(0), node.in(1), node.inOrNull(2)));
}

void importSoftmaxCrossEntropyLoss(Node &node) {
  node.expectInputs(2, 3);
  mlir::Value logarithms = node.emit("log_softmax", {node.in(0)}, {{"axis", 1}});
  node.set(0, logLikelihoodLoss(node, logarithms, node.in(1), node.inOrNull(2)));
  if (node.outputCount() > 1)
    node.set(1, logarithms);
}

/// Positions of grid points under an affine map: (x, y, 1) of every point times the transposed map.
void importAffineGrid(Node &node) {
  require(node.version() >= 20, "there is no such operator in opset {}", node.version());
  node.expectInputs(2, 2);
  mlir::Value theta = node.in(0);
  auto size = node.requireInts(1, "size");
  bool corners = node.intAttr("align_corners", 0) != 0;
  require(size.size() == 4 || size.size() == 5, "size has {} values, expected 4 or 5", size.size());
  size_t spatial = size.size() - 2;
  const Dims known = node.info(theta).dims;
  require(known.size() == 3 && mayAgree(known[0], size[0]) && mayAgree(known[1], static_cast<int64_t>(spatial)) &&
              mayAgree(known[2], static_cast<int64_t>(spatial) + 1),
          "theta is {}, expected {} x {} x {}", str(known), size[0], spatial, spatial + 1);
  int64_t points = 1;
  for (size_t i = 2; i < size.size(); ++i) {
    require(size[i] > 0 && size[i] < 1 << 16, "size has value {}", size[i]);
    points *= size[i];
  }
  madeElements({points, static_cast<int64_t>(spatial)}, "the grid");
  std::vector<double> base;
  for (int64_t point = 0; point < points; ++point) {
    int64_t rest = point;
    for (size_t axis = spatial; axis-- > 0;) { // the last axis is x
      int64_t extent = size[2 + axis], at = rest % extent;
      rest /= extent;
      double step = 2.0 / static_cast<double>(corners ? std::max<int64_t>(extent - 1, 1) : extent);
      base.push_back((corners ? -1 : -1 + step / 2) + step * static_cast<double>(at));
    }
    base.push_back(1);
  }
  TensorData data{ElementType::f64, {points, static_cast<int64_t>(spatial) + 1}, {}, {}};
  data.bytes.assign(reinterpret_cast<const char *>(base.data()),
                    reinterpret_cast<const char *>(base.data() + base.size()));
  mlir::Value grid = node.cast(node.constant(data), node.info(theta).type);
  theta = node.emit("transpose", {theta}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  grid = node.emit("matmul", {grid, theta});
  Dims dims(size.begin(), size.end());
  dims.erase(dims.begin() + 1);
  dims.emplace_back(static_cast<int64_t>(spatial));
  node.set(0, node.reshape(grid, dims));
}

void importEinsum(Node &node) {
  require(node.version() >= 12, "there is no such operator in opset {}", node.version());
  require(node.hasAttr("equation"), "has no equation");
  Values operands;
  for (size_t i = 0; i < node.inputCount(); ++i)
    operands.push_back(node.in(i));
  node.set(0, einsum(node, operands, node.stringAttr("equation", "")));
}

} // namespace

void addDecomposedHandlers(Handlers &table) {
  table["Einsum"] = importEinsum;
  table["Trilu"] = importTrilu;
  table["EyeLike"] = importEyeLike;
  table["OneHot"] = importOneHot;
  table["CenterCropPad"] = importCenterCropPad;
  table["LpPool"] = importLpPool;
  table["GlobalLpPool"] = importGlobalLpPool;
  table["NegativeLogLikelihoodLoss"] = importNegativeLogLikelihoodLoss;
  table["SoftmaxCrossEntropyLoss"] = importSoftmaxCrossEntropyLoss;
  table["AffineGrid"] = importAffineGrid;
  table["Einsum"] = importEinsum;
}

} // namespace lathe::onnx
