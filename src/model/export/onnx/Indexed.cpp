// Writes operators that pick, place or sample elements and whose ONNX form differs from the nn record.
#include "export/onnx/GraphWriter.h"

#include <algorithm>
#include <utility>

namespace lathe::onnx {
namespace {

void writeTopK(NodeWriter &w) {
  auto a = nn::attrsAs<TopKAttrs>(&w.op);
  auto operands = nn::operandsByRecord(&w.op);
  w.node.set_op_type("TopK");
  w.input(operands[0]);
  if (operands[1])
    w.input(operands[1]);
  else
    w.inputInts("k", {a.k});
  w.attr("axis", a.axis);
  w.attr("largest", static_cast<int64_t>(a.largest));
  w.attr("sorted", static_cast<int64_t>(a.sorted));
}

template <class RunningAttrs> void writeRunning(NodeWriter &w, const char *op) {
  auto a = nn::attrsAs<RunningAttrs>(&w.op);
  auto operands = nn::operandsByRecord(&w.op);
  w.node.set_op_type(op);
  w.input(operands[0]);
  if (operands[1])
    w.input(operands[1]);
  else
    w.inputScalar("axis", ElementType::i64, static_cast<double>(a.axis));
  w.attr("exclusive", static_cast<int64_t>(a.exclusive));
  w.attr("reverse", static_cast<int64_t>(a.reverse));
}

void writeGridSample(NodeWriter &w) {
  auto a = nn::attrsAs<GridSampleAttrs>(&w.op);
  w.node.set_op_type("GridSample");
  for (mlir::Value operand : w.op.getOperands())
    w.input(operand);
  w.attr("mode", a.mode);
  w.attr("padding_mode", a.padding_mode);
  w.attr("align_corners", static_cast<int64_t>(a.align_corners));
}

void writeRoiAlign(NodeWriter &w) {
  auto a = nn::attrsAs<RoiAlignAttrs>(&w.op);
  w.node.set_op_type("RoiAlign");
  for (mlir::Value operand : w.op.getOperands())
    w.input(operand);
  w.attr("mode", a.mode);
  w.attr("coordinate_transformation_mode", a.coordinate_mode);
  w.attr("output_height", a.output_height);
  w.attr("output_width", a.output_width);
  w.attr("sampling_ratio", a.sampling_ratio);
  w.attr("spatial_scale", a.spatial_scale);
}

/// In ONNX the positions are MaxPool's second result; the first result is not used here (see isIndicesOfPoolBefore).
void writeMaxPoolIndices(NodeWriter &w) {
  auto a = nn::attrsAs<MaxPoolIndicesAttrs>(&w.op);
  w.node.set_op_type("MaxPool");
  w.input(w.op.getOperand(0));
  std::string indices = w.node.output(0);
  w.node.set_output(0, w.graph.uniqueValueName(indices + "_values"));
  w.node.add_output(indices);
  w.attr("kernel_shape", a.kernel);
  w.attr("strides", a.strides);
  w.pads(a.pads, a.kernel, a.strides, a.dilations);
  w.attr("dilations", a.dilations);
  w.attr("ceil_mode", static_cast<int64_t>(a.ceil_mode));
  w.attr("storage_order", static_cast<int64_t>(a.column_major));
}

void writeMaxUnpool(NodeWriter &w) {
  auto a = nn::attrsAs<MaxUnpoolAttrs>(&w.op);
  auto operands = nn::operandsByRecord(&w.op);
  w.node.set_op_type("MaxUnpool");
  w.input(operands[0]);
  w.input(operands[1]);
  if (operands[2])
    w.input(operands[2]);
  else if (!a.output_shape.empty())
    w.inputInts("output_shape", a.output_shape);
  w.attr("kernel_shape", a.kernel);
  w.attr("strides", a.strides);
  w.attr("pads", a.pads);
}

void writeCol2Im(NodeWriter &w) {
  auto a = nn::attrsAs<Col2ImAttrs>(&w.op);
  auto operands = nn::operandsByRecord(&w.op);
  w.node.set_op_type("Col2Im");
  w.input(operands[0]);
  for (auto [i, name, values] : {std::tuple{1, "image", &a.image}, std::tuple{2, "block", &a.block}})
    if (operands[i])
      w.input(operands[i]);
    else
      w.inputInts(name, *values);
  w.attr("strides", a.strides);
  w.attr("dilations", a.dilations);
  w.attr("pads", a.pads);
}

} // namespace

bool isIndicesOfPoolBefore(mlir::Operation &op) {
  mlir::Operation *before = op.getPrevNode();
  const OpRecord *record = nn::recordOf(&op), *other = before ? nn::recordOf(before) : nullptr;
  if (!record || !other || std::string_view(record->name) != "max_pool_indices" ||
      std::string_view(other->name) != "max_pool" || op.getOperand(0) != before->getOperand(0))
    return false;
  auto a = nn::attrsAs<MaxPoolIndicesAttrs>(&op);
  auto b = nn::attrsAs<MaxPoolAttrs>(before);
  return a.kernel == b.kernel && a.strides == b.strides && a.pads == b.pads && a.dilations == b.dilations &&
         a.ceil_mode == b.ceil_mode;
}

void keepAspectRatio(NodeWriter &w, ResizeAttrs &a) {
  const Dims x = nn::infoOf(w.op.getOperand(0)).dims;
  auto first = std::find_if(a.scales.begin(), a.scales.end(), [](double scale) { return scale != 1; });
  const double scale = first == a.scales.end() ? 1 : *first;
  std::vector<double> scales = std::exchange(a.scales, {});
  if (scale == 1) // the sizes are enough
    return;
  bool stated = false;
  for (size_t i = 0; i < scales.size(); ++i) {
    if (scales[i] == 1) {
      a.sizes[i] = -1;
      continue;
    }
    require(scales[i] == scale && x[i].isConstant(),
            "a resize with sizes and scales has a form in ONNX only for one scale and static extents");
    bool exact = static_cast<double>(a.sizes[i]) / static_cast<double>(x[i].constant()) == scale;
    stated |= exact;
    a.sizes[i] += !exact;
  }
  require(stated, "a resize whose scale is not the quotient of a size and an extent has no form in ONNX");
  w.attr("keep_aspect_ratio_policy", "not_larger");
}

void addIndexedWriters(Writers &table) {
  table["top_k"] = writeTopK;
  table["cum_sum"] = [](NodeWriter &w) { writeRunning<CumSumAttrs>(w, "CumSum"); };
  table["cum_prod"] = [](NodeWriter &w) { writeRunning<CumProdAttrs>(w, "CumProd"); };
  table["grid_sample"] = writeGridSample;
  table["roi_align"] = writeRoiAlign;
  table["max_pool_indices"] = writeMaxPoolIndices;
  table["max_unpool"] = writeMaxUnpool;
  table["col2im"] = writeCol2Im;
}

} // namespace lathe::onnx
