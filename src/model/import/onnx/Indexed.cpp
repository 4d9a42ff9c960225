// Operators that pick, place or sample elements and whose ONNX form differs from the nn record.
#include "import/onnx/Onnx.h"

namespace lathe::onnx {
namespace {

void importTopK(Node &node) {
  bool operand = node.version() >= 10;
  node.expectInputs(operand ? 2 : 1, operand ? 2 : 1);
  node.expectOutputs(2);
  Fields fields = {{"axis", node.intAttr("axis", -1)}};
  mlir::Value k;
  if (!operand) {
    require(node.hasAttr("k"), "has no k");
    fields.emplace_back("k", node.intAttr("k", 0));
  } else if (auto known = node.staticInts(node.in(1))) {
    require(known->size() == 1, "k has {} elements, expected 1", known->size());
    fields.emplace_back("k", known->front());
  } else {
    k = node.in(1);
  }
  if (node.version() >= 11) {
    fields.emplace_back("largest", node.intAttr("largest", 1) != 0);
    fields.emplace_back("sorted", node.intAttr("sorted", 1) != 0);
  }
  mlir::Operation *op = node.emitOp("top_k", {node.in(0), k}, fields);
  node.set(0, op->getResult(0));
  node.set(1, op->getResult(1));
}

void importRunning(Node &node) {
  node.expectInputs(2, 2);
  bool sum = node.record.op == "CumSum";
  require(node.version() >= (sum ? 11 : 26), "there is no such operator in opset {}", node.version());
  Fields fields = {{"exclusive", node.intAttr("exclusive", 0) != 0}, {"reverse", node.intAttr("reverse", 0) != 0}};
  mlir::Value axis = node.in(1);
  if (auto known = node.staticInts(axis)) {
    require(known->size() == 1, "axis has {} elements, expected 1", known->size());
    fields.emplace_back("axis", known->front());
    axis = {};
  }
  node.set(0, node.emit(sum ? "cum_sum" : "cum_prod", {node.in(0), axis}, fields));
}

void importGridSample(Node &node) {
  require(node.version() >= 16, "there is no such operator in opset {}", node.version());
  node.expectInputs(2, 2);
  std::string mode = node.stringAttr("mode", "linear");
  mode = mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode;
  node.set(0, node.emit("grid_sample", {node.in(0), node.in(1)},
                        {{"mode", mode},
                         {"padding_mode", node.stringAttr("padding_mode", "zeros")},
                         {"align_corners", node.intAttr("align_corners", 0) != 0}}));
}

void importRoiAlign(Node &node) {
  require(node.version() >= 10, "there is no such operator in opset {}", node.version());
  node.expectInputs(3, 3);
  std::string coordinates =
      node.version() < 16 ? "output_half_pixel" : node.stringAttr("coordinate_transformation_mode", "half_pixel");
  node.set(0, node.emit("roi_align", {node.in(0), node.in(1), node.in(2)},
                        {{"mode", node.stringAttr("mode", "avg")},
                         {"coordinate_mode", coordinates},
                         {"output_height", node.intAttr("output_height", 1)},
                         {"output_width", node.intAttr("output_width", 1)},
                         {"sampling_ratio", node.intAttr("sampling_ratio", 0)},
                         {"spatial_scale", node.floatAttr("spatial_scale", 1)}}));
}

void importMaxUnpool(Node &node) {
  node.expectInputs(2, 3);
  size_t spatial = static_cast<size_t>(std::max<int64_t>(node.rank(node.in(0)) - 2, 0));
  require(node.hasAttr("kernel_shape"), "has no kernel_shape");
  Fields fields = {{"kernel", node.intsAttr("kernel_shape")},
                   {"strides", node.intsAttr("strides", std::vector<int64_t>(spatial, 1))},
                   {"pads", node.intsAttr("pads", std::vector<int64_t>(2 * spatial, 0))}};
  mlir::Value shape = node.inOrNull(2);
  if (shape)
    if (auto known = node.staticInts(shape)) {
      fields.emplace_back("output_shape", *known);
      shape = {};
    }
  node.set(0, node.emit("max_unpool", {node.in(0), node.in(1), shape}, fields));
}

void importCol2Im(Node &node) {
  node.expectInputs(3, 3);
  Fields fields;
  mlir::Value image = node.in(1), block = node.in(2);
  size_t spatial = 0;
  for (auto [value, name] : {std::pair{&image, "image"}, std::pair{&block, "block"}})
    if (auto known = node.staticInts(*value)) {
      spatial = known->size();
      fields.emplace_back(name, *known);
      *value = {};
    }
  if (image || block)
    node.unsupported("the extents of image or block are computed at run time");
  fields.emplace_back("strides", node.intsAttr("strides", std::vector<int64_t>(spatial, 1)));
  fields.emplace_back("dilations", node.intsAttr("dilations", std::vector<int64_t>(spatial, 1)));
  fields.emplace_back("pads", node.intsAttr("pads", std::vector<int64_t>(2 * spatial, 0)));
  node.set(0, node.emit("col2im", {node.in(0), {}, {}}, fields));
}

} // namespace

void addIndexedHandlers(Handlers &table) {
  table["TopK"] = importTopK;
  table["CumSum"] = importRunning;
  table["CumProd"] = importRunning;
  table["GridSample"] = importGridSample;
  table["RoiAlign"] = importRoiAlign;
  table["MaxUnpool"] = importMaxUnpool;
  table["Col2Im"] = importCol2Im;
}

} // namespace lathe::onnx
