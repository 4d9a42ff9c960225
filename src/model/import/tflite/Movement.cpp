// Operators that move elements.
#include "import/tflite/Tflite.h"

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;

void importConcatenation(Operator &op) {
  const auto &options = op.options<file::ConcatenationOptions>(BuiltinOptions::Concatenation);
  mlir::Value y = op.emit("concat", op.all(), {{"axis", int64_t(options.axis())}});
  op.set(activate(op.node, y, options.activation()));
}

void importSplit(Operator &op) { // the axis comes first
  splitEvenly(op, op.in(1), axisOperand(op, 0, op.rank(op.in(1))), static_cast<int64_t>(op.node.outputCount()));
}

void importPad(Operator &op) {
  const char *mode = "constant";
  if (op.code() == MIRROR_PAD) {
    auto given = op.options<file::MirrorPadOptions>(BuiltinOptions::MirrorPad).mode();
    mode = given == file::MirrorMode::REFLECT ? "reflect" : "symmetric";
  }
  op.set(padByPairs(op, op.in(0), op.in(1), mode, op.node.inOrNull(2), op.zero()));
}

} // namespace

void addMovementImporters(Importers &table) {
  table[CONCATENATION] = {importConcatenation};
  table[SPLIT] = {importSplit, 2, /*moves=*/true};
  table[PAD] = {importPad, 2, /*moves=*/true};
  table[PADV2] = {importPad, {2, 3}, /*moves=*/true};
  table[MIRROR_PAD] = {importPad, 2, /*moves=*/true};
}

} // namespace lathe::tflite
