// DeformConv: samples x at every tap of every output position, displaced by the offsets, and multiplies by the weights.
#include "import/onnx/Onnx.h"
#include "import/parts/Emitter.h"

namespace lathe::onnx {
namespace {

class DeformImport {
public:
  explicit DeformImport(Node &node) : node(node) {}

  void run() {
    require(node.version() >= 19, "there is no such operator in opset {}", node.version());
    node.expectInputs(3, 5);
    readShapes();
    mlir::Value taps = sampled();
    // groups x (channels of a group * taps) x positions
    taps = node.reshape(taps, {batch, Dim(group), Dim(channels / group * kernel[0] * kernel[1]), Dim(out[0] * out[1])});
    mlir::Value weights = node.reshape(
        node.in(1), {Dim(1), Dim(group), Dim(outputs / group), Dim(channels / group * kernel[0] * kernel[1])});
    mlir::Value y = node.reshape(node.emit("matmul", {weights, taps}), {batch, Dim(outputs), Dim(out[0]), Dim(out[1])});
    if (node.has(3))
      y = node.emit("add", {y, node.reshape(node.in(3), {Dim(1), Dim(outputs), Dim(1), Dim(1)})});
    node.set(0, y);
  }

private:
  Node &node;
  Dim batch;
  int64_t channels = 0, outputs = 0, group = 1, offsetGroup = 1;
  std::vector<int64_t> in, out, kernel, strides, dilations, pads; // two spatial axes

  std::vector<int64_t> values(const char *attr, size_t count, int64_t fallback, int64_t least) {
    auto given = node.intsAttr(attr, std::vector<int64_t>(count, fallback));
    require(given.size() == count, "{} has {} values, expected {}", attr, given.size(), count);
    for (int64_t value : given)
      require(value >= least && value < int64_t(1) << 31, "{} has value {}", attr, value);
    return given;
  }

  void readShapes() {
    const Dims x = node.info(node.in(0)).dims, w = node.info(node.in(1)).dims, offset = node.info(node.in(2)).dims;
    if (x.size() != 4)
      node.unsupported(fmt::format("{} spatial axes, only 2 are supported", x.size() - 2));
    require(w.size() == 4 && offset.size() == 4, "W is {} and offset {}, expected rank 4", str(w), str(offset));
    for (size_t i = 1; i < 4; ++i)
      if (!x[i].isConstant() || !w[i].isConstant() || !w[0].isConstant())
        node.unsupported(fmt::format("X is {} and W {}; give their extents with --shape", str(x), str(w)));
    batch = x[0];
    channels = x[1].constant();
    outputs = w[0].constant();
    in = {x[2].constant(), x[3].constant()};
    kernel = node.intsAttr("kernel_shape", {w[2].constant(), w[3].constant()});
    require(kernel == std::vector<int64_t>({w[2].constant(), w[3].constant()}), "kernel_shape is [{}] and W {}",
            fmt::join(kernel, ", "), str(w));
    strides = values("strides", 2, 1, 1);
    dilations = values("dilations", 2, 1, 1);
    pads = values("pads", 4, 0, 0);
    group = node.intAttr("group", 1);
    offsetGroup = node.intAttr("offset_group", 1);
    require(group > 0 && offsetGroup > 0 && channels % group == 0 && outputs % group == 0 &&
                channels % offsetGroup == 0,
            "{} channels, {} groups and {} offset groups do not fit", channels, group, offsetGroup);
    require(w[1].constant() == channels / group, "W is {}, expected {} channels", str(w), channels / group);
    for (size_t i = 0; i < 2; ++i) {
      int64_t room = in[i] + pads[i] + pads[2 + i] - (kernel[i] - 1) * dilations[i] - 1;
      require(room >= 0 && in[i] > 0, "the kernel does not fit into extent {}", in[i]);
      out.push_back(room / strides[i] + 1);
      require(mayAgree(offset[2 + i], out[i]), "offset is {}, expected {} x {} positions", str(offset), out[0],
              out.back());
    }
    require(mayAgree(offset[1], 2 * offsetGroup * kernel[0] * kernel[1]), "offset is {}, expected {} channels",
            str(offset), 2 * offsetGroup * kernel[0] * kernel[1]);
  }

  /// The position of every tap without its offset, for one spatial axis: taps x out x out.
  mlir::Value places(size_t axis) {
    std::vector<double> list;
    madeElements({kernel[0] * kernel[1], out[0], out[1]}, "the list of positions");
    for (int64_t tap = 0; tap < kernel[0] * kernel[1]; ++tap)
      for (int64_t point = 0; point < out[0] * out[1]; ++point) {
        int64_t taps[] = {tap / kernel[1], tap % kernel[1]}, points[] = {point / out[1], point % out[1]};
        list.push_back(static_cast<double>(points[axis] * strides[axis] - pads[axis] + taps[axis] * dilations[axis]));
      }
    TensorData data{ElementType::f64, {1, kernel[0] * kernel[1], out[0], out[1]}, {}, {}};
    data.bytes.assign(reinterpret_cast<const char *>(list.data()),
                      reinterpret_cast<const char *>(list.data() + list.size()));
    return node.cast(node.constant(data), node.info(node.in(0)).type);
  }

  /// Coordinates along one spatial axis in the convention of grid_sample: (2 p + 1) / extent - 1.
  mlir::Value coordinates(mlir::Value offsets, size_t axis) {
    ElementType type = node.info(node.in(0)).type;
    const Dims dims = node.info(offsets).dims; // batch * groups, taps, 2, out, out
    mlir::Value own = node.emit("slice", {offsets},
                                {{"starts", std::vector<int64_t>{static_cast<int64_t>(axis)}},
                                 {"ends", std::vector<int64_t>{static_cast<int64_t>(axis) + 1}},
                                 {"axes", std::vector<int64_t>{2}},
                                 {"steps", std::vector<int64_t>{1}}});
    mlir::Value p = node.emit("add", {node.reshape(own, {dims[0], dims[1], dims[3], dims[4]}), places(axis)});
    double scale = 2.0 / static_cast<double>(in[axis]);
    mlir::Value scaled = node.emit("mul", {p, node.constantScalar(type, scale)});
    mlir::Value shifted = node.emit("add", {scaled, node.constantScalar(type, scale / 2 - 1)});
    return node.reshape(shifted, {dims[0], dims[1] * dims[3], dims[4], 1});
  }

  /// Samples of x at every tap: batch x offset groups x channels of a group x taps x positions.
  mlir::Value sampled() {
    Dim taps = kernel[0] * kernel[1], groups = batch * Dim(offsetGroup), each = channels / offsetGroup;
    mlir::Value x = node.reshape(node.in(0), {groups, each, Dim(in[0]), Dim(in[1])});
    mlir::Value offsets = node.reshape(node.in(2), {groups, taps, Dim(2), Dim(out[0]), Dim(out[1])});
    mlir::Value vertical = coordinates(offsets, 0), horizontal = coordinates(offsets, 1);
    mlir::Value grid = node.emit("concat", {horizontal, vertical}, {{"axis", 3}}); // x first
    mlir::Value values = node.emit("grid_sample", {x, grid});
    Dim positions = out[0] * out[1];
    values = node.reshape(values, {groups, each, taps, positions});
    if (node.has(4))
      values = node.emit("mul", {values, node.reshape(node.in(4), {groups, Dim(1), taps, positions})});
    return values;
  }
};

void importDeformConv(Node &node) { DeformImport(node).run(); }

} // namespace

void addDeformHandlers(Handlers &table) { table["DeformConv"] = importDeformConv; }

} // namespace lathe::onnx
