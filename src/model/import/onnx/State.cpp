// Operators with a result that is the state of the next run: caches of keys and values, causal convolution.
#include "import/onnx/Onnx.h"

#include <limits>

namespace lathe::onnx {
namespace {

/// Writes `update` into the cache, for each row of the batch from position write_indices on. "circular" continues at
/// the start.
void importTensorScatter(Node &node) {
  require(node.version() >= 24, "there is no such operator in opset {}", node.version());
  node.expectInputs(2, 3);
  mlir::Value cache = node.in(0), update = node.in(1);
  const Dims dims = node.info(cache).dims, written = node.info(update).dims;
  int64_t rank = node.rank(cache), axis = normalizeAxis(node.intAttr("axis", -2), rank, "axis");
  std::string mode = node.stringAttr("mode", "linear");
  require(mode == "linear" || mode == "circular", "mode is '{}', expected linear or circular", mode);
  require(axis > 0, "axis is the batch's");
  require(written.size() == dims.size(), "update is {} and the cache {}, expected equal ranks", str(written),
          str(dims));
  for (size_t i = 0; i < dims.size(); ++i)
    require(static_cast<int64_t>(i) == axis || mayAgree(dims[i], written[i]),
            "update is {} and the cache {}, expected equal extents but along axis {}", str(written), str(dims), axis);
  Dims along(dims.size(), Dim(1));
  along[static_cast<size_t>(axis)] = written[static_cast<size_t>(axis)];
  mlir::Value index = node.reshape(countTo(node, extentOf(node, update, axis)), along);
  if (node.has(2)) {
    Dims rows(dims.size(), Dim(1));
    rows[0] = node.info(node.in(2)).dims.at(0);
    index = node.emit("add", {index, node.reshape(node.cast(node.in(2), ElementType::i64), rows)});
  }
  if (mode == "circular")
    index = node.emit("mod", {index, extentOf(node, cache, axis)});
  index = node.expand(index, written, update);
  node.set(0, node.emit("scatter_elements", {cache, index, update}, {{"axis", axis}}));
}

/// A depthwise convolution over the past and the new positions. The last positions are the past of the next run.
void importCausalConv(Node &node) {
  require(node.version() >= 27, "there is no such operator in opset {}", node.version());
  node.expectInputs(2, 4);
  mlir::Value x = node.in(0), weight = node.in(1);
  const Dims dims = node.info(x).dims, kernel = node.info(weight).dims;
  require(dims.size() == 3 && kernel.size() == 3, "input is {} and weight {}, expected rank 3", str(dims), str(kernel));
  if (!kernel[2].isConstant() || !kernel[0].isConstant())
    node.unsupported(fmt::format("the extents {} of the weight are not static", str(kernel)));
  int64_t past = kernel[2].constant() - 1;
  require(past >= 0, "weight is {}, expected a kernel of at least one position", str(kernel));
  if (node.has(3)) {
    const Dims &state = node.info(node.in(3)).dims;
    require(state.size() == 3 && mayAgree(state[2], past), "past_state is {}, expected {} positions", str(state), past);
    x = node.emit("concat", {node.in(3), x}, {{"axis", 2}});
  } else if (past > 0) {
    x = node.emit("pad", {x}, {{"pads", std::vector<int64_t>{0, 0, past, 0, 0, 0}}});
  }
  std::vector<int64_t> one{1};
  mlir::Value y = node.emit(
      "conv", {x, weight, node.inOrNull(2)},
      {{"strides", one}, {"dilations", one}, {"pads", std::vector<int64_t>{0, 0}}, {"group", kernel[0].constant()}});
  std::string activation = node.stringAttr("activation", "none");
  require(activation == "none" || activation == "silu" || activation == "swish",
          "activation is '{}', expected none, silu or swish", activation);
  node.set(0, activation == "none" ? y : node.emit("swish", {y}));
  if (!node.wants(1))
    return;
  constexpr int64_t end = std::numeric_limits<int64_t>::max();
  node.set(1, node.emit("slice", {x},
                        {{"starts", std::vector<int64_t>{past ? -past : end}},
                         {"ends", std::vector<int64_t>{end}},
                         {"axes", std::vector<int64_t>{2}},
                         {"steps", one}}));
}

} // namespace

void addStateHandlers(Handlers &table) {
  table["TensorScatter"] = importTensorScatter;
  table["CausalConvWithState"] = importCausalConv;
}

} // namespace lathe::onnx
