// Pooling: sliding windows, whole axes, and adaptive windows.
#include "import/keras/Windows.h"

namespace lathe::keras {
namespace {

using Ints = std::vector<int64_t>;

void importPool(Layer &layer, const char *mnemonic, size_t count) {
  mlir::Value x = toChannelsFirst(layer, layer.in());
  require(spatialRank(layer, x) == count, "the operand has {} spatial axes, expected {}", spatialRank(layer, x), count);
  Window window;
  window.kernel = layer.integers(layer.has("pool_size") ? "pool_size" : "pool_length", count, 2);
  const char *strides = layer.has("strides") ? "strides" : "stride";
  window.strides = layer.has(strides) ? layer.integers(strides, count, 1) : window.kernel;
  window.dilations.assign(count, 1);
  padWindow(layer, x, window);
  Fields fields = window.fields();
  fields.emplace_back("kernel", window.kernel);
  layer.set(fromChannelsFirst(layer, layer.emit(mnemonic, {x}, fields)));
}

template <size_t count> void importMaxPool(Layer &layer) { importPool(layer, "max_pool", count); }
/// The divisor is the number of elements inside the operand.
template <size_t count> void importAveragePool(Layer &layer) { importPool(layer, "average_pool", count); }

Ints spatialAxes(Layer &layer, mlir::Value x, size_t count) {
  require(layer.rank(x) == static_cast<int64_t>(count + 2), "the operand has rank {}, expected {}", layer.rank(x),
          count + 2);
  Ints axes;
  for (size_t i = 0; i < count; ++i)
    axes.push_back(static_cast<int64_t>(i) + (layer.channelsLast() ? 1 : 2));
  return axes;
}

template <size_t count> void importGlobalMax(Layer &layer) {
  mlir::Value x = layer.in();
  layer.set(layer.emit("reduce_max", {x},
                       {{"axes", spatialAxes(layer, x, count)}, {"keepdims", layer.flag("keepdims", false)}}));
}

/// The mean of the steps that the mask keeps.
void importMaskedMean(Layer &layer, mlir::Value x, mlir::Value mask) {
  Ints axes = spatialAxes(layer, x, 1);
  Dims dims = layer.dims(mask);
  dims.insert(layer.channelsLast() ? dims.end() : dims.begin() + 1, Dim(1));
  mlir::Value weights = layer.node.cast(layer.node.reshape(mask, dims), layer.computeType());
  Fields along = {{"axes", axes}, {"keepdims", layer.flag("keepdims", false)}};
  mlir::Value sum = layer.emit("reduce_sum", {layer.emit("mul", {x, weights})}, along);
  layer.set(layer.emit("div", {sum, layer.emit("reduce_sum", {weights}, along)}));
}

template <size_t count> void importGlobalAverage(Layer &layer) {
  mlir::Value x = layer.in();
  if (count == 1 && layer.mask())
    return importMaskedMean(layer, x, layer.mask());
  layer.set(layer.emit("reduce_mean", {x},
                       {{"axes", spatialAxes(layer, x, count)}, {"keepdims", layer.flag("keepdims", false)}}));
}

/// Output position i covers [floor(i * in / out), ceil((i + 1) * in / out)) along every axis. Reduces one axis after
/// the other: a window is a rectangle, and its mean is the mean of the means of its rows.
void importAdaptive(Layer &layer, size_t count, bool average) {
  mlir::Value y = toChannelsFirst(layer, layer.in());
  Ints sizes = layer.integers("output_size", count, 1);
  for (size_t i = 0; i < count; ++i) {
    auto axis = static_cast<int64_t>(i) + 2;
    const Dim &extent = layer.dims(y).at(i + 2);
    if (!extent.isConstant())
      layer.unsupported(fmt::format("the spatial extent '{}' is not known; give it with --shape", extent.str()));
    int64_t in = extent.constant(), out = sizes[i];
    require(out >= 1 && out <= std::min<int64_t>(in, 4096), "output_size is {} on an axis of extent {}", out, in);
    Values parts;
    for (int64_t at = 0; at < out; ++at) {
      Ints start{at * in / out}, end{((at + 1) * in + out - 1) / out};
      mlir::Value part = layer.emit("slice", {y}, {{"starts", start}, {"ends", end}, {"axes", Ints{axis}}});
      parts.push_back(layer.emit(average ? "reduce_mean" : "reduce_max", {part}, {{"axes", Ints{axis}}}));
    }
    y = layer.emit("concat", parts, {{"axis", axis}});
  }
  layer.set(fromChannelsFirst(layer, y));
}

template <size_t count> void importAdaptiveMax(Layer &layer) { importAdaptive(layer, count, false); }
template <size_t count> void importAdaptiveAverage(Layer &layer) { importAdaptive(layer, count, true); }

template <size_t count> void addPoolsOfRank(Importers &table) {
  std::string rank = std::to_string(count) + "D";
  table["MaxPooling" + rank] = table["MaxPool" + rank] = {importMaxPool<count>, "`max_pool`"};
  table["AveragePooling" + rank] = table["AvgPool" + rank] = {importAveragePool<count>, "`average_pool`"};
  table["GlobalMaxPooling" + rank] = table["GlobalMaxPool" + rank] = {importGlobalMax<count>, "`reduce_max`"};
  table["GlobalAveragePooling" + rank] = table["GlobalAvgPool" + rank] = {
      importGlobalAverage<count>, "`reduce_mean`, with a mask sums", count == 1 ? MaskUse::reads : MaskUse::drops};
  table["AdaptiveMaxPooling" + rank] = {importAdaptiveMax<count>, "`slice`, `reduce_max`, `concat`"};
  table["AdaptiveAveragePooling" + rank] = {importAdaptiveAverage<count>, "`slice`, `reduce_mean`, `concat`"};
}

} // namespace

void addPoolImporters(Importers &table) {
  addPoolsOfRank<1>(table);
  addPoolsOfRank<2>(table);
  addPoolsOfRank<3>(table);
}

} // namespace lathe::keras
