// Operators with a sliding window: convolutions and pools, with the channels last or first.
#include "import/tensorflow/TensorFlow.h"

namespace lathe::tensorflow {
namespace {

/// The positions of the spatial axes of an operand.
struct Spatial {
  bool last; // channels last
  size_t count;
  size_t first() const { return last ? 1 : 2; }
  size_t channels() const { return last ? count + 1 : 1; }
};

Spatial spatialOf(Operator &op, size_t count) {
  std::string given = op.node.stringAttr("data_format", count == 3 ? "NDHWC" : "NHWC");
  bool last = given == "NHWC" || given == "NDHWC";
  require(last || given == "NCHW" || given == "NCDHW", "data_format is '{}', expected NHWC or NCHW", oneLine(given));
  return {last, count};
}

/// The values of an attribute for the spatial axes; the values for batch and channels must be 1.
Ints spatialValues(const Spatial &spatial, const Ints &all, const char *attr) {
  if (all.empty())
    return Ints(spatial.count, 1);
  require(all.size() == spatial.count + 2, "{} has {} values, expected {}", attr, all.size(), spatial.count + 2);
  require(all[0] == 1 && all[spatial.channels()] == 1, "{} has {} and {} for batch and channels, expected 1", attr,
          all[0], all[spatial.channels()]);
  auto begin = all.begin() + static_cast<int64_t>(spatial.first());
  return {begin, begin + static_cast<int64_t>(spatial.count)};
}

/// Pads of attribute explicit_paddings: two for each axis of the operand.
Ints explicitPads(Operator &op, const Spatial &spatial) {
  Ints all = op.node.intsAttr("explicit_paddings");
  require(all.size() == 2 * (spatial.count + 2), "explicit_paddings has {} values, expected {}", all.size(),
          2 * (spatial.count + 2));
  for (int64_t pad : all)
    require(pad >= 0 && pad < int64_t(1) << 31, "explicit_paddings has {}, expected none below 0", pad);
  Ints pads(2 * spatial.count);
  for (size_t i = 0; i < spatial.count; ++i) {
    pads[i] = all[2 * (spatial.first() + i)];
    pads[spatial.count + i] = all[2 * (spatial.first() + i) + 1];
  }
  return pads;
}

/// The window with its pads, for operand `x`.
Window readWindow(Operator &op, const Spatial &spatial, mlir::Value x, Window window) {
  std::string padding = op.node.stringAttr("padding", "");
  require(padding == "SAME" || padding == "VALID" || padding == "EXPLICIT",
          "padding is '{}', expected SAME, VALID or EXPLICIT", oneLine(padding));
  window = padded(op.dims(x), spatial.first(), padding == "SAME", std::move(window));
  if (padding == "EXPLICIT")
    window.pads = explicitPads(op, spatial);
  else
    op.node.ignore({"explicit_paddings"});
  return window;
}

mlir::Value toChannelsFirst(Operator &op, const Spatial &spatial, mlir::Value x) {
  require(op.rank(x) == static_cast<int64_t>(spatial.count) + 2, "an operand has rank {}, expected {}", op.rank(x),
          spatial.count + 2);
  return spatial.last ? channelsFirst(op.node, x) : x;
}
mlir::Value fromChannelsFirst(Operator &op, const Spatial &spatial, mlir::Value y) {
  return spatial.last ? channelsLast(op.node, y) : y;
}

Ints kernelOf(Operator &op, mlir::Value w, size_t count) {
  require(op.rank(w) == static_cast<int64_t>(count) + 2, "the weights have rank {}, expected {}", op.rank(w),
          count + 2);
  Ints kernel;
  for (size_t i = 0; i < count; ++i)
    kernel.push_back(knownExtent(op, op.dims(w)[i], "the weights"));
  return kernel;
}

/// Turns weights of kernel x C/group x O into O x C/group x kernel.
mlir::Value weightsFirst(Operator &op, mlir::Value w, size_t count) {
  auto n = static_cast<int64_t>(count);
  Ints perm = {n + 1, n};
  for (int64_t i = 0; i < n; ++i)
    perm.push_back(i);
  return transpose(op.node, w, perm);
}

/// Turns weights of a depthwise convolution, kernel x C x M, into C*M x 1 x kernel.
mlir::Value depthwiseWeights(Operator &op, mlir::Value w) {
  const Dims dims = op.dims(w);
  w = transpose(op.node, w, {2, 3, 0, 1});
  return op.node.reshape(w, {dims[2] * dims[3], Dim(1), dims[0], dims[1]});
}

bool isDepthwise(const Operator &op) { return op.code().find("Depthwise") != std::string::npos; }

/// Emits a convolution. `window` has its pads already.
mlir::Value emitConvolution(Operator &op, const Spatial &spatial, mlir::Value x, mlir::Value w, const Window &window) {
  int64_t channels = knownExtent(op, op.dims(x)[spatial.channels()], "the channels");
  int64_t each = knownExtent(op, op.dims(w)[spatial.count], "the weights");
  Fields fields = window.fields();
  if (isDepthwise(op)) {
    require(each == channels, "the weights have {} channels, expected {}", each, channels);
    fields.emplace_back("group", channels);
    w = depthwiseWeights(op, w);
  } else {
    require(each > 0 && channels % each == 0, "the weights have {} input channels, expected a divisor of {}", each,
            channels);
    fields.emplace_back("group", channels / each);
    w = weightsFirst(op, w, spatial.count);
  }
  mlir::Value y = op.emit("conv", {toChannelsFirst(op, spatial, x), w, {}}, fields);
  return fromChannelsFirst(op, spatial, y);
}

void importConvolution(Operator &op) {
  Spatial spatial = spatialOf(op, op.code() == "Conv3D" ? 3 : 2);
  mlir::Value x = op.in(0), w = op.in(1);
  Window window{kernelOf(op, w, spatial.count),
                spatialValues(spatial, op.node.intsAttr("strides"), "strides"),
                spatialValues(spatial, op.node.intsAttr("dilations"), "dilations"),
                {}};
  op.set(emitConvolution(op, spatial, x, w, readWindow(op, spatial, x, std::move(window))));
}

/// A convolution between SpaceToBatchND and BatchToSpaceND (markDilations): operand, weights, block, pads, block,
/// crops. Pads minus crops may be known even if neither is known.
void importDilated(Operator &op) {
  Spatial spatial = spatialOf(op, 2);
  op.node.ignore({"strides", "padding", "explicit_paddings", "dilations"}); // 1, VALID and none: markDilations checks
  mlir::Value x = op.in(0), w = op.in(1);
  Ints block = op.node.requireInts(2, "the block");
  require(block == op.node.requireInts(4, "the block") && block.size() == spatial.count,
          "the blocks before and behind differ, or are not 2 extents");
  auto contents = [&](size_t index) {
    if (auto known = op.node.staticInts(op.in(index)))
      return toDims(*known);
    if (const auto &symbolic = op.node.info(op.in(index)).contents)
      return *symbolic;
    op.unsupported("the pads of the dilation are computed at run time; give the extents with --shape");
  };
  Dims pads = contents(3), crops = contents(5);
  require(pads.size() == 4 && crops.size() == 4, "has {} pads and {} crops, expected 4", pads.size(), crops.size());
  Window window{kernelOf(op, w, 2), {1, 1}, block, Ints(4)};
  for (size_t i = 0; i < 4; ++i) {
    Dim pad = pads[i] - crops[i];
    int64_t known = knownExtent(op, pad, "the dilation's pads");
    require(known >= 0, "crops {} elements more than it pads", -known);
    window.pads[(i % 2) * 2 + i / 2] = known;
  }
  op.set(emitConvolution(op, spatial, x, w, window));
}

/// Operands: extents of the result, weights (kernel x O x C, of the convolution whose gradient this is), x.
void importTransposed(Operator &op) {
  Spatial spatial = spatialOf(op, op.code().starts_with("Conv3D") ? 3 : 2);
  mlir::Value w = op.in(1), x = op.in(2);
  Dims sizes;
  if (auto known = op.node.staticInts(op.in(0)))
    sizes = toDims(*known);
  else if (const auto &symbolic = op.node.info(op.in(0)).contents)
    sizes = *symbolic;
  else
    op.unsupported("the extents of the result are computed at run time");
  require(sizes.size() == spatial.count + 2 && op.dims(x).size() == sizes.size(),
          "has {} extents and an operand of rank {}, expected {}", sizes.size(), op.rank(x), spatial.count + 2);
  Ints in, out;
  for (size_t i = 0; i < spatial.count; ++i) {
    in.push_back(knownExtent(op, op.dims(x)[spatial.first() + i], "the operand"));
    out.push_back(knownExtent(op, sizes[spatial.first() + i], "the result"));
  }
  Window window{kernelOf(op, w, spatial.count),
                spatialValues(spatial, op.node.intsAttr("strides"), "strides"),
                spatialValues(spatial, op.node.intsAttr("dilations"), "dilations"),
                {}};
  std::string padding = op.node.stringAttr("padding", "");
  Ints given = padding == "EXPLICIT" ? explicitPads(op, spatial) : Ints();
  op.node.ignore({"explicit_paddings"});
  require(padding == "SAME" || padding == "VALID" || !given.empty(), "padding is '{}', expected SAME or VALID",
          oneLine(padding));
  TransposedPads pads = transposedPads(in, out, window, padding == "SAME", given);
  window.pads = pads.pads;
  Fields fields = window.fields();
  fields.emplace_back("output_padding", pads.outputPadding);
  mlir::Value y =
      op.emit("conv_transpose", {toChannelsFirst(op, spatial, x), weightsFirst(op, w, spatial.count), {}}, fields);
  op.set(fromChannelsFirst(op, spatial, y));
}

void importPool(Operator &op) {
  bool operands = op.code() == "MaxPoolV2"; // kernel and strides are operands
  op.node.ignore({"include_batch_in_index"});
  Spatial spatial = spatialOf(op, op.code().ends_with("3D") ? 3 : 2);
  if (op.code() == "MaxPoolWithArgmax" && op.node.wants(1))
    op.unsupported("the positions of the maxima are used");
  Ints kernel = operands ? op.node.requireInts(1, "the kernel") : op.node.intsAttr("ksize");
  Ints strides = operands ? op.node.requireInts(2, "the strides") : op.node.intsAttr("strides");
  Window window{
      spatialValues(spatial, kernel, "ksize"), spatialValues(spatial, strides, "strides"), Ints(spatial.count, 1), {}};
  window = readWindow(op, spatial, op.in(0), std::move(window));
  Fields fields = window.fields();
  fields.emplace_back("kernel", window.kernel);
  mlir::Value y = op.emit(op.code().starts_with("Max") ? "max_pool" : "average_pool",
                          {toChannelsFirst(op, spatial, op.in(0))}, fields);
  op.set(fromChannelsFirst(op, spatial, y));
}

} // namespace

void addWindowImporters(Importers &table) {
  for (const char *name : {"Conv2D", "Conv3D", "DepthwiseConv2dNative"})
    table[name] = {importConvolution, 2};
  for (const char *name : {"SpaceToBatchND+Conv2D", "SpaceToBatchND+DepthwiseConv2dNative"})
    table[name] = {importDilated, 6};
  for (const char *name : {"Conv2DBackpropInput", "Conv3DBackpropInputV2"})
    table[name] = {importTransposed, 3};
  for (const char *name : {"AvgPool", "AvgPool3D", "MaxPool", "MaxPool3D", "MaxPoolWithArgmax"})
    table[name] = {importPool, 1};
  table["MaxPoolV2"] = {importPool, 3};
}

} // namespace lathe::tensorflow
