// Elements in other places: split, pad and resize in their several historical forms.
#include "import/onnx/Onnx.h"

namespace lathe::onnx {
namespace {

void importSplit(Node &node) {
  node.expectInputs(1, node.version() < 13 ? 1 : 2);
  mlir::Value x = node.in(0);
  const Dims dims = node.info(x).dims;
  int64_t axis = normalizeAxis(node.intAttr("axis", 0), static_cast<int64_t>(dims.size()), "axis");
  auto count = static_cast<int64_t>(node.outputCount());
  require(count > 0, "has no outputs, expected at least 1");
  std::vector<int64_t> sizes;
  if (node.version() < 13)
    sizes = node.intsAttr("split");
  else if (node.has(1))
    sizes = node.requireInts(1, "split");
  if (node.version() >= 18) {
    int64_t stated = node.intAttr("num_outputs", count);
    require(!sizes.empty() || stated == count, "num_outputs is {}, expected {} as there are outputs", stated, count);
  }
  if (sizes.empty()) {
    if (!dims[axis].isConstant())
      node.unsupported(fmt::format("splitting extent '{}' evenly; give it with --shape", dims[axis].str()));
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
  if (pads && node.has(3)) {
    auto axes = node.requireInts(3, "axes");
    require(pads->size() == 2 * axes.size(), "pads has {} values, expected {}", pads->size(), 2 * axes.size());
    std::vector<int64_t> all(2 * rank);
    for (size_t i = 0; i < axes.size(); ++i) {
      int64_t axis = normalizeAxis(axes[i], rank, "axes");
      all[axis] = (*pads)[i];
      all[rank + axis] = (*pads)[axes.size() + i];
    }
    pads = all;
  } else if (!pads && node.has(3)) {
    node.unsupported("pads for some axes are computed at run time");
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

/// Adds `operand` as attribute `field` when its elements are known; returns what stays an operand.
template <class T>
mlir::Value addStatic(mlir::Value operand, const char *field, std::optional<std::vector<T>> known, Fields &fields) {
  if (!operand || !known)
    return operand;
  fields.emplace_back(field, *known);
  return {};
}

/// Values for some axes spread over all; the others get `rest`.
template <class T>
std::vector<T> spread(const std::vector<T> &some, const std::vector<int64_t> &axes, std::vector<T> rest,
                      const char *what) {
  require(some.size() == axes.size(), "{} has {} values, expected {}", what, some.size(), axes.size());
  for (size_t i = 0; i < axes.size(); ++i)
    rest[normalizeAxis(axes[i], static_cast<int64_t>(rest.size()), "axes")] = some[i];
  return rest;
}

/// Opset 10 and Upsample: x and scales only; sampled as "asymmetric", nearest rounds down.
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

/// Sizes under keep_aspect_ratio_policy: one scale for the given axes, the smallest or greatest that fits. All positions
/// follow from that scale, which goes to `scales`, and not from the sizes, which are rounded.
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

/// Begins and ends of a crop of some axes; the others are taken whole.
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
  if ((someAxes || policy != "stretch") && ((scales && !knownScales) || (sizes && !knownSizes)))
    node.unsupported("scales or sizes for some axes are computed at run time");
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
    roi = {}; // no other mode looks at it
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
