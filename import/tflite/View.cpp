// Operators that only give the same elements other extents, and those that tell extents.
#include "import/tflite/Tflite.h"

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;

/// The extents are an operand, or stand in the options of old files.
void importReshape(Operator &op) {
  op.node.expectInputs(1, 2);
  std::optional<std::vector<int64_t>> shape;
  if (op.node.has(1)) {
    shape = op.node.staticInts(op.in(1));
    if (!shape) {
      op.set(op.emit("reshape", {op.in(0), op.wide(1)}, {{"allow_zero", true}}));
      return;
    }
  } else {
    const auto &options = op.options<file::ReshapeOptions>(BuiltinOptions::Reshape);
    require(options.shape(), "has neither an operand nor an option for the shape");
    shape.emplace(options.shape()->begin(), options.shape()->end());
    if (*shape == std::vector<int64_t>{0}) // old files: a scalar
      shape->clear();
  }
  op.set(op.emit("reshape", {op.in(0)}, {{"shape", *shape}, {"allow_zero", true}}));
}

void importStablehloReshape(Operator &op) { // to the extents of the result
  op.node.expectInputs(1, 1);
  const file::Tensor *to = op.outputTensor();
  require(to != nullptr, "has no result");
  Dims dims;
  for (uint32_t axis = 0; to->shape() && axis < to->shape()->size(); ++axis)
    dims.push_back(to->shape()->Get(axis));
  op.set(op.node.reshape(op.in(0), dims));
}

void importSqueeze(Operator &op) {
  op.node.expectInputs(1, 1);
  const auto &options = op.options<file::SqueezeOptions>(BuiltinOptions::Squeeze);
  const Dims dims = op.dims(op.in(0));
  std::vector<bool> dropped(dims.size());
  std::vector<int64_t> axes;
  if (options.axes())
    axes.assign(options.axes()->begin(), options.axes()->end());
  for (int64_t axis : axes) {
    axis = normalizeAxis(axis, static_cast<int64_t>(dims.size()), "an axis");
    require(dims[static_cast<size_t>(axis)].constantOr(1) == 1, "axis {} has extent {}, expected 1", axis,
            dims[static_cast<size_t>(axis)].str());
    dropped[static_cast<size_t>(axis)] = true;
  }
  for (size_t i = 0; i < dims.size() && axes.empty(); ++i)
    dropped[i] = dims[i] == Dim(1);
  Dims kept;
  for (size_t i = 0; i < dims.size(); ++i)
    if (!dropped[i])
      kept.push_back(dims[i]);
  op.set(op.node.reshape(op.in(0), kept));
}

void importExpandDims(Operator &op) {
  op.node.expectInputs(2, 2);
  std::vector<int64_t> axis = op.node.requireInts(1, "the axis");
  require(axis.size() == 1, "has {} axes, expected 1", axis.size());
  Dims dims = op.dims(op.in(0));
  dims.insert(dims.begin() + normalizeAxis(axis[0], static_cast<int64_t>(dims.size()) + 1, "the axis"), Dim(1));
  op.set(op.node.reshape(op.in(0), dims));
}

void importShape(Operator &op) {
  op.node.expectInputs(1, 1);
  op.set(op.node.cast(op.emit("shape", {op.in(0)}), op.outputType()));
}

void importRank(Operator &op) {
  op.node.expectInputs(1, 1);
  op.set(op.node.constantScalar(ElementType::i32, static_cast<double>(op.rank(op.in(0)))));
}

} // namespace

void addViewImporters(Importers &table) {
  table[RESHAPE] = {importReshape, /*moves=*/true};
  table[STABLEHLO_RESHAPE] = {importStablehloReshape, /*moves=*/true};
  table[SQUEEZE] = {importSqueeze, /*moves=*/true};
  table[EXPAND_DIMS] = {importExpandDims, /*moves=*/true};
  table[SHAPE] = {importShape, /*moves=*/true};
  table[RANK] = {importRank, /*moves=*/true};
}

} // namespace lathe::tflite
