// Operators that keep the elements and change the extents, and operators that return extents.
#include "import/tflite/Tflite.h"

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;

/// The extents are an operand, or in old files an option.
void importReshape(Operator &op) {
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
  const file::Tensor *to = op.outputTensor();
  require(to != nullptr, "has no result");
  Dims dims;
  for (uint32_t axis = 0; to->shape() && axis < to->shape()->size(); ++axis)
    dims.push_back(to->shape()->Get(axis));
  op.set(op.node.reshape(op.in(0), dims));
}

void importSqueeze(Operator &op) {
  const auto *axes = op.options<file::SqueezeOptions>(BuiltinOptions::Squeeze).axes();
  op.set(squeeze(op, op.in(0), axes ? Ints(axes->begin(), axes->end()) : Ints()));
}

} // namespace

void addViewImporters(Importers &table) {
  table[RESHAPE] = {importReshape, {1, 2}, /*moves=*/true};
  table[STABLEHLO_RESHAPE] = {importStablehloReshape, 1, /*moves=*/true};
  table[SQUEEZE] = {importSqueeze, 1, /*moves=*/true};
}

} // namespace lathe::tflite
