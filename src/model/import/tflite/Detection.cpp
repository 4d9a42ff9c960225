// Selection of boxes: NON_MAX_SUPPRESSION_V4 and V5, and the custom operator TFLite_Detection_PostProcess. Results that
// nn.select_boxes does not fill are zero.
#include "import/tflite/Tflite.h"

#include <flatbuffers/flexbuffers.h>

#include <cmath>
#include <numeric>

namespace lathe::tflite {
namespace {

mlir::Value number(Operator &op, double value) { return op.node.constantScalar(ElementType::f32, value); }

// ---- NON_MAX_SUPPRESSION ------------------------------------------------------------------------------------------

/// Operands: boxes, scores, limit, overlap, score, and in V5 the variance of soft suppression.
void importNonMaxSuppression(Operator &op) {
  bool soft = op.code() == BuiltinOperator::NON_MAX_SUPPRESSION_V5;
  if (soft) {
    auto sigma = op.node.staticDoubles(op.in(5));
    if (!sigma || sigma->size() != 1 || sigma->front() != 0)
      op.unsupported("soft suppression (sigma is not 0)");
  }
  mlir::Value boxes = op.in(0), scores = op.in(1);
  require(op.rank(boxes) == 2 && op.rank(scores) == 1, "boxes have rank {} and scores rank {}, expected 2 and 1",
          op.rank(boxes), op.rank(scores));
  Ints limit = op.node.requireInts(2, "the number of boxes");
  require(limit.size() == 1 && limit[0] >= 0 && limit[0] < (1 << 24), "the number of boxes is not one number");
  SelectedBoxes selected = selectBoxes(op, boxes, op.node.reshape(scores, {Dim(1), op.dims(scores)[0]}), op.wide(2),
                                       op.node.reshape(op.in(3), {}), op.node.reshape(op.in(4), {}), limit[0]);
  mlir::Value indices = op.node.reshape(selected.boxes, {Dim(limit[0])});
  mlir::Value valid = op.node.reshape(selected.valid, {Dim(limit[0])});
  op.set(op.node.cast(indices, op.outputType()));
  size_t next = 1;
  if (soft)
    op.node.set(next++, masked(op, valid, op.emit("gather", {scores, indices})));
  op.node.set(next, op.node.cast(op.node.reshape(selected.count, {}), ElementType::i32));
}

// ---- TFLite_Detection_PostProcess ---------------------------------------------------------------------------------

struct DetectionOptions {
  int64_t detections = 0, classesPerDetection = 1, detectionsPerClass = 100, classes = 0;
  bool regular = false; // suppression class by class
  double score = 0, overlap = 0, yScale = 1, xScale = 1, heightScale = 1, widthScale = 1;
};

DetectionOptions readOptions(const Operator &op) {
  const auto *given = op.source.op->custom_options();
  std::vector<uint8_t> bytes;
  if (given)
    bytes.assign(given->begin(), given->end());
  require(!bytes.empty() && flexbuffers::VerifyBuffer(bytes.data(), bytes.size(), nullptr),
          "its options are malformed ({} bytes), expected a flexbuffer", bytes.size());
  flexbuffers::Reference root = flexbuffers::GetRoot(bytes);
  require(root.IsMap(), "its options are no map");
  flexbuffers::Map map = root.AsMap();
  auto integer = [&](const char *key, int64_t fallback) {
    flexbuffers::Reference value = map[key];
    require(value.IsNull() || value.IsNumeric(), "option '{}' is not a number", key);
    return value.IsNull() ? fallback : value.AsInt64();
  };
  auto real = [&](const char *key, double fallback) {
    flexbuffers::Reference value = map[key];
    require(value.IsNull() || value.IsNumeric(), "option '{}' is not a number", key);
    return value.IsNull() ? fallback : static_cast<double>(value.AsFloat());
  };
  DetectionOptions options;
  options.detections = integer("max_detections", 0);
  options.classesPerDetection = integer("max_classes_per_detection", 1);
  options.detectionsPerClass = integer("detections_per_class", 100);
  options.classes = integer("num_classes", 0);
  options.regular = !map["use_regular_nms"].IsNull() && map["use_regular_nms"].AsBool();
  options.score = real("nms_score_threshold", 0);
  options.overlap = real("nms_iou_threshold", 0);
  options.yScale = real("y_scale", 1);
  options.xScale = real("x_scale", 1);
  options.heightScale = real("h_scale", 1);
  options.widthScale = real("w_scale", 1);
  for (int64_t count : {options.detections, options.classesPerDetection, options.detectionsPerClass, options.classes})
    require(count >= 1 && count < (1 << 20), "has an option with value {}, expected a positive number", count);
  require(options.overlap > 0 && options.overlap <= 1, "nms_iou_threshold is {}, expected one in (0, 1]",
          options.overlap);
  for (double scale : {options.yScale, options.xScale, options.heightScale, options.widthScale})
    require(std::isfinite(scale) && scale > 0, "has scale {}, expected a positive number", scale);
  return options;
}

/// An operand in float: the operator accepts quantised operands, too.
mlir::Value realOperand(Operator &op, size_t index) {
  ElementType type = op.inputType(index);
  auto from = op.inputQuantization(index);
  if (type == ElementType::f32)
    return op.in(index);
  if (!from || from->perChannel())
    op.unsupported(fmt::format("an operand of {}, expected f32 or a scale", name(type)));
  mlir::Value value = op.node.cast(op.in(index), ElementType::f32);
  value = op.emit("sub", {value, number(op, static_cast<double>(from->zeroPoints[0]))});
  return op.emit("mul", {value, number(op, from->scales[0])});
}

/// Corners (y1, x1, y2, x2) from the network's encodings relative to the anchors (y, x, height, width).
mlir::Value decodeBoxes(Operator &op, const DetectionOptions &options, mlir::Value encodings, mlir::Value anchors) {
  auto part = [&](mlir::Value x, int64_t index) { return cut(op, x, 1, index, index + 1); };
  double scales[] = {options.yScale, options.xScale, options.heightScale, options.widthScale};
  mlir::Value center[2], half[2];
  for (int64_t i = 0; i < 2; ++i) {
    mlir::Value extent = part(anchors, 2 + i);
    mlir::Value moved = op.emit("div", {part(encodings, i), number(op, scales[i])});
    center[i] = op.emit("add", {op.emit("mul", {moved, extent}), part(anchors, i)});
    mlir::Value grown = op.emit("exp", {op.emit("div", {part(encodings, 2 + i), number(op, scales[2 + i])})});
    half[i] = op.emit("mul", {op.emit("mul", {number(op, 0.5), grown}), extent});
  }
  return op.emit("concat",
                 {op.emit("sub", {center[0], half[0]}), op.emit("sub", {center[1], half[1]}),
                  op.emit("add", {center[0], half[0]}), op.emit("add", {center[1], half[1]})},
                 {{"axis", 1}});
}

/// Boxes, classes and scores of the detections, and their number; further rows are zero.
struct Detections {
  mlir::Value box, label, score, valid; // i64, i64, f32, bool: one element a row
  mlir::Value count;                    // i64
};

/// Suppresses once, by the best class of every box; each box then gives its best classes.
Detections selectByBest(Operator &op, const DetectionOptions &options, mlir::Value boxes, mlir::Value scores,
                        mlir::Value limit, mlir::Value overlap, mlir::Value threshold) {
  Node &node = op.node;
  int64_t each = std::min(options.classesPerDetection, options.classes), rows = options.detections * each;
  mlir::Value best = op.emit("reduce_max", {scores}, {{"axes", Ints{1}}, {"keepdims", false}});
  SelectedBoxes selected = selectBoxes(op, boxes, node.reshape(best, {Dim(1), op.dims(best)[0]}), limit, overlap,
                                       threshold, options.detections);
  mlir::Value indices = node.reshape(selected.boxes, {Dim(options.detections)});
  mlir::Operation *top = node.emitOp("top_k", {op.emit("gather", {scores, indices}), {}}, {{"k", each}, {"axis", -1}});
  auto perRow = [&](mlir::Value value) { // from one value a detection to one value a row
    Dims all = {Dim(options.detections), Dim(each)};
    return node.reshape(node.expand(node.reshape(value, {Dim(options.detections), Dim(1)}), all, value), {Dim(rows)});
  };
  mlir::Value count = op.emit("mul", {node.reshape(selected.count, {}), node.constantInts({}, {each})});
  return {perRow(indices), node.reshape(top->getResult(1), {Dim(rows)}), node.reshape(top->getResult(0), {Dim(rows)}),
          perRow(selected.valid), count};
}

/// Suppresses for every class, then takes the best boxes of all classes.
Detections selectByClass(Operator &op, const DetectionOptions &options, mlir::Value boxes, mlir::Value scores,
                         mlir::Value overlap, mlir::Value threshold) {
  Node &node = op.node;
  int64_t each = std::min(options.detectionsPerClass, knownExtent(op, op.dims(scores)[0], "the boxes"));
  int64_t rows = options.detections, all = options.classes * each, taken = std::min(rows, all);
  mlir::Value turned = transpose(node, scores, {1, 0});
  SelectedBoxes selected =
      selectBoxes(op, boxes, turned, node.constantInts({}, {options.detectionsPerClass}), overlap, threshold, each);
  mlir::Value own = op.emit("gather_elements", {turned, selected.boxes}, {{"axis", 1}});
  mlir::Value nothing = number(op, -std::numeric_limits<float>::infinity());
  mlir::Value flat = node.reshape(op.emit("where", {selected.valid, own, nothing}), {Dim(all)});
  mlir::Operation *top = node.emitOp("top_k", {flat, {}}, {{"k", taken}, {"axis", 0}});
  mlir::Value position = top->getResult(1), score = top->getResult(0);
  if (taken < rows) {
    position = op.emit("pad", {position, {}, {}}, {{"pads", Ints{0, rows - taken}}});
    score = op.emit("pad", {score, {}, {}},
                    {{"pads", Ints{0, rows - taken}}, {"value", -std::numeric_limits<double>::infinity()}});
  }
  mlir::Value box = op.emit("gather", {node.reshape(selected.boxes, {Dim(all)}), position});
  mlir::Value label = op.emit("div", {position, node.constantInts({}, {each})});
  mlir::Value total = op.emit("reduce_sum", {selected.count}, {{"axes", Ints{0}}, {"keepdims", false}});
  mlir::Value count = op.emit("min", {total, node.constantInts({}, {rows})});
  return {box, label, score, op.emit("less", {ramp(op, rows, 0, 1), count}), count};
}

void importDetection(Operator &op) {
  op.node.expectInputs(3, 3);
  op.node.expectOutputs(4);
  Node &node = op.node;
  DetectionOptions options = readOptions(op);
  mlir::Value encodings = realOperand(op, 0), scores = realOperand(op, 1), anchors = realOperand(op, 2);
  const Dims dims = op.dims(encodings), classDims = op.dims(scores);
  require(dims.size() == 3 && classDims.size() == 3 && op.rank(anchors) == 2,
          "operands have ranks {}, {} and {}, expected 3, 3 and 2", dims.size(), classDims.size(), op.rank(anchors));
  if (dims[0].constantOr(1) != 1)
    op.unsupported(fmt::format("a batch of {}", dims[0].str()));
  const int64_t count = knownExtent(op, dims[1], "the boxes"), labels = knownExtent(op, classDims[2], "the boxes");
  require(options.classes <= labels, "num_classes is {}, but there are {} scores a box", options.classes, labels);
  encodings = op.emit("reshape", {encodings}, {{"shape", Ints{count, dims[2].constantOr(4)}}});
  scores = op.emit("reshape", {scores}, {{"shape", Ints{count, labels}}});
  scores = cut(op, scores, 1, labels - options.classes, labels); // without the background
  mlir::Value boxes = decodeBoxes(op, options, encodings, anchors);
  mlir::Value overlap = number(op, options.overlap);
  // A score equal to the threshold counts, but nn takes only greater ones.
  mlir::Value threshold = number(op, std::nextafter(static_cast<float>(options.score), -HUGE_VALF));
  mlir::Value limit = node.constantInts({}, {options.detections});
  Detections found = options.regular ? selectByClass(op, options, boxes, scores, overlap, threshold)
                                     : selectByBest(op, options, boxes, scores, limit, overlap, threshold);
  const Dim rows = op.dims(found.box)[0];
  mlir::Value corners = op.emit("gather", {boxes, found.box});
  op.set(node.reshape(masked(op, node.reshape(found.valid, {rows, Dim(1)}), corners), {Dim(1), rows, Dim(4)}));
  node.set(1, node.reshape(masked(op, found.valid, node.cast(found.label, ElementType::f32)), {Dim(1), rows}));
  node.set(2, node.reshape(masked(op, found.valid, found.score), {Dim(1), rows}));
  node.set(3, node.reshape(node.cast(found.count, ElementType::f32), {Dim(1)}));
}

} // namespace

void (*customImporter(const std::string &name))(Operator &) {
  return name == "TFLite_Detection_PostProcess" ? importDetection : nullptr;
}

std::vector<std::string> customOperators() { return {"TFLite_Detection_PostProcess"}; }

void addDetectionImporters(Importers &table) {
  table[BuiltinOperator::NON_MAX_SUPPRESSION_V4] = {importNonMaxSuppression, 5};
  table[BuiltinOperator::NON_MAX_SUPPRESSION_V5] = {importNonMaxSuppression, 6};
}

} // namespace lathe::tflite
