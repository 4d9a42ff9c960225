// Resizing of images, parts of images, and the selection of boxes.
#include "import/parts/Resample.h"
#include "import/tensorflow/TensorFlow.h"

#include <cmath>

namespace lathe::tensorflow {
namespace {

// ---- Resizing -----------------------------------------------------------------------------------------------------

/// The picture with its channels first, in float, and the height and width in operand 1.
std::pair<mlir::Value, Ints> pictureAndSize(Operator &op) {
  Ints size = op.node.requireInts(1, "the size");
  require(size.size() == 2 && op.rank(op.in(0)) == 4, "has {} sizes and an operand of rank {}, expected 2 and 4",
          size.size(), op.rank(op.in(0)));
  return {channelsFirst(op.node, op.node.cast(op.in(0), ElementType::f32)), size};
}

/// Imports ResizeArea: each output pixel is the mean over its area.
void importArea(Operator &op) {
  auto [x, size] = pictureAndSize(op);
  op.set(channelsLast(op.node, areaMeans(op, x, size[0], size[1], op.boolAttr("align_corners", false))));
}

/// Operands: image, size, scale and translation, each for height and width.
void importScaleAndTranslate(Operator &op) {
  auto [x, size] = pictureAndSize(op);
  auto scale = op.node.staticDoubles(op.in(2)), translation = op.node.staticDoubles(op.in(3));
  if (!scale || !translation)
    op.unsupported("its scale or its translation is computed at run time");
  require(scale->size() == 2 && translation->size() == 2, "has {} scales and {} translations, expected 2",
          scale->size(), translation->size());
  const ResampleKernel &kernel = resampleKernel(op.node.stringAttr("kernel_type", "lanczos3"));
  bool antialias = op.boolAttr("antialias", true);
  auto axis = [&](size_t i) { return Resampling{kernel, (*scale)[i], (*translation)[i], antialias}; };
  op.set(channelsLast(op.node, resampled(op, x, size[0], size[1], axis(0), axis(1))));
}

/// Moves places (columns, then rows, as fractions of the last pixel) to the nearest pixel of the image.
mlir::Value onPixels(Operator &op, mlir::Value places, mlir::Value image) {
  mlir::Value extents =
      op.emit("gather", {op.emit("shape", {image}), op.node.constantInts({2}, {3, 2})}, {{"axis", 0}});
  mlir::Value last =
      op.emit("max", {op.emit("sub", {extents, op.node.constantInts({}, {1})}), op.node.constantInts({}, {1})});
  last = op.node.cast(last, ElementType::f32);
  return op.emit("div", {roundAway(op.node, op.emit("mul", {places, last})), last});
}

/// Operands: image, boxes (y1, x1, y2, x2 from 0 to 1), image of each box, height and width of the crops. Positions
/// outside the image have the value of the attribute extrapolation_value.
void importCropAndResize(Operator &op) {
  std::string method = op.node.stringAttr("method", "bilinear");
  require(method == "bilinear" || method == "nearest", "method is '{}', expected bilinear or nearest", oneLine(method));
  Ints size = op.node.requireInts(3, "the size of the crops");
  require(size.size() == 2 && op.rank(op.in(0)) == 4, "has {} sizes and an operand of rank {}, expected 2 and 4",
          size.size(), op.rank(op.in(0)));
  mlir::Value image = channelsFirst(op.node, op.node.cast(op.in(0), ElementType::f32));
  mlir::Value boxes = op.node.cast(op.in(1), ElementType::f32);
  auto f32 = [&](double value) { return op.number(ElementType::f32, value); };
  /// Positions along one axis as fractions of the last pixel: boxes x size.
  auto positions = [&](int64_t axis, int64_t count) {
    mlir::Value begin = cut(op, boxes, 1, axis, axis + 1), end = cut(op, boxes, 1, axis + 2, axis + 3);
    if (count == 1)
      return op.emit("mul", {op.emit("add", {begin, end}), f32(0.5)});
    mlir::Value step = op.emit("div", {op.emit("sub", {end, begin}), f32(static_cast<double>(count - 1))});
    mlir::Value steps = op.node.cast(ramp(op, count, 0, 1), ElementType::f32);
    return op.emit("add", {begin, op.emit("mul", {steps, step})});
  };
  Dim count = op.dims(boxes)[0];
  auto plane = [&](mlir::Value value, Dims dims) {
    return op.node.expand(op.node.reshape(value, dims), {count, Dim(size[0]), Dim(size[1]), Dim(1)}, boxes);
  };
  mlir::Value rows = positions(0, size[0]), columns = positions(1, size[1]);
  rows = plane(rows, {count, Dim(size[0]), Dim(1), Dim(1)});
  columns = plane(columns, {count, Dim(1), Dim(size[1]), Dim(1)});
  mlir::Value places = op.emit("concat", {columns, rows}, {{"axis", 3}});
  auto outside = [&](mlir::Value value) {
    return op.emit("or", {op.emit("less", {value, f32(0)}), op.emit("greater", {value, f32(1)})});
  };
  mlir::Value away = op.emit("or", {outside(rows), outside(columns)});
  if (method == "nearest") // in code, because TensorFlow takes the later one of two equally near pixels
    places = onPixels(op, places, image);
  mlir::Value grid = op.emit("sub", {op.emit("mul", {places, f32(2)}), f32(1)});
  mlir::Value chosen = op.emit("gather", {image, op.wide(2)}, {{"axis", 0}});
  mlir::Value y = op.emit(
      "grid_sample", {chosen, grid},
      {{"mode", method == "nearest" ? "nearest" : "linear"}, {"padding_mode", "border"}, {"align_corners", true}});
  op.set(op.emit("where", {away, f32(op.node.floatAttr("extrapolation_value", 0)), channelsLast(op.node, y)}));
}

/// Every window of the image as one row of channels: concatenated slices of the padded image.
void importPatches(Operator &op) {
  auto pair = [&](const char *attr) {
    Ints all = op.node.intsAttr(attr);
    require(all.size() == 4 && all[0] == 1 && all[3] == 1, "{} is {}, expected 4 values that begin and end with 1",
            attr, fmt::join(all, ", "));
    return Ints{all[1], all[2]};
  };
  std::string padding = op.node.stringAttr("padding", "VALID");
  require(padding == "SAME" || padding == "VALID", "padding is '{}', expected SAME or VALID", oneLine(padding));
  mlir::Value x = op.in(0);
  Window window = padded(op.dims(x), 1, padding == "SAME", {pair("ksizes"), pair("strides"), pair("rates"), {}});
  require(window.kernel[0] * window.kernel[1] <= 1024, "has {} x {} pixels in a patch, expected at most 1024",
          window.kernel[0], window.kernel[1]);
  x = op.emit("pad", {x, {}, {}},
              {{"pads", Ints{0, window.pads[0], window.pads[1], 0, 0, window.pads[2], window.pads[3], 0}}});
  Ints last; // the first pixel of the last window
  for (size_t i = 0; i < 2; ++i) {
    int64_t extent = knownExtent(op, op.dims(x)[1 + i], "the image");
    int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    require(extent >= reach, "the window has {} pixels, the image {}", reach, extent);
    last.push_back((extent - reach) / window.strides[i] * window.strides[i]);
  }
  Values parts;
  for (int64_t row = 0; row < window.kernel[0]; ++row)
    for (int64_t column = 0; column < window.kernel[1]; ++column) {
      int64_t y = row * window.dilations[0], left = column * window.dilations[1];
      parts.push_back(op.emit("slice", {x},
                              {{"starts", Ints{y, left}},
                               {"ends", Ints{y + last[0] + 1, left + last[1] + 1}},
                               {"axes", Ints{1, 2}},
                               {"steps", window.strides}}));
    }
  op.set(op.emit("concat", parts, {{"axis", 3}}));
}

// ---- Boxes --------------------------------------------------------------------------------------------------------

mlir::Value asF32(Operator &op, mlir::Value value) { return op.node.cast(value, ElementType::f32); }

/// Operands: boxes, scores, limit; from version 2 on the overlap, from version 3 on the score, in version 5 the
/// variance of soft suppression. In the first three versions the number of boxes depends on the data; the others can
/// fill up to the limit.
void importNonMaxSuppression(Operator &op) {
  mlir::Value boxes = asF32(op, op.in(0)), scores = asF32(op, op.in(1));
  require(op.rank(boxes) == 2 && op.rank(scores) == 1, "boxes have rank {} and scores rank {}, expected 2 and 1",
          op.rank(boxes), op.rank(scores));
  mlir::Value limit = op.node.reshape(op.wide(2), {});
  mlir::Value overlap =
      op.node.has(3) ? asF32(op, op.scalar(3)) : op.number(ElementType::f32, op.node.floatAttr("iou_threshold", 0.5));
  mlir::Value least = op.node.has(4) ? asF32(op, op.scalar(4)) : op.number(ElementType::f32, -INFINITY);
  if (op.node.has(5)) {
    auto sigma = op.node.staticDoubles(op.in(5));
    if (!sigma || sigma->size() != 1 || sigma->front() != 0) // a positive constant is SoftSuppression.cpp's
      op.unsupported("soft suppression whose sigma is no positive constant of 32 bits");
  }
  bool pads = op.boolAttr("pad_to_max_output_size", false), soft = op.node.has(5);
  if (!pads) {
    Dims all = op.dims(boxes), each = {Dim(1), Dim(1), op.dims(scores)[0]};
    all.insert(all.begin(), Dim(1));
    mlir::Value selected = op.emit("non_max_suppression",
                                   {op.node.reshape(boxes, all), op.node.reshape(scores, each), limit, overlap, least});
    mlir::Value indices = op.emit("reshape", {cut(op, selected, 1, 2, 3)}, {{"shape", Ints{-1}}});
    op.set(op.node.cast(indices, ElementType::i32));
    if (soft)
      op.node.set(1, op.emit("gather", {op.in(1), indices}, {{"axis", 0}}));
    mlir::Value count = op.emit("shape", {indices});
    op.node.set(soft ? 2 : 1, op.node.cast(op.node.reshape(count, {}), ElementType::i32));
    return;
  }
  Ints most = op.node.requireInts(2, "the number of boxes");
  require(most.size() == 1 && most[0] >= 0 && most[0] < (1 << 24), "the number of boxes is not one number");
  SelectedBoxes selected =
      selectBoxes(op, boxes, op.node.reshape(scores, {Dim(1), op.dims(scores)[0]}), limit, overlap, least, most[0]);
  mlir::Value indices = op.node.reshape(selected.boxes, {Dim(most[0])});
  op.set(op.node.cast(indices, ElementType::i32));
  if (soft)
    op.node.set(1, masked(op, op.node.reshape(selected.valid, {Dim(most[0])}),
                          op.emit("gather", {op.in(1), indices}, {{"axis", 0}})));
  op.node.set(soft ? 2 : 1, op.node.cast(op.node.reshape(selected.count, {}), ElementType::i32));
}

/// One operand: a positive number, which must be known.
int64_t knownCount(Operator &op, size_t index, const char *what) {
  Ints value = op.node.requireInts(index, what);
  require(value.size() == 1 && value[0] > 0 && value[0] <= (1 << 24), "{} is not one number from 1 to 2^24", what);
  return value[0];
}

/// Operands: boxes (batch, boxes, 1 or classes, 4), scores (batch, boxes, classes), most boxes of a class, most boxes
/// in all, overlap, score. Selects boxes for every class; the result holds the best boxes of all classes, then zeros.
void importCombinedNonMaxSuppression(Operator &op) {
  Node &node = op.node;
  mlir::Value boxes = asF32(op, op.in(0)), scores = asF32(op, op.in(1));
  const Dims dims = op.dims(boxes), table = op.dims(scores);
  require(dims.size() == 4 && table.size() == 3, "boxes have rank {} and scores rank {}, expected 4 and 3", dims.size(),
          table.size());
  Dim batch = table[0];
  int64_t count = knownExtent(op, table[1], "the boxes"), classes = knownExtent(op, table[2], "the classes"),
          own = knownExtent(op, dims[2], "the boxes of a class");
  require(own == 1 || own == classes, "has boxes for {} classes and scores for {}, expected one or as many", own,
          classes);
  int64_t ofClass = knownCount(op, 2, "the number of boxes of a class"),
          most = knownCount(op, 3, "the number of boxes");
  int64_t kept = std::min(ofClass, count), candidates = kept * classes;
  if (op.boolAttr("pad_per_class", false) && classes < most) // otherwise the product is not less, or overflows
    most = std::min(most, ofClass * classes);
  int64_t taken = std::min(most, candidates);

  scores = transpose(node, scores, {0, 2, 1});
  mlir::Value corners = boxes, sides = scores;
  Dim pictures = batch;
  if (own > 1) { // each class of each picture has separate boxes
    pictures = batch * Dim(own);
    corners = transpose(node, boxes, {0, 2, 1, 3});
    sides = node.reshape(scores, {pictures, Dim(1), Dim(count)});
  }
  corners = node.reshape(corners, {pictures, Dim(count), Dim(4)});
  mlir::Operation *selection = node.emitOp("select_boxes", {corners, sides, node.constantInts({}, {kept}),
                                                            asF32(op, op.scalar(4)), asF32(op, op.scalar(5))});
  mlir::Value numbers = node.reshape(selection->getResult(0), {batch, Dim(classes), Dim(count)});
  numbers = cut(op, node.cast(numbers, ElementType::i64), 2, 0, kept);
  mlir::Value counts = node.reshape(selection->getResult(1), {batch, Dim(classes), Dim(1)});
  mlir::Value valid = op.emit("less", {ramp(op, kept, 2, 3), counts});
  numbers = masked(op, valid, numbers);
  mlir::Value nothing = op.number(ElementType::f32, -INFINITY);
  mlir::Value found = op.emit("where", {valid, op.emit("gather_elements", {scores, numbers}, {{"axis", 2}}), nothing});

  Dims flat = {batch, Dim(candidates)};
  mlir::Operation *best = topK(op, node.reshape(found, flat), node.constantInts({}, {taken}));
  mlir::Value places = best->getResult(1), picked = op.emit("greater", {best->getResult(0), nothing});
  mlir::Value row = op.emit("gather_elements", {node.reshape(numbers, flat), places}, {{"axis", 1}});
  mlir::Value kind = op.emit("div", {places, node.constantInts({}, {kept})});
  if (own > 1)
    row = op.emit("add", {op.emit("mul", {row, node.constantInts({}, {own})}), kind});
  mlir::Value chosen = gatherAlong(op, node.reshape(boxes, {batch, Dim(count * own), Dim(4)}), row, 1, 1);
  if (op.boolAttr("clip_boxes", true))
    chosen = op.emit("clip", {chosen, {}, {}}, {{"min", 0.0}, {"max", 1.0}});
  chosen = masked(op, node.reshape(picked, {batch, Dim(taken), Dim(1)}), chosen);
  auto set = [&](size_t result, mlir::Value value) {
    Ints pads(static_cast<size_t>(2 * op.rank(value)), 0);
    pads[static_cast<size_t>(op.rank(value) + 1)] = most - taken;
    node.set(result, taken < most ? op.emit("pad", {value, {}, {}}, {{"pads", pads}}) : value);
  };
  set(0, chosen);
  set(1, masked(op, picked, best->getResult(0)));
  set(2, masked(op, picked, node.cast(kind, ElementType::f32)));
  node.set(3, op.emit("reduce_sum", {node.cast(picked, ElementType::i32)}, {{"axes", Ints{1}}, {"keepdims", false}}));
}

} // namespace

void addImageImporters(Importers &table) {
  table["ResizeArea"] = {importArea, 2};
  table["ScaleAndTranslate"] = {importScaleAndTranslate, 4};
  table["CropAndResize"] = {importCropAndResize, 4};
  table["ExtractImagePatches"] = {importPatches, 1};
  table["NonMaxSuppression"] = {importNonMaxSuppression, 3};
  table["NonMaxSuppressionV2"] = {importNonMaxSuppression, 4};
  table["NonMaxSuppressionV3"] = table["NonMaxSuppressionV4"] = {importNonMaxSuppression, 5};
  table["NonMaxSuppressionV5"] = {importNonMaxSuppression, 6};
  table["CombinedNonMaxSuppression"] = {importCombinedNonMaxSuppression, 6};
}

} // namespace lathe::tensorflow
