// Convolutions. nn has channels first, Keras mostly last: importers put transposes around operators, and the passes
// cancel pairs of transposes between two operators. Kernels are spatial... x C x O in Keras, O x C x spatial... in nn.
#include "import/keras/Keras.h"
#include "import/keras/Windows.h"

namespace lathe::keras {

size_t spatialRank(Layer &layer, mlir::Value x) {
  int64_t rank = layer.rank(x);
  require(rank >= 3 && rank <= 5, "the operand has rank {}, expected 3 to 5", rank);
  return static_cast<size_t>(rank - 2);
}

mlir::Value toChannelsFirst(Layer &layer, mlir::Value x) {
  return layer.channelsLast() ? channelsFirst(layer.node, x) : x;
}

mlir::Value fromChannelsFirst(Layer &layer, mlir::Value y) {
  return layer.channelsLast() ? channelsLast(layer.node, y) : y;
}

void padWindow(Layer &layer, mlir::Value x, Window &window) {
  std::string padding = layer.text("padding", "valid");
  size_t count = window.kernel.size();
  checkWindow(window);
  window.pads.assign(2 * count, 0);
  Dims extents(layer.dims(x).begin() + 2, layer.dims(x).end());
  if (padding == "same")
    padSame(extents, window);
  else if (padding == "causal") // sees no later elements
    window.pads[0] = (window.kernel[0] - 1) * window.dilations[0];
  else
    require(padding == "valid", "padding is '{}', expected valid, same or causal", padding);
}

namespace {

using Ints = std::vector<int64_t>;

int64_t channelsOf(Layer &layer, mlir::Value x) {
  const Dim &channels = layer.dims(x).at(1);
  if (!channels.isConstant())
    layer.unsupported(fmt::format("the number of channels '{}' is not known", channels.str()));
  return channels.constant();
}

/// Extents of the kernel along the spatial axes, from the weights of the file.
Ints kernelOf(Layer &layer, mlir::Value w, size_t count) {
  const Dims &dims = layer.dims(w);
  require(dims.size() == count + 2, "the kernel has rank {}, expected {}", dims.size(), count + 2);
  return constants(std::span(dims).first(count));
}

Window windowOf(Layer &layer, mlir::Value w, size_t count) {
  return {
      kernelOf(layer, w, count), layer.integers("strides", count, 1), layer.integers("dilation_rate", count, 1), {}};
}

/// Moves the last two axes of spatial... x A x B to the front: A x B x spatial..., or B x A x spatial... if `swapped`.
mlir::Value kernelFirst(Layer &layer, mlir::Value w, bool swapped) {
  int64_t rank = layer.rank(w);
  Ints perm = swapped ? Ints{rank - 1, rank - 2} : Ints{rank - 2, rank - 1};
  for (int64_t axis = 0; axis + 2 < rank; ++axis)
    perm.push_back(axis);
  return transpose(layer.node, w, perm);
}

mlir::Value biasOf(Layer &layer, size_t kernels) {
  bool bias = layer.flag("use_bias", true);
  layer.expectWeights(kernels + bias);
  return bias ? layer.weight(kernels) : mlir::Value();
}

mlir::Value finished(Layer &layer, mlir::Value y) {
  return activate(layer, fromChannelsFirst(layer, y), member(layer.config, "activation"));
}

void importConvolution(Layer &layer) {
  mlir::Value x = layer.in(), bias = biasOf(layer, 1), w = layer.weight(0);
  size_t count = spatialRank(layer, x);
  x = toChannelsFirst(layer, x);
  Window window = windowOf(layer, w, count);
  padWindow(layer, x, window);
  Fields fields = window.fields();
  int64_t each = layer.dims(w)[count].constant(), channels = channelsOf(layer, x);
  require(each > 0 && channels % each == 0, "the kernel has {} input channels, expected a divisor of {}", each,
          channels);
  fields.emplace_back("group", channels / each);
  layer.set(finished(layer, layer.emit("conv", {x, kernelFirst(layer, w, true), bias}, fields)));
}

/// The kernel is spatial... x C x M: channel c gives the results c * M to c * M + M - 1; x has channels first.
mlir::Value depthwise(Layer &layer, mlir::Value x, mlir::Value w, mlir::Value bias) {
  size_t count = spatialRank(layer, x);
  Window window = windowOf(layer, w, count);
  padWindow(layer, x, window);
  int64_t channels = channelsOf(layer, x);
  Ints kernel = window.kernel;
  const Dims &dims = layer.dims(w);
  require(dims[count] == Dim(channels), "the kernel has {} channels, expected {}", dims[count].str(), channels);
  mlir::Value first = kernelFirst(layer, w, false); // C x M x spatial...
  Dims grouped = {Dim(channels) * dims[count + 1], Dim(1)};
  grouped.insert(grouped.end(), dims.begin(), dims.begin() + static_cast<int64_t>(count));
  Fields fields = window.fields();
  fields.emplace_back("group", channels);
  return layer.emit("conv", {x, layer.node.reshape(first, grouped), bias}, fields);
}

void importDepthwise(Layer &layer) {
  mlir::Value x = toChannelsFirst(layer, layer.in()), bias = biasOf(layer, 1);
  layer.set(finished(layer, depthwise(layer, x, layer.weight(0), bias)));
}

void importSeparable(Layer &layer) {
  mlir::Value x = toChannelsFirst(layer, layer.in()), bias = biasOf(layer, 2);
  mlir::Value inner = depthwise(layer, x, layer.weight(0), {});
  Ints ones(spatialRank(layer, x), 1);
  Window point{ones, ones, ones, Ints(2 * ones.size(), 0)};
  layer.set(
      finished(layer, layer.emit("conv", {inner, kernelFirst(layer, layer.weight(1), true), bias}, point.fields())));
}

/// Number of elements to cut off the full result of a transposed convolution along one axis. The full result has (in -
/// 1) * stride + extent elements, where `extent` is the extent of the dilated kernel. A negative number adds elements.
struct Cut {
  int64_t begin, end;
};

/// Without output_padding, "same" leaves in * stride elements and "valid" at least as many. With it, "same" leaves (in
/// - 1) * stride + extent % 2 + output_padding. (keras/src/backend/common/backend_utils.py.)
Cut transposedCut(bool same, int64_t extent, int64_t stride, std::optional<int64_t> outputPadding) {
  if (!same)
    return {0, -outputPadding.value_or(std::max<int64_t>(stride - extent, 0))};
  int64_t total = outputPadding ? extent - extent % 2 - *outputPadding : extent - stride;
  int64_t begin = std::max<int64_t>(total / 2, 0);
  return {begin, total - begin};
}

/// Weights are spatial... x O x C; nn has C x O x spatial....
void importTransposed(Layer &layer) {
  mlir::Value x = toChannelsFirst(layer, layer.in()), bias = biasOf(layer, 1), w = layer.weight(0);
  size_t count = spatialRank(layer, x);
  if (layer.integer("groups", 1) != 1)
    layer.unsupported("groups of a transposed convolution are not supported");
  Window window = windowOf(layer, w, count);
  checkWindow(window);
  std::string padding = layer.text("padding", "valid");
  require(padding == "valid" || padding == "same", "padding is '{}', expected valid or same", padding);
  const json &given = member(layer.config, "output_padding");
  Ints more(count, 0);
  window.pads.assign(2 * count, 0);
  for (size_t i = 0; i < count; ++i) {
    std::optional<int64_t> own;
    if (!given.is_null())
      own = layer.integers("output_padding", count, 0)[i];
    int64_t extent = (window.kernel[i] - 1) * window.dilations[i] + 1;
    Cut cut = transposedCut(padding == "same", extent, window.strides[i], own);
    window.pads[i] = cut.begin;
    window.pads[count + i] = std::max<int64_t>(cut.end, 0);
    more[i] = std::max<int64_t>(-cut.end, 0);
  }
  Fields fields = window.fields();
  fields.emplace_back("output_padding", more);
  layer.set(finished(layer, layer.emit("conv_transpose", {x, kernelFirst(layer, w, true), bias}, fields)));
}

/// A convolution with a different kernel at every position: positions x (taps, channels) x outputs. Windows become
/// rows, and every position has its own matrix product.
void importLocal(Layer &layer) {
  mlir::Value x = layer.in(), bias = biasOf(layer, 1), w = layer.weight(0);
  if (layer.integer("implementation", 1) != 1)
    layer.unsupported(fmt::format("implementation {}", layer.integer("implementation", 1)));
  size_t count = spatialRank(layer, x);
  Ints kernel = layer.integers("kernel_size", count, 1), strides = layer.integers("strides", count, 1);
  checkWindow({kernel, strides, Ints(count, 1), {}});
  if (!layer.channelsLast())
    x = channelsLast(layer.node, x);
  const Dims dims = layer.dims(x);
  Emitter emitter(layer.node);
  Dims out = {dims[0]};
  int64_t channels = knownExtent(emitter, dims.back(), "the channels"), taps = 1;
  Dim places = 1;
  Ints axes, spans;
  for (size_t i = 0; i < count; ++i) {
    int64_t extent = knownExtent(emitter, dims[1 + i], "the image");
    require(extent >= kernel[i], "the window has {} pixels, the image {}", kernel[i], extent);
    out.emplace_back((extent - kernel[i]) / strides[i] + 1);
    spans.push_back((extent - kernel[i]) / strides[i] * strides[i] + 1);
    axes.push_back(static_cast<int64_t>(i) + 1);
    places = places * out.back();
    taps *= kernel[i];
    require(taps <= 1024, "has {} taps, expected at most 1024", taps);
  }
  Values parts;
  for (int64_t tap = 0; tap < taps; ++tap) {
    Ints starts(count), ends(count);
    for (size_t i = count, rest = static_cast<size_t>(tap); i-- > 0; rest /= static_cast<size_t>(kernel[i])) {
      starts[i] = static_cast<int64_t>(rest) % kernel[i];
      ends[i] = starts[i] + spans[i];
    }
    parts.push_back(layer.emit("slice", {x}, {{"starts", starts}, {"ends", ends}, {"axes", axes}, {"steps", strides}}));
  }
  mlir::Value rows = parts.size() == 1 ? parts[0] : layer.emit("concat", parts, {{"axis", layer.rank(x) - 1}});
  const Dim columns = Dim(taps) * Dim(channels);
  rows = layer.node.reshape(rows, {dims[0], places, columns});
  const Dims &form = layer.dims(w);
  require(form.size() == 3 && form[0] == places && form[1] == columns, "the kernel is {}, expected {}x{}x(filters)",
          str(form), places.str(), columns.str());
  Dim filters = form[2];
  if (!layer.channelsLast()) { // its rows have the channels first
    w = layer.node.reshape(w, {places, Dim(channels), Dim(taps), filters});
    w = layer.node.reshape(transpose(layer.node, w, {0, 2, 1, 3}), {places, columns, filters});
  }
  mlir::Value y = layer.emit("matmul", {transpose(layer.node, rows, {1, 0, 2}), w}); // places x batch x filters
  out.push_back(filters);
  y = layer.node.reshape(transpose(layer.node, y, {1, 0, 2}), out);
  if (bias)
    y = layer.emit("add", {y, bias});
  y = layer.channelsLast() ? y : channelsFirst(layer.node, y);
  layer.set(activate(layer, y, member(layer.config, "activation")));
}

} // namespace

void addWindowImporters(Importers &table) {
  for (const char *name : {"Conv1D", "Conv2D", "Conv3D", "Convolution1D", "Convolution2D", "Convolution3D"})
    table[name] = {importConvolution, "`conv`"};
  for (const char *name : {"DepthwiseConv1D", "DepthwiseConv2D"})
    table[name] = {importDepthwise, "`conv` with groups"};
  for (const char *name : {"SeparableConv1D", "SeparableConv2D", "SeparableConvolution1D", "SeparableConvolution2D"})
    table[name] = {importSeparable, "`conv` with groups, `conv`"};
  for (const char *name : {"LocallyConnected1D", "LocallyConnected2D"})
    table[name] = {importLocal, "`slice`, `concat`, `matmul`"};
  for (const char *name : {"Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose", "Convolution1DTranspose",
                           "Convolution2DTranspose", "Convolution3DTranspose"})
    table[name] = {importTransposed, "`conv_transpose`"};
}

} // namespace lathe::keras
