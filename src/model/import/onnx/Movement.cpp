// Operators that move elements: split, pad and resize in all their historical forms.
#include "import/onnx/Onnx.h"
#include "import/parts/RunTimeParameters.h"

namespace lathe::onnx {
namespace {

void setPieces(Node &node, const Values &pieces) {
  for (size_t i = 0; i < pieces.size(); ++i)
    node.set(i, pieces[i]);
}

void importSplit(Node &node) {
  node.expectInputs(1, node.version() < 13 ? 1 : 2);
  mlir::Value x = node.in(0);
  const Dims dims = node.info(x).dims;
  int64_t axis = normalizeAxis(node.intAttr("axis", 0), static_cast<int64_t>(dims.size()), "axis");
  auto count = static_cast<int64_t>(node.outputCount());
  require(count > 0, "has no outputs, expected at least 1");
  std::vector<int64_t> sizes;
  mlir::Value computed;
  if (node.version() < 13)
    sizes = node.intsAttr("split");
  else if (auto known = node.has(1) ? node.staticInts(node.in(1)) : std::nullopt)
    sizes = *known;
  else
    computed = node.inOrNull(1);
  if (node.version() >= 18) {
    int64_t stated = node.intAttr("num_outputs", count);
    require(!sizes.empty() || computed || stated == count, "num_outputs is {}, expected {} as there are outputs",
            stated, count);
  }
  if (computed) {
    const Dims &given = node.info(computed).dims;
    require(given.size() == 1 && mayAgree(given[0], count), "split is {}, expected {} values", str(given), count);
    computed = node.reshape(node.cast(computed, ElementType::i64), {Dim(count)});
    return setPieces(node, piecesOf(node, x, axis, computed, count));
  }
  if (sizes.empty()) {
    if (!dims[axis].isConstant())
      return setPieces(node, equalPieces(node, x, axis, count, /*uneven=*/node.version() >= 18));
    int64_t extent = dims[axis].constant(), chunk = (extent + count - 1) / count;
    require(node.version() >= 18 || extent % count == 0, "extent {} does not split into {} equal pieces", extent,
            count);
    for (int64_t i = 0; i < count; ++i)
      sizes.push_back(std::min(chunk, std::max<int64_t>(extent - i * chunk, 0)));
  }
  require(static_cast<int64_t>(sizes.size()) == count, "split has {} values, expected {}", sizes.size(), count);
  mlir::Operation *op = node.emitOp("split", {x}, {{"axis", axis}, {"sizes", sizes}});
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    node.set(i, op->getResult(i));
}

/// Expands pads for some axes to pads for all axes, if pads or axes are computed at run time.
mlir::Value padsOfAxes(Node &node, mlir::Value pads, mlir::Value axes, int64_t rank) {
  int64_t count = axisCount(node, axes);
  require(node.info(pads).rank() == 1 && mayAgree(node.info(pads).dims[0], 2 * count), "pads is {}, expected {} values",
          str(node.info(pads).dims), 2 * count);
  pads = node.reshape(pads, {Dim(2 * count)});
  Values ends;
  for (int64_t begin : {int64_t(0), count}) {
    mlir::Value part = node.emit(
        "slice", {pads}, {{"starts", std::vector<int64_t>{begin}}, {"ends", std::vector<int64_t>{begin + count}}});
    ends.push_back(spreadOverAxes(node, part, axes, rank, 0));
  }
  return node.emit("concat", ends, {{"axis", int64_t(0)}});
}

/// Since opset 18 pads may concern some axes only.
void importPad(Node &node) {
  if (node.version() < 18 || !node.has(3)) {
    if (node.version() < 18)
      return importDirectly(node);
    node.expectInputs(2, 4);
  }
  mlir::Value x = node.in(0), padsIn = node.in(1), valueIn = node.inOrNull(2);
  std::string mode = node.stringAttr("mode", "constant");
  auto rank = static_cast<int64_t>(node.info(x).rank());
  Fields fields = {{"mode", mode}};
  auto pads = node.staticInts(padsIn);
  auto knownAxes = node.has(3) ? node.staticInts(node.in(3)) : std::nullopt;
  if (node.has(3) && (!pads || !knownAxes)) {
    padsIn = padsOfAxes(node, padsIn, node.in(3), rank);
    pads.reset();
  } else if (node.has(3)) {
    const std::vector<int64_t> &axes = *knownAxes;
    require(pads->size() == 2 * axes.size(), "pads has {} values, expected {}", pads->size(), 2 * axes.size());
    std::vector<int64_t> all(2 * rank);
    for (size_t i = 0; i < axes.size(); ++i) {
      int64_t axis = normalizeAxis(axes[i], rank, "axes");
      all[axis] = (*pads)[i];
      all[rank + axis] = (*pads)[axes.size() + i];
    }
    pads = all;
  }
  if (pads) {
    fields.emplace_back("pads", *pads);
    padsIn = {};
  }
  if (valueIn)
    if (auto value = node.staticDoubles(valueIn); value && value->size() == 1) {
      fields.emplace_back("value", value->front());
      valueIn = {};
    }
  node.set(0, node.emit("pad", {x, padsIn, valueIn}, fields));
}

/// An operand without elements counts as absent.
mlir::Value unlessEmpty(Node &node, size_t index) {
  mlir::Value value = node.inOrNull(index);
  return value && product(node.info(value).dims) == Dim(0) ? mlir::Value() : value;
}

/// Adds `operand` as attribute `field` if its elements are known and returns null; otherwise returns the operand.
template <class T>
mlir::Value addStatic(mlir::Value operand, const char *field, std::optional<std::vector<T>> known, Fields &fields) {
  if (!operand || !known)
    return operand;
  fields.emplace_back(field, *known);
  return {};
}

/// Spreads values for some axes over all axes; the other axes get `rest`.
template <class T>
std::vector<T> spread(const std::vector<T> &some, const std::vector<int64_t> &axes, std::vector<T> rest,
                      const char *what) {
  require(some.size() == axes.size(), "{} has {} values, expected {}", what, some.size(), axes.size());
  for (size_t i = 0; i < axes.size(); ++i)
    rest[normalizeAxis(axes[i], static_cast<int64_t>(rest.size()), "axes")] = some[i];
  return rest;
}

/// Like `spread`, for a vector of values that is computed at run time. `rest` has a value for each axis.
mlir::Value spreadComputed(Node &node, mlir::Value some, const std::vector<int64_t> &axes, mlir::Value rest,
                           const char *what) {
  auto rank = node.info(rest).dims[0].constant(), count = static_cast<int64_t>(axes.size());
  require(node.info(some).rank() == 1 && mayAgree(node.info(some).dims[0], count), "{} is {}, expected {} values", what,
          str(node.info(some).dims), count);
  std::vector<int64_t> from;
  for (int64_t axis = 0; axis < rank; ++axis)
    from.push_back(count + axis);
  for (int64_t i = 0; i < count; ++i)
    from[static_cast<size_t>(normalizeAxis(axes[static_cast<size_t>(i)], rank, "axes"))] = i;
  mlir::Value all = node.emit("concat", {node.reshape(some, {Dim(count)}), rest}, {{"axis", int64_t(0)}});
  return node.emit("gather", {all, node.constantInts({rank}, from)});
}

mlir::Value onesLike(Node &node, mlir::Value value, int64_t count) {
  mlir::Value one = node.constantScalar(node.info(value).type, 1);
  return node.emit("expand", {one}, {{"shape", std::vector<int64_t>{count}}});
}

/// Upsample, and Resize of opset 10: only x and scales; sampling is "asymmetric", and nearest rounds down.
void importUpsample(Node &node) {
  std::string op = node.record.op;
  require(op == "Resize" || node.version() <= 9, "there is no such operator in opset {}", node.version());
  bool scalesAreAttribute = op == "Upsample" && node.version() < 9;
  std::string mode = node.stringAttr("mode", "nearest");
  Fields fields = {{"mode", mode == "bilinear" || mode == "trilinear" ? "linear" : mode},
                   {"coordinate_mode", "asymmetric"},
                   {"nearest_mode", "floor"}};
  mlir::Value scales;
  if (scalesAreAttribute) {
    node.expectInputs(1, 1);
    require(node.hasAttr("scales"), "has no scales");
    fields.emplace_back("scales", node.floatsAttr("scales"));
  } else {
    node.expectInputs(2, 2);
    scales = addStatic(node.in(1), "scales", node.staticDoubles(node.in(1)), fields);
  }
  node.set(0, node.emit("resize", {node.in(0), {}, scales, {}}, fields));
}

/// Sizes under keep_aspect_ratio_policy: all given axes get the smallest or greatest scale that fits. The scale goes to
/// `scales`, because positions follow from it and not from the rounded sizes.
std::vector<int64_t> keepAspectRatio(Node &node, const Dims &dims, std::vector<int64_t> sizes,
                                     const std::vector<int64_t> &axes, bool notLarger, std::vector<double> &scales) {
  double scale = notLarger ? std::numeric_limits<double>::infinity() : 0;
  scales.assign(dims.size(), 1);
  for (int64_t axis : axes) {
    axis = normalizeAxis(axis, static_cast<int64_t>(dims.size()), "axes");
    if (!dims[axis].isConstant())
      node.unsupported(
          fmt::format("keeping the aspect ratio needs extent '{}'; give it with --shape", dims[axis].str()));
    require(dims[axis].constant() > 0, "axis {} is empty", axis);
    double factor = static_cast<double>(sizes[axis]) / static_cast<double>(dims[axis].constant());
    scale = notLarger ? std::min(scale, factor) : std::max(scale, factor);
  }
  for (int64_t axis : axes) {
    axis = normalizeAxis(axis, static_cast<int64_t>(dims.size()), "axes");
    sizes[axis] = static_cast<int64_t>(std::floor(scale * static_cast<double>(dims[axis].constant()) + 0.5));
    scales[axis] = scale;
  }
  return sizes;
}

/// Completes the start and end of a crop of some axes; the other axes are taken whole.
std::vector<double> spreadRoi(const std::vector<double> &roi, const std::vector<int64_t> &axes, int64_t rank) {
  require(roi.size() == 2 * axes.size(), "roi has {} values, expected {}", roi.size(), 2 * axes.size());
  auto half = roi.begin() + static_cast<int64_t>(axes.size());
  auto all = spread(std::vector<double>(roi.begin(), half), axes, std::vector<double>(rank, 0.0), "roi");
  auto ends = spread(std::vector<double>(half, roi.end()), axes, std::vector<double>(rank, 1.0), "roi");
  all.insert(all.end(), ends.begin(), ends.end());
  return all;
}

void importResize(Node &node) {
  if (node.version() < 11)
    return importUpsample(node);
  node.expectInputs(1, 4);
  mlir::Value x = node.in(0), roi = unlessEmpty(node, 1), scales = unlessEmpty(node, 2), sizes = unlessEmpty(node, 3);
  require(!scales || !sizes, "scales and sizes are given, expected one of them");
  const Dims dims = node.info(x).dims;
  auto rank = static_cast<int64_t>(dims.size());
  std::string coordinates = node.stringAttr("coordinate_transformation_mode", "half_pixel");
  Fields fields = {{"mode", node.stringAttr("mode", "nearest")},
                   {"coordinate_mode", coordinates},
                   {"nearest_mode", node.stringAttr("nearest_mode", "round_prefer_floor")},
                   {"cubic_coeff_a", node.floatAttr("cubic_coeff_a", -0.75)},
                   {"exclude_outside", node.intAttr("exclude_outside", 0) != 0},
                   {"extrapolation_value", node.floatAttr("extrapolation_value", 0)}};
  std::vector<int64_t> axes;
  std::string policy = "stretch";
  if (node.version() >= 18) {
    fields.emplace_back("antialias", node.intAttr("antialias", 0) != 0);
    axes = node.intsAttr("axes");
    policy = node.stringAttr("keep_aspect_ratio_policy", "stretch");
    require(policy == "stretch" || policy == "not_larger" || policy == "not_smaller",
            "keep_aspect_ratio_policy is '{}', expected stretch, not_larger or not_smaller", policy);
  }
  bool someAxes = !axes.empty();
  for (int64_t axis = 0; axis < rank && !someAxes; ++axis)
    axes.push_back(axis);

  auto knownScales = scales ? node.staticDoubles(scales) : std::nullopt;
  auto knownSizes = sizes ? node.staticInts(sizes) : std::nullopt;
  auto knownRoi = roi ? node.staticDoubles(roi) : std::nullopt;
  if (policy != "stretch" && ((scales && !knownScales) || (sizes && !knownSizes)))
    node.unsupported("scales or sizes that keep the aspect ratio are computed at run time");
  if (someAxes && scales && !knownScales)
    scales = spreadComputed(node, scales, axes, onesLike(node, scales, rank), "scales");
  if (someAxes && sizes && !knownSizes)
    sizes = spreadComputed(node, node.cast(sizes, ElementType::i64), axes, node.emit("shape", {x}), "sizes");
  if (knownScales)
    knownScales = spread(*knownScales, axes, std::vector<double>(rank, 1.0), "scales");
  if (knownSizes) {
    knownSizes = spread(*knownSizes, axes, std::vector<int64_t>(rank, -1), "sizes");
    if (policy != "stretch") {
      std::vector<double> kept;
      knownSizes = keepAspectRatio(node, dims, *knownSizes, axes, policy == "not_larger", kept);
      fields.emplace_back("scales", kept);
    }
  }
  if (coordinates != "tf_crop_and_resize") {
    roi = {}; // other modes do not use it
  } else if (knownRoi && someAxes) {
    knownRoi = spreadRoi(*knownRoi, axes, rank);
  } else if (roi && !knownRoi && someAxes) {
    node.unsupported("roi for some axes is computed at run time");
  }
  roi = addStatic(roi, "roi", knownRoi, fields);
  scales = addStatic(scales, "scales", knownScales, fields);
  sizes = addStatic(sizes, "sizes", knownSizes, fields);
  node.set(0, node.emit("resize", {x, roi, scales, sizes}, fields));
}

} // namespace

void addMovementHandlers(Handlers &table) {
  table["Split"] = importSplit;
  table["Pad"] = importPad;
  table["Upsample"] = importUpsample;
  table["Resize"] = importResize;
}

} // namespace lathe::onnx
