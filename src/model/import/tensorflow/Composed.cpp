// Operators that are composed of a few other operators.
#include "import/parts/FakeQuant.h"
#include "import/tensorflow/TensorFlow.h"

#include <cmath>
#include <cstring>

namespace lathe::tensorflow {
namespace {

void importFakeQuantArgs(Operator &op) {
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

/// Operands: x, least and greatest values (one each, or one for each channel, the last axis).
void importFakeQuantVars(Operator &op) {
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
  require(op.rank(x) >= 1 && op.dims(x).back().constantOr(channels) == channels, "has {} ranges, expected {}", channels,
          op.rank(x) ? op.dims(x).back().str() : "1");
  std::vector<NudgedRange> ranges;
  for (size_t i = 0; i < least.size(); ++i)
    ranges.push_back(nudgedRange(static_cast<float>(least[i]), static_cast<float>(most[i]), bits, narrow));
  op.set(fakeQuantChannels(op, x, ranges));
}

/// Keeps a band around the diagonal: `lower` diagonals below and `upper` diagonals above it; negative means all.
void importBandPart(Operator &op) {
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

/// The main diagonals of matrices. Later versions of the operator have three operands: the matrices, the index of the
/// diagonal, and the value that fills short diagonals.
void importDiagPart(Operator &op) {
  op.node.ignore({"align"});
  if (op.node.has(1) && op.node.requireInts(1, "the number of the diagonal") != Ints{0})
    op.unsupported("other diagonals than the main one");
  op.set(einsum(op.node, {op.in(0)}, "...ii->...i"));
}

/// Operands: logits (time x batch x classes) and lengths. Picks the most likely class of every step, merges repetitions
/// if the attribute says so, and drops the blank class. Results: positions (batch, place), classes, extents, minus the
/// sum of the logits.
void importCtcGreedy(Operator &op) {
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

// ---- Counts, and orders of axes -----------------------------------------------------------------------------------

/// Operands: numbers, the size of the result, and weights (may be empty). Counts how often each number from 0 on occurs
/// in a row, or adds its weights.
void importDenseBincount(Operator &op) {
  mlir::Value x = op.wide(0), weights = op.in(2);
  Ints size = op.node.requireInts(1, "the number of counts");
  int64_t rank = op.rank(x);
  require(rank == 1 || rank == 2, "the operand has rank {}, expected 1 or 2", rank);
  require(size.size() == 1 && size[0] >= 0, "has {} numbers of counts, expected one from 0 on", size.size());
  bool binary = op.boolAttr("binary_output", false), weighs = !(product(op.dims(weights)) == Dim(0));
  ElementType type = op.typeOf(weights);
  Dims wide = op.dims(x);
  wide.emplace_back(1);
  mlir::Value hits = op.emit("equal", {op.node.reshape(x, wide), ramp(op, size[0], 0, 1)});
  if (binary) {
    hits = op.node.cast(hits, ElementType::u8);
    hits = op.emit("reduce_max", {hits}, {{"axes", Ints{rank - 1}}, {"keepdims", false}});
    op.set(op.node.cast(hits, type));
    return;
  }
  mlir::Value counts = op.node.cast(hits, type);
  if (weighs)
    counts = op.emit("mul", {counts, op.node.reshape(weights, wide)});
  op.set(op.emit("reduce_sum", {counts}, {{"axes", Ints{rank - 1}}, {"keepdims", false}}));
}

/// Operands: predictions (rows x classes), a class for each row, and k. A row is true if fewer than k classes have a
/// greater prediction than its class, and false if it holds a number that is not finite or its class is out of range.
void importInTopK(Operator &op) {
  mlir::Value x = op.in(0), target = op.wide(1);
  require(op.rank(x) == 2 && op.rank(target) == 1, "operands have ranks {} and {}, expected 2 and 1", op.rank(x),
          op.rank(target));
  mlir::Value zero = op.node.constantInts({}, {0}), classes = op.emit("shape", {x}, {{"start", 1}, {"end", 2}});
  mlir::Value isClass = op.emit("and", {op.emit("greater_equal", {target, zero}), op.emit("less", {target, classes})});
  target = op.emit("where", {isClass, target, zero});
  mlir::Value own =
      op.emit("gather_elements", {x, op.node.reshape(target, {op.dims(target)[0], Dim(1)})}, {{"axis", 1}});
  mlir::Value above = op.node.cast(op.emit("greater", {x, own}), ElementType::i64);
  above = op.emit("reduce_sum", {above}, {{"axes", Ints{1}}, {"keepdims", false}});
  mlir::Value k = op.node.has(2) ? op.wide(op.scalar(2)) : op.node.constantInts({}, {op.node.intAttr("k", 1)});
  mlir::Value no = op.node.cast(op.emit("or", {op.emit("is_nan", {x}), op.emit("is_inf", {x})}), ElementType::u8);
  no = op.node.cast(op.emit("reduce_max", {no}, {{"axes", Ints{1}}, {"keepdims", false}}), ElementType::boolean);
  op.set(op.emit("and", {op.emit("and", {isClass, op.emit("less", {above, k})}), op.emit("not", {no})}));
}

/// The position of each axis of one format in the other format.
Ints formatPlaces(Operator &op, bool ofTarget) {
  std::string from = op.node.stringAttr("src_format", "NHWC"), to = op.node.stringAttr("dst_format", "NCHW");
  if (ofTarget)
    std::swap(from, to);
  Ints places;
  for (char axis : from)
    places.push_back(static_cast<int64_t>(to.find(axis)));
  for (int64_t place : places)
    require(place >= 0 && place < static_cast<int64_t>(from.size()) && from.size() == to.size() && !from.empty() &&
                from.size() <= 16,
            "the formats are '{}' and '{}', expected the same axes in two orders", oneLine(from), oneLine(to));
  return places;
}

/// Reorders rows, one for each axis, from one format to the other.
void importFormatPermute(Operator &op) {
  Ints places = formatPlaces(op, true);
  int64_t rows = knownExtent(op, op.rank(op.in(0)) ? op.dims(op.in(0))[0] : Dim(0), "the rows");
  auto count = static_cast<int64_t>(places.size());
  if (rows == count - 2) { // the spatial axes alone, which keep their order
    op.set(op.in(0));
    return;
  }
  require(rows == count, "has {} rows, expected {}", rows, count);
  op.set(op.emit("gather", {op.in(0), op.node.constantInts({count}, places)}, {{"axis", 0}}));
}

/// Converts axis numbers of one format to the other format.
void importFormatAxes(Operator &op) {
  Ints places = formatPlaces(op, false);
  auto count = static_cast<int64_t>(places.size());
  mlir::Value axes = op.emit("gather", {op.node.constantInts({count}, places), op.wide(0)}, {{"axis", 0}});
  op.set(op.node.cast(axes, op.typeOf(op.in(0))));
}

/// Imports Empty: a tensor of unspecified content; it gets zeros.
void importEmpty(Operator &op) {
  op.node.ignore({"init"});
  op.set(filled(op, op.wide(0), op.typeAttr("dtype", ElementType::f32), 0));
}

} // namespace

void addComposedImporters(Importers &table) {
  table["FakeQuantWithMinMaxArgs"] = {importFakeQuantArgs, 1};
  table["FakeQuantWithMinMaxVars"] = table["FakeQuantWithMinMaxVarsPerChannel"] = {importFakeQuantVars, 3};
  table["MatrixBandPart"] = {importBandPart, 3};
  table["MatrixDiagPart"] = {importDiagPart, 1};
  table["MatrixDiagPartV2"] = table["MatrixDiagPartV3"] = {importDiagPart, 3};
  table["CTCGreedyDecoder"] = {importCtcGreedy, 2};
  table["DenseBincount"] = {importDenseBincount, 3};
  table["InTopK"] = {importInTopK, 2};
  table["InTopKV2"] = {importInTopK, 3};
  table["DataFormatVecPermute"] = {importFormatPermute, 1};
  table["DataFormatDimMap"] = {importFormatAxes, 1};
  table["Empty"] = {importEmpty, 1};
}

} // namespace lathe::tensorflow
