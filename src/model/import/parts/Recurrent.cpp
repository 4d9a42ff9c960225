#include "import/parts/Recurrent.h"

namespace lathe::source {

mlir::Value withAxis(Node &node, mlir::Value value, size_t axis) {
  Dims dims = node.info(value).dims;
  dims.insert(dims.begin() + static_cast<int64_t>(axis), Dim(1));
  return node.reshape(value, dims);
}

mlir::Value withoutAxis(Node &node, mlir::Value value, size_t axis) {
  Dims dims = node.info(value).dims;
  dims.erase(dims.begin() + static_cast<int64_t>(axis));
  return node.reshape(value, dims);
}

mlir::Value stepOf(Node &node, mlir::Value x, size_t axis, int64_t t) {
  using Ints = std::vector<int64_t>;
  Fields fields = {{"starts", Ints{t}}, {"ends", Ints{t + 1}}, {"axes", Ints{static_cast<int64_t>(axis)}}};
  return withoutAxis(node, node.emit("slice", {x}, fields), axis);
}

Values unrolled(Node &node, mlir::Value x, size_t axis, bool reverse, const std::string &layer,
                const RecurrentStep &step) {
  constexpr int64_t most = 512;
  const Dim steps = node.info(x).dims.at(axis);
  int64_t count = steps.constantOr(0);
  if (count < 1 || count > most)
    node.unsupported(fmt::format("{} of '{}' steps is written out step by step, expected 1 to {}; give the number with "
                                 "--shape",
                                 layer, steps.str(), most));
  Values results(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    int64_t t = reverse ? count - 1 - i : i;
    results[static_cast<size_t>(t)] = withAxis(node, step(stepOf(node, x, axis, t), t), axis);
  }
  return results;
}

std::vector<int64_t> gateOrder(std::string_view gates) {
  std::vector<int64_t> order;
  for (char gate : std::string_view(gates.size() == 4 ? "iofc" : "zrh"))
    order.push_back(static_cast<int64_t>(gates.find(gate)));
  return order;
}

} // namespace lathe::source
