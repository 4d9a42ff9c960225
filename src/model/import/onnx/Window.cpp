// Operators with a sliding window: convolution and pooling.
#include "import/onnx/Onnx.h"
#include "ops/WindowPads.h"

namespace lathe::onnx {
namespace {

/// A window's parameters, one value a spatial axis (pads: two, or three as in ops/WindowPads.h).
struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads;
  bool ceilMode = false;
};

std::vector<int64_t> perAxis(Node &node, const char *attr, size_t count, int64_t least, int64_t fallback) {
  constexpr int64_t most = int64_t(1) << 31;
  auto values = node.intsAttr(attr);
  if (values.empty())
    return std::vector<int64_t>(count, fallback);
  require(values.size() == count, "{} has {} values, expected {}", attr, values.size(), count);
  for (int64_t value : values)
    require(value >= least && value < most, "{} has value {}, expected at least {} and less than 2^31", attr, value,
            least);
  return values;
}

/// The extents of the dilated kernel.
std::vector<int64_t> windowsOf(const Window &window) {
  std::vector<int64_t> windows;
  for (size_t i = 0; i < window.kernel.size(); ++i)
    windows.push_back((window.kernel[i] - 1) * window.dilations[i] + 1);
  return windows;
}

/// Reads the attributes; `kernel` is known already for convolutions.
Window readWindow(Node &node, const TensorInfo &x, std::vector<int64_t> kernel) {
  require(x.rank() >= 3, "x has rank {}, expected at least 3", x.rank());
  if (x.rank() > 5)
    node.unsupported(fmt::format("{} spatial axes, at most 3 are supported", x.rank() - 2));
  size_t count = x.rank() - 2;
  Window window;
  window.kernel = std::move(kernel);
  window.strides = perAxis(node, "strides", count, 1, 1);
  window.dilations = perAxis(node, "dilations", count, 1, 1);
  window.pads = perAxis(node, "pads", 2 * count, 0, 0);
  window.ceilMode = node.intAttr("ceil_mode", 0) != 0;
  std::string autoPad = node.stringAttr("auto_pad", "NOTSET");
  if (autoPad == "NOTSET" || autoPad.empty())
    return window;
  require(autoPad == "VALID" || autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER",
          "auto_pad is '{}', expected NOTSET, VALID, SAME_UPPER or SAME_LOWER", autoPad);
  window.ceilMode = false; // both forms state the output's extent themselves
  if (autoPad == "VALID")
    window.pads.assign(2 * count, 0);
  else
    window.pads = samePads(Dims(x.dims.begin() + 2, x.dims.end()), windowsOf(window), window.strides,
                           autoPad == "SAME_UPPER" ? sameUpper : sameLower);
  return window;
}

/// The kernel's extents, from w; kernel_shape must agree if it is given.
std::vector<int64_t> kernelOf(Node &node, const TensorInfo &w) {
  std::vector<int64_t> kernel;
  for (size_t i = 2; i < w.rank(); ++i) {
    if (!w.dims[i].isConstant())
      node.unsupported("the kernel's extents are not known");
    kernel.push_back(w.dims[i].constant());
  }
  auto stated = node.intsAttr("kernel_shape", kernel);
  require(stated == kernel, "kernel_shape is [{}], expected [{}] as w has it", fmt::join(stated, ", "),
          fmt::join(kernel, ", "));
  return kernel;
}

mlir::Value convolution(Node &node, const char *mnemonic, const Values &operands) {
  const TensorInfo x = node.info(operands.at(0)), w = node.info(operands.at(1));
  require(w.rank() == x.rank(), "x has rank {} and w rank {}, expected equal ranks", x.rank(), w.rank());
  require(w.rank() >= 3, "w has rank {}, expected at least 3", w.rank());
  std::vector<int64_t> kernel = kernelOf(node, w);
  Window window = readWindow(node, x, kernel);
  int64_t group = node.intAttr("group", 1);
  require(group > 0 && group < (int64_t(1) << 31), "group is {}, expected a positive number", group);
  return node.emit(
      mnemonic, operands,
      {{"strides", window.strides}, {"dilations", window.dilations}, {"pads", window.pads}, {"group", group}});
}

void importConv(Node &node) {
  node.expectInputs(2, 3);
  node.set(0, convolution(node, "conv", {node.in(0), node.in(1), node.inOrNull(2)}));
}

void importConvInteger(Node &node) {
  node.expectInputs(2, 4);
  node.set(0, emitConvInteger(node, node.in(0), node.in(1), node.inOrNull(2), node.inOrNull(3)));
}

/// Brings `full`, whose spatial extents only the run knows, to the spatial extents `wanted`: cuts off the excess at
/// both ends, and adds what is missing at the end.
mlir::Value cutTo(Node &node, mlir::Value full, const std::vector<int64_t> &wanted, bool upper) {
  auto count = static_cast<int64_t>(wanted.size());
  mlir::Value none = node.constantInts({}, {0}), extents = node.constantInts({count}, wanted);
  mlir::Value own = node.emit("shape", {full}, {{"start", 2}, {"end", 2 + count}});
  mlir::Value beyond = node.emit("max", {node.emit("sub", {own, extents}), none});
  mlir::Value front = node.emit("div", {beyond, node.constantInts({}, {2})});
  if (!upper)
    front = node.emit("sub", {beyond, front});
  mlir::Value others = node.constantInts({2}, {0, 0}), lack = node.emit("sub", {extents, own});
  mlir::Value pads = node.emit(
      "concat", {others, node.emit("sub", {none, front}), others, node.emit("add", {lack, front})}, {{"axis", 0}});
  mlir::Value result = node.emit("pad", {full, pads});
  Dims dims = node.info(full).dims;
  std::copy(wanted.begin(), wanted.end(), dims.begin() + 2);
  return node.reshape(result, dims);
}

/// `y` plus the third input (one element a channel), if the node has it.
mlir::Value withBias(Node &node, mlir::Value y) {
  if (!node.has(2))
    return y;
  Dims dims(node.info(y).rank() - 1, Dim(1));
  dims[0] = node.info(y).dims[1];
  return node.emit("add", {y, node.reshape(node.in(2), dims)});
}

/// ConvTranspose states its padding in four ways; all of them become explicit pads and output_padding.
void importConvTranspose(Node &node) {
  node.expectInputs(2, 3);
  const TensorInfo x = node.info(node.in(0)), w = node.info(node.in(1));
  require(w.rank() == x.rank(), "x has rank {} and w rank {}, expected equal ranks", x.rank(), w.rank());
  require(x.rank() >= 3, "x has rank {}, expected at least 3", x.rank());
  if (x.rank() > 5)
    node.unsupported(fmt::format("{} spatial axes, at most 3 are supported", x.rank() - 2));
  size_t count = x.rank() - 2;
  std::vector<int64_t> kernel = kernelOf(node, w);
  auto strides = perAxis(node, "strides", count, 1, 1), dilations = perAxis(node, "dilations", count, 1, 1);
  auto pads = perAxis(node, "pads", 2 * count, 0, 0), extra = perAxis(node, "output_padding", count, 0, 0);
  int64_t group = node.intAttr("group", 1);
  require(group > 0 && group < (int64_t(1) << 31), "group is {}, expected a positive number", group);
  std::string autoPad = node.stringAttr("auto_pad", "NOTSET");
  bool same = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER";
  require(same || autoPad == "VALID" || autoPad == "NOTSET" || autoPad.empty(),
          "auto_pad is '{}', expected NOTSET, VALID, SAME_UPPER or SAME_LOWER", autoPad);
  auto wanted = node.intsAttr("output_shape");
  require(wanted.empty() || wanted.size() == count || wanted.size() == count + 2,
          "output_shape has {} values, expected {}", wanted.size(), count);
  if (wanted.size() == count + 2) // PyTorch's first exporters included batch and channels
    wanted.erase(wanted.begin(), wanted.begin() + 2);
  for (int64_t extent : wanted)
    require(extent >= 0 && extent < int64_t(1) << 31, "output_shape has value {}", extent);
  if (autoPad == "VALID")
    pads.assign(2 * count, 0);
  if (!wanted.empty() && !allConstant(Dims(x.dims.begin() + 2, x.dims.end()))) {
    Fields fields = {{"strides", strides},
                     {"dilations", dilations},
                     {"pads", std::vector<int64_t>(2 * count, 0)},
                     {"output_padding", extra},
                     {"group", group}};
    mlir::Value full = node.emit("conv_transpose", {node.in(0), node.in(1), {}}, fields);
    return node.set(0, withBias(node, cutTo(node, full, wanted, autoPad == "SAME_UPPER")));
  }
  // Cuts off the excess of the full result at both ends; adds what is missing at the end.
  for (size_t i = 0; i < count && (same || !wanted.empty()); ++i) {
    int64_t total = (kernel[i] - 1) * dilations[i] + 1 + extra[i] - strides[i]; // beyond in * stride
    if (!wanted.empty())
      total += x.dims[2 + i].constant() * strides[i] - wanted[i];
    extra[i] += std::max<int64_t>(-total, 0);
    total = std::max<int64_t>(total, 0);
    pads[i] = autoPad == "SAME_UPPER" ? total / 2 : total - total / 2;
    pads[count + i] = total - pads[i];
  }
  node.set(0, node.emit("conv_transpose", {node.in(0), node.in(1), node.inOrNull(2)},
                        {{"strides", strides},
                         {"dilations", dilations},
                         {"pads", pads},
                         {"output_padding", extra},
                         {"group", group}}));
}

Fields poolFields(Node &node) {
  node.expectInputs(1, 1);
  const TensorInfo x = node.info(node.in(0));
  require(node.hasAttr("kernel_shape"), "has no kernel_shape");
  require(x.rank() >= 3, "x has rank {}, expected at least 3", x.rank());
  auto kernel = perAxis(node, "kernel_shape", x.rank() - 2, 1, 1);
  Window window = readWindow(node, x, kernel);
  return {{"kernel", window.kernel},
          {"strides", window.strides},
          {"pads", window.pads},
          {"dilations", window.dilations},
          {"ceil_mode", window.ceilMode}};
}

void importMaxPool(Node &node) {
  Fields fields = poolFields(node);
  bool columnMajor = node.intAttr("storage_order", 0) != 0; // concerns Indices only
  node.set(0, node.emit("max_pool", {node.in(0)}, fields));
  if (!node.wants(1))
    return;
  fields.emplace_back("column_major", columnMajor);
  node.set(1, node.emit("max_pool_indices", {node.in(0)}, fields));
}

void importAveragePool(Node &node) {
  Fields fields = poolFields(node);
  fields.emplace_back("count_include_pad", node.intAttr("count_include_pad", 0) != 0);
  node.set(0, node.emit("average_pool", {node.in(0)}, fields));
}

void importGlobalPool(Node &node) {
  node.expectInputs(1, 1);
  int64_t rank = node.rank(node.in(0));
  require(rank >= 2, "x has rank {}, expected at least 2", rank);
  std::vector<int64_t> axes;
  for (int64_t axis = 2; axis < rank; ++axis)
    axes.push_back(axis);
  // Without spatial axes there is nothing to reduce (an empty list would mean all axes).
  bool maximum = node.record.op == "GlobalMaxPool";
  node.set(0, axes.empty() ? node.in(0)
                           : node.emit(maximum ? "reduce_max" : "reduce_mean", {node.in(0)},
                                       {{"axes", axes}, {"keepdims", true}}));
}

} // namespace

