// Operators that move whole elements to other places.
#include "import/tensorflow/TensorFlow.h"

#include <numeric>

namespace lathe::tensorflow {
namespace {

void importTranspose(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(transpose(op.node, op.in(0), op.node.requireInts(1, "the permutation")));
}

/// The axis is the last operand; of the old operator the first one.
void importConcat(Operator &op) {
  bool first = op.code() == "Concat";
  require(op.node.inputCount() >= 2, "has {} inputs, expected at least 2", op.node.inputCount());
  Values parts = op.all();
  size_t axisIndex = first ? 0 : parts.size() - 1;
  parts.erase(parts.begin() + static_cast<int64_t>(axisIndex));
  op.set(op.emit("concat", parts, {{"axis", axisOperand(op, axisIndex, op.rank(parts[0]))}}));
}

void importPack(Operator &op) { op.set(pack(op, op.all(), op.node.intAttr("axis", 0))); }

void importUnpack(Operator &op) {
  op.node.expectInputs(1, 1);
  op.node.ignore({"num"}); // the extent says it
  unpack(op, op.in(0), op.node.intAttr("axis", 0));
}

void importSplit(Operator &op) { // the axis comes first
  op.node.expectInputs(2, 2);
  splitEvenly(op, op.in(1), axisOperand(op, 0, op.rank(op.in(1))), op.node.intAttr("num_split", 1));
}

void importSplitV(Operator &op) {
  op.node.expectInputs(3, 3);
  op.node.ignore({"num_split"});
  splitBySizes(op, op.in(0), axisOperand(op, 2, op.rank(op.in(0))), 1);
}

void importPad(Operator &op) {
  op.node.expectInputs(2, op.code() == "PadV2" ? 3 : 2);
  const char *mode = "constant";
  if (op.code() == "MirrorPad") {
    std::string given = op.node.stringAttr("mode", "REFLECT");
    require(given == "REFLECT" || given == "SYMMETRIC", "mode is '{}', expected REFLECT or SYMMETRIC", oneLine(given));
    mode = given == "REFLECT" ? "reflect" : "symmetric";
  }
  op.set(padByPairs(op, op.in(0), op.in(1), mode, op.node.has(2) ? op.scalar(2) : mlir::Value()));
}

void importTile(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(tileBy(op, op.in(0), op.in(1)));
}

void importBroadcastTo(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(broadcastTo(op, op.in(0), op.in(1)));
}

/// Blocks of the image to channels and back.
void importBlocks(Operator &op) {
  op.node.expectInputs(1, 1);
  std::string layout = op.node.stringAttr("data_format", "NHWC");
  require(layout == "NHWC" || layout == "NCHW", "data_format is '{}', expected NHWC or NCHW", oneLine(layout));
  mlir::Value x = layout == "NHWC" ? channelsFirst(op.node, op.in(0)) : op.in(0);
  mlir::Value y = op.emit(op.code() == "SpaceToDepth" ? "space_to_depth" : "depth_to_space", {x},
                          {{"block_size", op.node.intAttr("block_size", 2)}});
  op.set(layout == "NHWC" ? channelsLast(op.node, y) : y);
}

/// The block is an operand, or of the old operators an attribute for height and width.
Ints blockOf(Operator &op, bool operand) {
  if (operand)
    return op.node.requireInts(1, "the block");
  return Ints(2, op.node.intAttr("block_size", 2));
}

void importSpaceToBatch(Operator &op) {
  bool operand = op.code() == "SpaceToBatchND";
  op.node.expectInputs(operand ? 3 : 2, operand ? 3 : 2);
  op.set(spaceToBatch(op, op.in(0), blockOf(op, operand), op.node.requireInts(operand ? 2 : 1, "the paddings"), 0));
}

void importBatchToSpace(Operator &op) {
  bool operand = op.code() == "BatchToSpaceND";
  op.node.expectInputs(operand ? 3 : 2, operand ? 3 : 2);
  op.set(batchToSpace(op, op.in(0), blockOf(op, operand), op.node.requireInts(operand ? 2 : 1, "the crops")));
}

void importReverse(Operator &op) {
  op.node.expectInputs(2, 2);
  Ints axes = op.node.requireInts(1, "the axes");
  if (op.code() == "Reverse") { // a truth value for every axis
    Ints chosen;
    for (size_t i = 0; i < axes.size(); ++i)
      if (axes[i])
        chosen.push_back(static_cast<int64_t>(i));
    axes = chosen;
  }
  op.set(reverse(op, op.in(0), axes));
}

void importReverseSequence(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(reverseSequence(op, op.in(0), op.in(1), op.node.intAttr("seq_dim", 0), op.node.intAttr("batch_dim", 0)));
}

void importSlice(Operator &op) {
  op.node.expectInputs(3, 3);
  op.set(sliceBySize(op, op.in(0), op.in(1), op.in(2)));
}

void importStridedSlice(Operator &op) {
  op.node.expectInputs(4, 4);
  SliceMasks masks{op.node.intAttr("begin_mask", 0), op.node.intAttr("end_mask", 0),
                   op.node.intAttr("ellipsis_mask", 0), op.node.intAttr("new_axis_mask", 0),
                   op.node.intAttr("shrink_axis_mask", 0)};
  op.set(stridedSlice(op, op.in(0), op.in(1), op.in(2), op.node.requireInts(3, "the strides"), masks));
}

/// Moves elements along axes; those that leave at the end come back at the begin.
void importRoll(Operator &op) {
  op.node.expectInputs(3, 3);
  mlir::Value x = op.in(0);
  Ints shifts = op.node.requireInts(1, "the shifts"), axes = op.node.requireInts(2, "the axes");
  require(shifts.size() == axes.size(), "has {} shifts and {} axes", shifts.size(), axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t axis = normalizeAxis(axes[i], op.rank(x), "an axis");
    int64_t extent = knownExtent(op, op.dims(x)[static_cast<size_t>(axis)], "what is rolled");
    int64_t shift = extent ? ((shifts[i] % extent) + extent) % extent : 0;
    if (shift)
      x = op.emit("concat", {cut(op, x, axis, extent - shift, extent), cut(op, x, axis, 0, extent - shift)},
                  {{"axis", axis}});
  }
  op.set(x);
}

/// Position of every number in a permutation.
void importInvertPermutation(Operator &op) {
  op.node.expectInputs(1, 1);
  Ints perm = op.node.requireInts(0, "the permutation"), inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    require(perm[i] >= 0 && perm[i] < static_cast<int64_t>(perm.size()), "has {} in a permutation of {}", perm[i],
            perm.size());
    inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  }
  op.set(op.node.cast(op.node.constantInts({static_cast<int64_t>(perm.size())}, inverse), op.typeOf(op.in(0))));
}

} // namespace

void addMovementImporters(Importers &table) {
  table["Transpose"] = {importTranspose};
  table["Concat"] = table["ConcatV2"] = {importConcat};
  table["Pack"] = {importPack};
  table["Unpack"] = {importUnpack};
  table["Split"] = {importSplit};
  table["SplitV"] = {importSplitV};
  table["Pad"] = table["PadV2"] = table["MirrorPad"] = {importPad};
  table["Tile"] = {importTile};
  table["BroadcastTo"] = {importBroadcastTo};
  table["SpaceToDepth"] = table["DepthToSpace"] = {importBlocks};
  table["SpaceToBatch"] = table["SpaceToBatchND"] = {importSpaceToBatch};
  table["BatchToSpace"] = table["BatchToSpaceND"] = {importBatchToSpace};
  table["Reverse"] = table["ReverseV2"] = {importReverse};
  table["ReverseSequence"] = {importReverseSequence};
  table["Slice"] = {importSlice};
  table["StridedSlice"] = {importStridedSlice};
  table["Roll"] = {importRoll};
  table["InvertPermutation"] = {importInvertPermutation};
}

} // namespace lathe::tensorflow
