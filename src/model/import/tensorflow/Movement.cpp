// Operators that move elements.
#include "import/tensorflow/TensorFlow.h"

#include <numeric>

namespace lathe::tensorflow {
namespace {

/// The axis is the last operand; in the old operator it is the first.
void importConcat(Operator &op) {
  bool first = op.code() == "Concat";
  require(op.node.inputCount() >= 2, "has {} inputs, expected at least 2", op.node.inputCount());
  Values parts = op.all();
  size_t axisIndex = first ? 0 : parts.size() - 1;
  parts.erase(parts.begin() + static_cast<int64_t>(axisIndex));
  op.set(op.emit("concat", parts, {{"axis", axisOperand(op, axisIndex, op.rank(parts[0]))}}));
}

void importSplit(Operator &op) { // the axis comes first
  splitEvenly(op, op.in(1), axisOperand(op, 0, op.rank(op.in(1))), op.node.intAttr("num_split", 1));
}

void importPad(Operator &op) {
  const char *mode = "constant";
  if (op.code() == "MirrorPad") {
    std::string given = op.node.stringAttr("mode", "REFLECT");
    require(given == "REFLECT" || given == "SYMMETRIC", "mode is '{}', expected REFLECT or SYMMETRIC", oneLine(given));
    mode = given == "REFLECT" ? "reflect" : "symmetric";
  }
  op.set(padByPairs(op, op.in(0), op.in(1), mode, op.node.has(2) ? op.scalar(2) : mlir::Value()));
}

/// The old operators have one attribute for the height and width of a block.
Ints squareBlock(Operator &op) { return Ints(2, op.node.intAttr("block_size", 2)); }

void importSpaceToBatch(Operator &op) {
  op.set(spaceToBatch(op, op.in(0), squareBlock(op), op.node.requireInts(1, "the paddings"), 0));
}

void importBatchToSpace(Operator &op) {
  op.set(batchToSpace(op, op.in(0), squareBlock(op), op.node.requireInts(1, "the crops")));
}

/// Imports Reverse, which takes a truth value for every axis.
void importReverse(Operator &op) {
  Ints given = op.node.requireInts(1, "the axes"), axes;
  for (size_t i = 0; i < given.size(); ++i)
    if (given[i])
      axes.push_back(static_cast<int64_t>(i));
  op.set(reverse(op, op.in(0), axes));
}

/// Rotates elements along axes: elements that leave at the end return at the start.
void importRoll(Operator &op) {
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

/// Imports InvertPermutation: the position of every number in a permutation.
void importInvertPermutation(Operator &op) {
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
  table["Concat"] = table["ConcatV2"] = {importConcat};
  table["Split"] = {importSplit, 2};
  table["Pad"] = table["MirrorPad"] = {importPad, 2};
  table["PadV2"] = {importPad, {2, 3}};
  table["SpaceToBatch"] = {importSpaceToBatch, 2};
  table["BatchToSpace"] = {importBatchToSpace, 2};
  table["Reverse"] = {importReverse, 2};
  table["Roll"] = {importRoll, 3};
  table["InvertPermutation"] = {importInvertPermutation, 1};
}

} // namespace lathe::tensorflow
