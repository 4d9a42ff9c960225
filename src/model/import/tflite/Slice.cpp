// SLICE and STRIDED_SLICE.
#include "import/tflite/Tflite.h"

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;

void importSlice(Operator &op) {
  op.node.expectInputs(3, 3);
  op.set(sliceBySize(op, op.in(0), op.in(1), op.in(2)));
}

void importStridedSlice(Operator &op) {
  op.node.expectInputs(4, 4);
  const auto &options = op.options<file::StridedSliceOptions>(BuiltinOptions::StridedSlice);
  SliceMasks masks{options.begin_mask(),    options.end_mask(),         options.ellipsis_mask(),
                   options.new_axis_mask(), options.shrink_axis_mask(), options.offset()};
  op.set(stridedSlice(op, op.in(0), op.in(1), op.in(2), op.node.requireInts(3, "the strides"), masks));
}

} // namespace

void addSliceImporters(Importers &table) {
  table[SLICE] = {importSlice, /*moves=*/true};
  table[STRIDED_SLICE] = {importStridedSlice, /*moves=*/true};
}

} // namespace lathe::tflite
