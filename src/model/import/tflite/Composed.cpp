// Operators that are a few others.
#include "import/tflite/Tflite.h"

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;

void importFakeQuant(Operator &op) {
  op.node.expectInputs(1, 1);
  const auto &options = op.options<file::FakeQuantOptions>(BuiltinOptions::FakeQuant);
  op.set(fakeQuant(op, op.in(0), options.min(), options.max(), options.bits(), options.narrow_range()));
}

void importAtan2(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(atan2(op, op.in(0), op.in(1)));
}

void importBroadcastArgs(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(op.node.cast(broadcastShape(op, op.wide(0), op.wide(1)), op.outputType()));
}

void importMatrixDiag(Operator &op) {
  op.node.expectInputs(1, 1);
  op.set(matrixDiag(op, op.in(0)));
}

void importMatrixSetDiag(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(matrixSetDiag(op, op.in(0), op.in(1)));
}

void importSegmentSum(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(segmentSum(op, op.in(0), op.in(1)));
}

} // namespace

void addComposedImporters(Importers &table) {
  table[FAKE_QUANT] = {importFakeQuant};
  table[ATAN2] = {importAtan2};
  table[BROADCAST_ARGS] = {importBroadcastArgs};
  table[MATRIX_DIAG] = {importMatrixDiag, /*moves=*/true};
  table[MATRIX_SET_DIAG] = {importMatrixSetDiag, /*moves=*/true};
  table[SEGMENT_SUM] = {importSegmentSum};
}

} // namespace lathe::tflite
