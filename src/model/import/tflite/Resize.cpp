// RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR.
#include "import/tflite/Tflite.h"

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;

/// The operand with channels first, resized to the height and width of operand 1.
mlir::Value resize(Operator &op, Fields fields) {
  op.node.expectInputs(2, 2);
  std::vector<int64_t> size = op.node.requireInts(1, "the size");
  require(size.size() == 2, "has {} sizes, expected 2", size.size());
  fields.emplace_back("sizes", std::vector<int64_t>{-1, -1, size[0], size[1]});
  return channelsLast(op.node, op.emit("resize", {channelsFirst(op.node, op.in(0)), {}, {}, {}}, fields));
}

void importBilinear(Operator &op) {
  const auto &options = op.options<file::ResizeBilinearOptions>(BuiltinOptions::ResizeBilinear);
  const char *coordinates = options.align_corners()        ? "align_corners"
                            : options.half_pixel_centers() ? "half_pixel"
                                                           : "asymmetric";
  op.set(resize(op, {{"mode", "linear"}, {"coordinate_mode", coordinates}}));
}

/// Positions are rounded down, but with align_corners to the nearest one.
void importNearest(Operator &op) {
  const auto &options = op.options<file::ResizeNearestOptions>(BuiltinOptions::ResizeNearestNeighbor);
  if (options.align_corners() && options.half_pixel_centers())
    op.unsupported("both align_corners and half_pixel_centers");
  const char *coordinates = options.align_corners()        ? "align_corners"
                            : options.half_pixel_centers() ? "tf_half_pixel_for_nn"
                                                           : "asymmetric";
  op.set(resize(op, {{"mode", "nearest"},
                     {"coordinate_mode", coordinates},
                     {"nearest_mode", options.align_corners() ? "round_prefer_ceil" : "floor"}}));
}

} // namespace

void addResizeImporters(Importers &table) {
  table[RESIZE_BILINEAR] = {importBilinear};
  table[RESIZE_NEAREST_NEIGHBOR] = {importNearest, /*moves=*/true};
}

} // namespace lathe::tflite
