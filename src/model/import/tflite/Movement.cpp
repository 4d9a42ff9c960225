// Operators that move whole elements to other places.
#include "import/tflite/Tflite.h"

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;

void importTranspose(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(transpose(op.node, op.in(0), op.node.requireInts(1, "the permutation")));
}

void importConcatenation(Operator &op) {
  const auto &options = op.options<file::ConcatenationOptions>(BuiltinOptions::Concatenation);
  Values parts;
  for (size_t i = 0; i < op.node.inputCount(); ++i)
    parts.push_back(op.in(i));
  mlir::Value y = op.emit("concat", parts, {{"axis", int64_t(options.axis())}});
  op.set(activate(op.node, y, options.activation()));
}

void importPack(Operator &op) {
  Values parts;
  for (size_t i = 0; i < op.node.inputCount(); ++i)
    parts.push_back(op.in(i));
  op.set(pack(op, parts, op.options<file::PackOptions>(BuiltinOptions::Pack).axis()));
}

void importUnpack(Operator &op) {
  op.node.expectInputs(1, 1);
  unpack(op, op.in(0), op.options<file::UnpackOptions>(BuiltinOptions::Unpack).axis());
}

void importSplit(Operator &op) { // the axis comes first
  op.node.expectInputs(2, 2);
  splitEvenly(op, op.in(1), axisOperand(op, 0, op.rank(op.in(1))), static_cast<int64_t>(op.node.outputCount()));
}

void importSplitV(Operator &op) {
  op.node.expectInputs(3, 3);
  splitBySizes(op, op.in(0), axisOperand(op, 2, op.rank(op.in(0))), 1);
}

/// What pads on a quantised tensor stand for: zero.
double padValue(const Operator &op) {
  auto quantization = op.inputQuantization(0);
  return quantization && !isFloat(op.inputType(0)) ? static_cast<double>(quantization->zeroPoints[0]) : 0;
}

void importPad(Operator &op) {
  op.node.expectInputs(2, op.code() == PADV2 ? 3 : 2);
  const char *mode = "constant";
  if (op.code() == MIRROR_PAD) {
    auto given = op.options<file::MirrorPadOptions>(BuiltinOptions::MirrorPad).mode();
    mode = given == file::MirrorMode::REFLECT ? "reflect" : "symmetric";
  }
  op.set(padByPairs(op, op.in(0), op.in(1), mode, op.node.inOrNull(2), padValue(op)));
}

/// Repeats a block of `repeats` copies along all axes.
void importTile(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(tileBy(op, op.in(0), op.in(1)));
}

void importBroadcastTo(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(broadcastTo(op, op.in(0), op.in(1)));
}

/// Blocks of the image to channels and back; the order of the new channels is that of ONNX.
void importBlocks(Operator &op) {
  op.node.expectInputs(1, 1);
  bool toDepth = op.code() == SPACE_TO_DEPTH;
  const auto &options =
      op.options<file::BlockOptions>(toDepth ? BuiltinOptions::SpaceToDepth : BuiltinOptions::DepthToSpace);
  mlir::Value x = channelsFirst(op.node, op.in(0));
  op.set(channelsLast(op.node, op.emit(toDepth ? "space_to_depth" : "depth_to_space", {x},
                                       {{"block_size", int64_t(options.block())}})));
}

void importSpaceToBatch(Operator &op) {
  op.node.expectInputs(3, 3);
  op.set(spaceToBatch(op, op.in(0), op.node.requireInts(1, "the block"), op.node.requireInts(2, "the paddings"),
                      padValue(op)));
}

void importBatchToSpace(Operator &op) {
  op.node.expectInputs(3, 3);
  op.set(batchToSpace(op, op.in(0), op.node.requireInts(1, "the block"), op.node.requireInts(2, "the crops")));
}

void importReverse(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(reverse(op, op.in(0), op.node.requireInts(1, "the axes")));
}

void importReverseSequence(Operator &op) {
  op.node.expectInputs(2, 2);
  const auto &options = op.options<file::ReverseSequenceOptions>(BuiltinOptions::ReverseSequence);
  op.set(reverseSequence(op, op.in(0), op.in(1), options.axis(), options.batch_axis()));
}

} // namespace

void addMovementImporters(Importers &table) {
  auto add = [&](BuiltinOperator code, void (*run)(Operator &)) { table[code] = {run, /*moves=*/true}; };
  add(TRANSPOSE, importTranspose);
  table[CONCATENATION] = {importConcatenation};
  add(PACK, importPack);
  add(UNPACK, importUnpack);
  add(SPLIT, importSplit);
  add(SPLIT_V, importSplitV);
  add(PAD, importPad);
  add(PADV2, importPad);
  add(MIRROR_PAD, importPad);
  add(TILE, importTile);
  add(BROADCAST_TO, importBroadcastTo);
  add(SPACE_TO_DEPTH, importBlocks);
  add(DEPTH_TO_SPACE, importBlocks);
  add(SPACE_TO_BATCH_ND, importSpaceToBatch);
  add(BATCH_TO_SPACE_ND, importBatchToSpace);
  add(REVERSE_V2, importReverse);
  add(REVERSE_SEQUENCE, importReverseSequence);
}

} // namespace lathe::tflite
