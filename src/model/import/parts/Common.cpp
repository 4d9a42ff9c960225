#include "import/parts/Common.h"

#include <algorithm>

namespace lathe::source {
namespace {

using mlir::Value;

/// A text as a template parameter: the mnemonic of an nn operator, or an option.
template <size_t size> struct Text {
  char text[size];
  constexpr Text(const char (&given)[size]) { std::copy_n(given, size, text); }
};

/// The importer of an operator with one result, which `function` computes from the operands.
template <auto function> struct ResultOf {
  template <class... Operands> static constexpr size_t countOf(Value (*)(Emitter &, Operands...)) {
    return sizeof...(Operands);
  }
  static constexpr size_t count = countOf(function);
  static void run(Emitter &op) {
    [&]<size_t... index>(std::index_sequence<index...>) {
      op.set(function(op, op.in(index)...));
    }(std::make_index_sequence<count>());
  }
};
constexpr bool moves = true;
template <auto function>
constexpr CommonOperator row(const char *tensorflow, const char *tflite, bool onlyMoves = false) {
  return {tensorflow, tflite, ResultOf<function>::run, ResultOf<function>::count, onlyMoves};
}

// ---- Elements at the same position --------------------------------------------------------------------------------

template <int least, int most> Value clipped(Emitter &op, Value x) {
  return op.emit("clip", {x}, {{"min", double(least)}, {"max", double(most)}});
}
Value inverseRoot(Emitter &op, Value x) { return op.emit("reciprocal", {op.emit("sqrt", {x})}); }
Value square(Emitter &op, Value x) { return op.emit("mul", {x, x}); }
Value squaredDifference(Emitter &op, Value a, Value b) { return square(op, op.emit("sub", {a, b})); }
Value notEqual(Emitter &op, Value a, Value b) { return op.emit("not", {op.emit("equal", {a, b})}); }
Value select(Emitter &op, Value condition, Value a, Value b) { return op.emit("where", {condition, a, b}); }

/// A condition of rank 1 chooses whole rows.
Value selectRows(Emitter &op, Value condition, Value a, Value b) {
  Dims dims = op.dims(condition);
  if (dims.size() == 1 && op.rank(a) > 1) {
    dims.resize(op.dims(a).size(), Dim(1));
    condition = op.node.reshape(condition, dims);
  }
  return select(op, condition, a, b);
}

void addAll(Emitter &op) {
  Value sum = op.in(0);
  for (size_t i = 1; i < op.node.inputCount(); ++i)
    sum = op.emit("add", {sum, op.in(i)});
  op.set(sum);
}

// ---- Extents ------------------------------------------------------------------------------------------------------

Value shapeOf(Emitter &op, Value x) {
  return op.node.cast(op.emit("shape", {x}), op.resultType("out_type", ElementType::i32));
}
Value rankOf(Emitter &op, Value x) { return op.number(ElementType::i32, static_cast<double>(op.rank(x))); }

// ---- Reductions ---------------------------------------------------------------------------------------------------

/// Reduces over axes that are known, or that are computed at run time.
template <Text mnemonic> Value reduced(Emitter &op, Value x, Value axesOperand) {
  auto given = op.node.staticInts(axesOperand);
  Ints axes = normalizeAxes(given.value_or(Ints()), op.rank(x), "an axis");
  bool keep = op.option("keep_dims", 0) != 0, logical = op.typeOf(x) == ElementType::boolean;
  if (given && axes.empty())
    return std::string_view(mnemonic.text) == "reduce_l2" ? op.emit("abs", {x}) : x;
  if (logical)
    x = op.node.cast(x, ElementType::u8);
  Value y = given ? op.emit(mnemonic.text, {x}, {{"axes", axes}, {"keepdims", keep}})
                  : op.emit(mnemonic.text, {x, op.wide(1)}, {{"keepdims", keep}, {"noop_with_empty_axes", true}});
  return logical ? op.node.cast(y, ElementType::boolean) : y;
}

template <Text mnemonic> Value positionOf(Emitter &op, Value x, Value) {
  Value y = op.emit(mnemonic.text, {x}, {{"axis", axisOperand(op, 1, op.rank(x))}, {"keepdims", false}});
  return op.node.cast(y, op.resultType("output_type", ElementType::i64));
}

template <Text mnemonic> Value cumulative(Emitter &op, Value x, Value) {
  return op.emit(mnemonic.text, {x},
                 {{"axis", axisOperand(op, 1, op.rank(x))},
                  {"exclusive", op.option("exclusive", 0) != 0},
                  {"reverse", op.option("reverse", 0) != 0}});
}

// ---- Movement -----------------------------------------------------------------------------------------------------

Value transposed(Emitter &op, Value x, Value) {
  return transpose(op.node, x, op.node.requireInts(1, "the permutation"));
}

Value toBatch(Emitter &op, Value x, Value, Value) {
  return spaceToBatch(op, x, op.node.requireInts(1, "the block"), op.node.requireInts(2, "the paddings"), op.zero());
}
Value toSpace(Emitter &op, Value x, Value, Value) {
  return batchToSpace(op, x, op.node.requireInts(1, "the block"), op.node.requireInts(2, "the crops"));
}
Value reversed(Emitter &op, Value x, Value) { return reverse(op, x, op.node.requireInts(1, "the axes")); }

/// Moves blocks of the image to channels and back; the new channels are in the order of ONNX.
template <Text mnemonic> Value blocks(Emitter &op, Value x) {
  std::string layout = op.node.stringAttr("data_format", "NHWC");
  require(layout == "NHWC" || layout == "NCHW", "data_format is '{}', expected NHWC or NCHW", oneLine(layout));
  bool last = layout == "NHWC";
  Value y =
      op.emit(mnemonic.text, {last ? channelsFirst(op.node, x) : x}, {{"block_size", op.option("block_size", 2)}});
  return last ? channelsLast(op.node, y) : y;
}

// ---- Resizing -----------------------------------------------------------------------------------------------------

/// Moves the channels first and resizes to the height and width in operand 1.
Value resized(Emitter &op, Value x, Value sizes, Fields fields, const char *halfPixel) {
  bool align = op.option("align_corners", 0) != 0, half = op.option("half_pixel_centers", 0) != 0;
  require(!align || !half, "has both align_corners and half_pixel_centers, expected one at most");
  fields.emplace_back("coordinate_mode", align ? "align_corners" : half ? halfPixel : "asymmetric");
  if (halfPixel != std::string_view("half_pixel")) // rounds down, but to the nearest with align_corners
    fields.emplace_back("nearest_mode", align ? "round_prefer_ceil" : "floor");
  require(op.rank(x) == 4, "the operand has rank {}, expected 4", op.rank(x));
  x = channelsFirst(op.node, x);
  Values operands = {x, {}, {}, {}};
  if (auto size = op.node.staticInts(sizes)) {
    require(size->size() == 2, "has {} sizes, expected 2", size->size());
    fields.emplace_back("sizes", Ints{-1, -1, (*size)[0], (*size)[1]});
  } else {
    Value outer = op.emit("shape", {x}, {{"start", 0}, {"end", 2}});
    operands[3] = op.emit("concat", {outer, op.wide(sizes)}, {{"axis", 0}});
  }
  return channelsLast(op.node, op.emit("resize", operands, fields));
}

/// The result is float, whatever type the operand has.
Value resizedLinearly(Emitter &op, Value x, Value sizes) {
  return resized(op, op.node.cast(x, ElementType::f32), sizes, {{"mode", "linear"}}, "half_pixel");
}
Value resizedToNearest(Emitter &op, Value x, Value sizes) {
  return resized(op, x, sizes, {{"mode", "nearest"}}, "tf_half_pixel_for_nn");
}
/// With half_pixel_centers the coefficient is Keys' -0.5 and pixels outside do not count, otherwise it is -0.75 and the
/// border is repeated. The weights belong to the exact position; TensorFlow rounds the position to 1/1024.
Value resizedCubically(Emitter &op, Value x, Value sizes) {
  bool half = op.option("half_pixel_centers", 0) != 0;
  Fields fields = {{"mode", "cubic"}, {"cubic_coeff_a", half ? -0.5 : -0.75}, {"exclude_outside", half}};
  return resized(op, op.node.cast(x, ElementType::f32), sizes, fields, "half_pixel");
}

// ---- Positions that tensors hold ----------------------------------------------------------------------------------

Value gathered(Emitter &op, Value x, Value indices) {
  op.node.ignore({"bad_indices_policy", "dtype"});
  return op.emit("gather_nd", {x, op.wide(indices)});
}

void bestOfRows(Emitter &op) {
  op.node.ignore({"sorted"});
  mlir::Operation *best = topK(op, op.in(0), op.in(1));
  op.set(best->getResult(0));
  op.node.set(1, op.node.cast(best->getResult(1), op.resultType("index_type", ElementType::i32, 1)));
}

/// Positions of the true elements, a row for each.
Value positionsOfTrue(Emitter &op, Value x) { return transpose(op.node, op.emit("non_zero", {x}), {1, 0}); }

void unique(Emitter &op) {
  mlir::Operation *made = op.node.emitOp("unique", {op.in(0)}, {{"sorted", false}});
  op.set(made->getResult(0));
  op.node.set(1, op.node.cast(made->getResult(2), op.resultType("out_idx", ElementType::i32, 1)));
}

template <Text reduction> Value segments(Emitter &op, Value x, Value numbers, Value) {
  Ints count = op.node.requireInts(2, "the number of segments");
  require(count.size() == 1, "has {} numbers of segments, expected 1", count.size());
  return unsortedSegment(op, x, op.wide(numbers), count[0], reduction.text);
}

Value range(Emitter &op, Value start, Value limit, Value delta) {
  start = op.node.reshape(start, {}), limit = op.node.reshape(limit, {});
  return op.emit("range", {start, limit, op.node.reshape(delta, {})});
}
Value fill(Emitter &op, Value shape, Value x) { return broadcastTo(op, x, shape); }
template <int value> Value filledLike(Emitter &op, Value x) {
  return filled(op, op.emit("shape", {x}), op.typeOf(x), value);
}

// ---- Products -----------------------------------------------------------------------------------------------------

/// x, with its last two axes exchanged if `turn` is true.
Value turned(Emitter &op, Value x, bool turn) {
  int64_t rank = op.rank(x);
  require(rank >= 2, "an operand has rank {}, expected at least 2", rank);
  Ints perm;
  for (int64_t axis = 0; axis < rank; ++axis)
    perm.push_back(axis < rank - 2 ? axis : 2 * rank - 3 - axis);
  return turn ? transpose(op.node, x, perm) : x;
}

Value products(Emitter &op, Value a, Value b) {
  if (op.typeOf(a) != op.typeOf(b))
    op.unsupported(fmt::format("operands are {} and {}", name(op.typeOf(a)), name(op.typeOf(b))));
  a = turned(op, a, op.option("adj_x", 0) != 0), b = turned(op, b, op.option("adj_y", 0) != 0);
  return op.emit("matmul", {a, b});
}

constexpr CommonOperator table[] = {
    row<atan2>("Atan2", "ATAN2"),
    row<clipped<-1, 1>>("", "RELU_N1_TO_1"),
    row<clipped<0, 1>>("", "RELU_0_TO_1"),
    row<clipped<0, 6>>("Relu6", "RELU6"),
    row<floorDiv>("FloorDiv", "FLOOR_DIV"),
    row<floorMod>("FloorMod", "FLOOR_MOD"),
    row<inverseRoot>("Rsqrt", "RSQRT"),
    row<inverseRoot>("", "STABLEHLO_RSQRT"),
    row<notEqual>("NotEqual", "NOT_EQUAL"),
    row<select>("SelectV2", "SELECT_V2", moves),
    row<select>("", "STABLEHLO_SELECT", moves),
    row<selectRows>("Select", "SELECT", moves),
    row<square>("Square", "SQUARE"),
    row<squaredDifference>("SquaredDifference", "SQUARED_DIFFERENCE"),
    {"AccumulateNV2", "", addAll, {}},
    {"AddN", "ADD_N", addAll, {}},

    row<broadcastShape>("BroadcastArgs", "BROADCAST_ARGS"),
    row<expandDims>("ExpandDims", "EXPAND_DIMS", moves),
    row<rankOf>("Rank", "RANK", moves),
    row<shapeOf>("Shape", "SHAPE", moves),

    row<cumulative<"cum_prod">>("Cumprod", ""),
    row<cumulative<"cum_sum">>("Cumsum", "CUMSUM"),
    row<positionOf<"arg_max">>("ArgMax", "ARG_MAX", moves),
    row<positionOf<"arg_min">>("ArgMin", "ARG_MIN", moves),
    row<reduced<"reduce_l2">>("EuclideanNorm", ""),
    row<reduced<"reduce_max">>("Any", "REDUCE_ANY"),
    row<reduced<"reduce_max">>("Max", "REDUCE_MAX", moves), // quantised elements keep the order of the numbers
    row<reduced<"reduce_mean">>("Mean", "MEAN"),
    row<reduced<"reduce_min">>("All", "REDUCE_ALL"),
    row<reduced<"reduce_min">>("Min", "REDUCE_MIN", moves),
    row<reduced<"reduce_prod">>("Prod", "REDUCE_PROD"),
    row<reduced<"reduce_sum">>("Sum", "SUM"),

    row<blocks<"depth_to_space">>("DepthToSpace", "DEPTH_TO_SPACE", moves),
    row<blocks<"space_to_depth">>("SpaceToDepth", "SPACE_TO_DEPTH", moves),
    row<broadcastTo>("BroadcastTo", "BROADCAST_TO", moves),
    row<reversed>("ReverseV2", "REVERSE_V2", moves),
    row<reverseSequence>("ReverseSequence", "REVERSE_SEQUENCE", moves),
    row<sliceBySize>("Slice", "SLICE", moves),
    row<stridedSlice>("StridedSlice", "STRIDED_SLICE", moves),
    row<tileBy>("Tile", "TILE", moves),
    row<toBatch>("SpaceToBatchND", "SPACE_TO_BATCH_ND", moves),
    row<toSpace>("BatchToSpaceND", "BATCH_TO_SPACE_ND", moves),
    row<transposed>("Transpose", "TRANSPOSE", moves),
    {"Pack", "PACK", pack, {}, moves},
    {"SplitV", "SPLIT_V", splitBySizes, 3, moves},
    {"Unpack", "UNPACK", unpack, 1, moves},

    row<resizedCubically>("ResizeBicubic", ""),
    row<resizedLinearly>("ResizeBilinear", "RESIZE_BILINEAR"),
    row<resizedToNearest>("ResizeNearestNeighbor", "RESIZE_NEAREST_NEIGHBOR", moves),

    row<sparseToDense>("SparseToDense", "SPARSE_TO_DENSE", moves),
    row<fill>("Fill", "FILL", moves),
    row<filledLike<0>>("ZerosLike", "ZEROS_LIKE"),
    row<filledLike<1>>("OnesLike", ""),
    row<gathered>("GatherNd", "GATHER_ND", moves),
    row<gathered>("ResourceGatherNd", ""),
    row<matrixDiag>("MatrixDiag", "MATRIX_DIAG", moves),
    row<matrixSetDiag>("MatrixSetDiag", "MATRIX_SET_DIAG", moves),
    row<oneHot>("OneHot", "ONE_HOT", moves),
    row<positionsOfTrue>("Where", "WHERE", moves),
    row<range>("Range", "RANGE"),
    row<scatterInto>("ScatterNd", "SCATTER_ND", moves),
    row<segments<"add">>("UnsortedSegmentSum", "UNSORTED_SEGMENT_SUM"),
    row<segments<"max">>("UnsortedSegmentMax", "UNSORTED_SEGMENT_MAX"),
    row<segments<"min">>("UnsortedSegmentMin", "UNSORTED_SEGMENT_MIN"),
    row<segments<"mul">>("UnsortedSegmentProd", "UNSORTED_SEGMENT_PROD"),
    row<segmentSum>("SegmentSum", "SEGMENT_SUM"),
    {"TopKV2", "TOPK_V2", bestOfRows, 2, moves},
    {"Unique", "UNIQUE", unique, 1, moves},

    row<products>("BatchMatMul", "BATCH_MATMUL"),
    row<products>("BatchMatMulV2", ""),
    row<products>("BatchMatMulV3", ""),
};

} // namespace

Values Emitter::all() const {
  Values values;
  for (size_t i = 0; i < node.inputCount(); ++i)
    values.push_back(in(i));
  return values;
}

ElementType Emitter::resultType(const char *attribute, ElementType fallback, size_t) {
  return node.typeAttr(attribute, fallback);
}

std::span<const CommonOperator> commonOperators() { return table; }

} // namespace lathe::source
