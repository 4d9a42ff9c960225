// Operators that keep the elements and change the extents.
#include "import/onnx/Onnx.h"
#include "import/parts/RunTimeParameters.h"

namespace lathe::onnx {
namespace {

void importReshape(Node &node) {
  node.expectInputs(2, 2);
  mlir::Value x = node.in(0), shape = node.in(1);
  bool allowZero = node.version() >= 14 && node.intAttr("allowzero", 0) != 0;
  if (auto extents = node.staticInts(shape)) {
    node.set(0, node.emit("reshape", {x}, {{"shape", *extents}, {"allow_zero", allowZero}}));
    return;
  }
  Fields fields = {{"allow_zero", allowZero}};
  if (node.info(shape).contents) {
    // All extents are known as formulas: no operand is needed if reshape can infer one of them.
    const OpRecord &record = *findOp("reshape");
    auto attrs = record.makeAttrs();
    setField(*attrs, "allow_zero", allowZero);
    Dims dims = record.infer(*attrs, {&node.info(x), &node.info(shape)}).at(0).dims;
    size_t inferred = 0;
    for (size_t i = 0; i < dims.size(); ++i)
      inferred += !dims[i].isConstant() && !(i < node.info(x).rank() && node.info(x).dims[i] == dims[i]);
    if (inferred <= 1) {
      node.set(0, node.reshape(x, dims));
      return;
    }
  }
  node.set(0, node.emit("reshape", {x, shape}, fields));
}

void importFlatten(Node &node) {
  node.expectInputs(1, 1);
  const Dims dims = node.info(node.in(0)).dims;
  auto rank = static_cast<int64_t>(dims.size());
  int64_t axis = node.intAttr("axis", 1);
  require(axis >= -rank && axis <= rank, "axis is {}, expected one in [-{}, {}]", axis, rank, rank);
  axis += axis < 0 ? rank : 0;
  std::span all(dims);
  node.set(0, node.reshape(node.in(0), {product(all.first(axis)), product(all.subspan(axis))}));
}

/// Axes from the attribute (before opset 13) or from the second operand; neither if none are given.
struct Axes {
  std::optional<std::vector<int64_t>> known;
  mlir::Value computed;
};

Axes axesOf(Node &node) {
  if (node.version() < 13) {
    node.expectInputs(1, 1);
    return {node.hasAttr("axes") ? std::optional(node.intsAttr("axes")) : std::nullopt, {}};
  }
  node.expectInputs(1, 2);
  if (!node.has(1))
    return {};
  auto known = node.staticInts(node.in(1));
  return {known, known ? mlir::Value() : node.in(1)};
}

void importSqueeze(Node &node) {
  auto [axes, computed] = axesOf(node);
  if (computed)
    return node.set(0, squeezeAt(node, node.in(0), computed));
  const Dims dims = node.info(node.in(0)).dims;
  std::vector<bool> dropped(dims.size());
  for (size_t i = 0; i < dims.size() && !axes; ++i) {
    if (!dims[i].isConstant())
      node.unsupported(
          fmt::format("without axes, whether extent '{}' is 1 must be known; give it with --shape", dims[i].str()));
    dropped[i] = dims[i] == Dim(1);
  }
  for (int64_t axis : axes.value_or(std::vector<int64_t>())) {
    axis = normalizeAxis(axis, static_cast<int64_t>(dims.size()), "axes");
    require(dims[axis].constantOr(1) == 1, "axis {} has extent {}, expected 1", axis, dims[axis].str());
    dropped[axis] = true;
  }
  Dims kept;
  for (size_t i = 0; i < dims.size(); ++i)
    if (!dropped[i])
      kept.push_back(dims[i]);
  node.set(0, node.reshape(node.in(0), kept));
}

void importUnsqueeze(Node &node) {
  auto [axes, computed] = axesOf(node);
  if (computed)
    return node.set(0, unsqueezeAt(node, node.in(0), computed));
  require(axes.has_value(), "has no axes");
  const Dims dims = node.info(node.in(0)).dims;
  require(axes->size() < 64, "axes has {} values, expected less than 64", axes->size());
  size_t rank = dims.size() + axes->size();
  std::vector<bool> added(rank);
  for (int64_t axis : *axes) {
    axis = normalizeAxis(axis, static_cast<int64_t>(rank), "axes");
    require(!added[axis], "axis {} appears twice", axis);
    added[axis] = true;
  }
  Dims result;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i)
    result.push_back(added[i] ? Dim(1) : dims[next++]);
  node.set(0, node.reshape(node.in(0), result));
}

} // namespace

void addViewHandlers(Handlers &table) {
  table["Reshape"] = importReshape;
  table["Flatten"] = importFlatten;
  table["Squeeze"] = importSqueeze;
  table["Unsqueeze"] = importUnsqueeze;
}

} // namespace lathe::onnx