mlir::Value emitConvInteger(Node &node, mlir::Value x, mlir::Value w, mlir::Value xZero, mlir::Value wZero) {
  return convolution(node, "conv_integer", {x, w, xZero, wZero});
}

Fields averagePoolFields(Node &node) { return poolFields(node); }

void padForCeil(const Dims &x, Fields &fields) {
  std::vector<int64_t> kernel, strides, dilations, *pads = nullptr;
  bool *ceil = nullptr;
  for (auto &[name, field] : fields) {
    if (name == "kernel")
      kernel = std::get<std::vector<int64_t>>(field.value);
    else if (name == "strides")
      strides = std::get<std::vector<int64_t>>(field.value);
    else if (name == "dilations")
      dilations = std::get<std::vector<int64_t>>(field.value);
    else if (name == "pads")
      pads = &std::get<std::vector<int64_t>>(field.value);
    else if (name == "ceil_mode")
      ceil = &std::get<bool>(field.value);
  }
  if (!*ceil)
    return;
  *ceil = false;
  for (size_t i = 0; i < kernel.size(); ++i) {
    if (!x[2 + i].isConstant())
      throw Unsupported{fmt::format("ceil_mode needs spatial extent '{}'; give it with --shape", x[2 + i].str())};
    int64_t window = (kernel[i] - 1) * dilations[i] + 1, begin = (*pads)[i], &end = (*pads)[kernel.size() + i];
    int64_t room = x[2 + i].constant() + begin + end - window;
    int64_t extra = ((strides[i] - room % strides[i]) % strides[i] + strides[i]) % strides[i];
    // A window that would start in the padding at the end does not count.
    if (room + extra >= 0 && room + extra < x[2 + i].constant() + begin)
      end += extra;
  }
}

void addWindowHandlers(Handlers &table) {
  table["Conv"] = importConv;
  table["ConvInteger"] = importConvInteger;
  table["ConvTranspose"] = importConvTranspose;
  table["MaxPool"] = importMaxPool;
  table["AveragePool"] = importAveragePool;
  table["GlobalAveragePool"] = importGlobalPool;
  table["GlobalMaxPool"] = importGlobalPool;
}

} // namespace lathe::onnx
