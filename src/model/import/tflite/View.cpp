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
  const auto *axes = op.options<file::SqueezeOptions>(BuiltinOptions::Squeeze).axes();
  op.set(squeeze(op, op.in(0), axes ? Ints(axes->begin(), axes->end()) : Ints()));
}

void importExpandDims(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(expandDims(op, op.in(0), 1));
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
