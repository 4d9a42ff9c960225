// Operators that are a few others.
#include "import/tensorflow/TensorFlow.h"

#include <cmath>
#include <cstring>

namespace lathe::tensorflow {
namespace {

void importFakeQuantArgs(Operator &op) {
  op.node.expectInputs(1, 1);
  const float *least = op.node.rawFloatAttr("min"), *most = op.node.rawFloatAttr("max");
  op.set(fakeQuant(op, op.in(0), least ? *least : -6, most ? *most : 6, op.node.intAttr("num_bits", 8),
                   op.boolAttr("narrow_range", false)));
}

std::vector<double> knownNumbers(Operator &op, size_t index) {
  const Tensor *tensor = op.node.graph.known.contents(op.in(index));
  if (!tensor || tensor->type() != ElementType::f32)
    op.unsupported("its range is computed at run time");
  std::vector<double> values;
  for (int64_t i = 0; i < tensor->elements(); ++i)
    values.push_back(tensor->asDouble(i));
  return values;
}

/// Operand, least and greatest values: one each, or one a channel (the last axis).
void importFakeQuantVars(Operator &op) {
  op.node.expectInputs(3, 3);
  int64_t bits = op.node.intAttr("num_bits", 8);
  bool narrow = op.boolAttr("narrow_range", false);
  std::vector<double> least = knownNumbers(op, 1), most = knownNumbers(op, 2);
  require(least.size() == most.size() && !least.empty(), "has {} least and {} greatest values", least.size(),
          most.size());
  mlir::Value x = op.in(0);
  if (least.size() == 1) {
    op.set(fakeQuant(op, x, static_cast<float>(least[0]), static_cast<float>(most[0]), bits, narrow));
    return;
  }
  auto channels = static_cast<int64_t>(least.size());
  require(op.rank(x) >= 1 && op.dims(x).back().constantOr(channels) == channels && channels <= 4096,
          "has {} ranges, expected {}, at most 4096", channels, op.rank(x) ? op.dims(x).back().str() : "1");
  Values parts;
  for (int64_t i = 0; i < channels; ++i)
    parts.push_back(fakeQuant(op, cut(op, x, op.rank(x) - 1, i, i + 1), static_cast<float>(least[size_t(i)]),
                              static_cast<float>(most[size_t(i)]), bits, narrow));
  op.set(op.emit("concat", parts, {{"axis", op.rank(x) - 1}}));
}

void importBroadcastArgs(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(op.node.cast(broadcastShape(op, op.wide(0), op.wide(1)), op.typeOf(op.in(0))));
}

/// The elements of a band around the diagonal: `lower` diagonals below and `upper` above it, all where negative.
void importBandPart(Operator &op) {
  op.node.expectInputs(3, 3);
  mlir::Value x = op.in(0);
  Ints lower = op.node.requireInts(1, "the band"), upper = op.node.requireInts(2, "the band");
  require(op.rank(x) >= 2 && lower.size() == 1 && upper.size() == 1, "has no matrices or no band");
  const Dims dims = op.dims(x);
  int64_t rows = knownExtent(op, dims[dims.size() - 2], "a matrix"), columns = knownExtent(op, dims.back(), "a matrix");
  mlir::Value below = op.emit("sub", {ramp(op, rows, 0, 2), ramp(op, columns, 1, 2)}); // row - column
  mlir::Value low = op.node.constantInts({}, {lower[0] < 0 ? rows : lower[0]});
  mlir::Value high = op.node.constantInts({}, {upper[0] < 0 ? -columns : -upper[0]});
  mlir::Value inside = op.emit("and", {op.emit("less_equal", {below, low}), op.emit("greater_equal", {below, high})});
  op.set(op.emit("where", {inside, x, op.number(op.typeOf(x), 0)}));
}

/// The main diagonals of matrices.
void importDiagPart(Operator &op) {
  op.node.ignore({"align"});
  if (op.code() != "MatrixDiagPart") { // matrices, number of the diagonal, value beside it
    op.node.expectInputs(3, 3);
    if (op.node.requireInts(1, "the number of the diagonal") != Ints{0})
      op.unsupported("other diagonals than the main one");
  } else {
    op.node.expectInputs(1, 1);
  }
  op.set(einsum(op.node, {op.in(0)}, "...ii->...i"));
}

/// Logits time x batch x classes, lengths. The most likely class of every step, repetitions merged where the attribute
/// says so, without the blank class. Results: positions (batch, place), classes, extents, minus the sum of the logits.
void importCtcGreedy(Operator &op) {
  op.node.expectInputs(2, 2);
  mlir::Value x = op.in(0);
  require(op.rank(x) == 3, "the operand has rank {}, expected 3", op.rank(x));
  bool merges = op.boolAttr("merge_repeated", false);
  int64_t blank = op.node.intAttr("blank_index", -1);
  int64_t steps = knownExtent(op, op.dims(x)[0], "the time");
  if (blank < 0)
    blank += knownExtent(op, op.dims(x)[2], "the classes");
  Node &node = op.node;
  mlir::Value best = transpose(node, op.emit("arg_max", {x}, {{"axis", 2}, {"keepdims", false}}), {1, 0});
  mlir::Value time = ramp(op, steps, 1, 2);
  mlir::Value lengths = node.reshape(op.wide(1), {op.dims(best)[0], Dim(1)});
  mlir::Value inside = op.emit("less", {time, lengths});
  mlir::Value keep =
      op.emit("and", {inside, op.emit("not", {op.emit("equal", {best, node.constantInts({}, {blank})})})});
  if (merges) {
    mlir::Value before =
        op.emit("pad", {cut(op, best, 1, 0, steps - 1), {}, {}}, {{"pads", Ints{0, 1, 0, 0}}, {"value", -1.0}});
    keep = op.emit("and", {keep, op.emit("not", {op.emit("equal", {best, before})})});
  }
  mlir::Value kept = node.cast(keep, ElementType::i64);
  mlir::Value places = op.emit("cum_sum", {kept}, {{"axis", 1}, {"exclusive", true}, {"reverse", false}});
  mlir::Value found = transpose(node, op.emit("non_zero", {keep}), {1, 0}); // batch, step
  mlir::Value place = op.emit("reshape", {op.emit("gather_nd", {places, found})}, {{"shape", Ints{-1, 1}}});
  op.set(op.emit("concat", {cut(op, found, 1, 0, 1), place}, {{"axis", 1}}));
  node.set(1, op.emit("gather_nd", {best, found}));
  mlir::Value counts = op.emit("reduce_sum", {kept}, {{"axes", Ints{1}}, {"keepdims", false}});
  mlir::Value longest = op.emit("reduce_max", {counts}, {{"axes", Ints{0}}, {"keepdims", true}});
  node.set(2, op.emit("concat", {op.emit("shape", {best}, {{"start", 0}, {"end", 1}}), longest}, {{"axis", 0}}));
  mlir::Value greatest = transpose(node, op.emit("reduce_max", {x}, {{"axes", Ints{2}}, {"keepdims", false}}), {1, 0});
  mlir::Value sum = op.emit("reduce_sum", {masked(op, inside, greatest)}, {{"axes", Ints{1}}, {"keepdims", true}});
  node.set(3, op.emit("neg", {sum}));
}

} // namespace

void addComposedImporters(Importers &table) {
  table["FakeQuantWithMinMaxArgs"] = {importFakeQuantArgs};
  table["FakeQuantWithMinMaxVars"] = table["FakeQuantWithMinMaxVarsPerChannel"] = {importFakeQuantVars};
  table["BroadcastArgs"] = {importBroadcastArgs};
  table["MatrixBandPart"] = {importBandPart};
  for (const char *name : {"MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3"})
    table[name] = {importDiagPart};
  table["CTCGreedyDecoder"] = {importCtcGreedy};
}

} // namespace lathe::tensorflow
