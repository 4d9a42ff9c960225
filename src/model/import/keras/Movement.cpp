// Layers that move elements: reshape, permute, repeat, crop, pad, enlarge.
#include "import/keras/Windows.h"

namespace lathe::keras {
namespace {

using Ints = std::vector<int64_t>;

void importFlatten(Layer &layer) {
  mlir::Value x = layer.raw(0);
  if (!layer.channelsLast() && layer.rank(x) > 2)
    x = channelsLast(layer.node, x);
  const Dims &dims = layer.dims(x);
  require(!dims.empty(), "the operand is a scalar");
  layer.set(layer.node.reshape(x, {dims[0], product(std::span(dims).subspan(1))}));
}

void importReshape(Layer &layer) {
  mlir::Value x = layer.raw(0);
  const Dims dims = layer.dims(x);
  require(!dims.empty(), "the operand is a scalar");
  const json &shape = member(layer.config, layer.has("target_shape") ? "target_shape" : "dims");
  require(shape.is_array(), "has no target_shape");
  Dims wanted = {dims[0]};
  Dim known = Dim(1);
  int64_t open = -1;
  for (const json &extent : shape) {
    int64_t value = extent.is_null() ? -1 : extent.get<int64_t>();
    if (value < 0) {
      require(open < 0, "target_shape leaves two extents open");
      open = static_cast<int64_t>(wanted.size());
    } else {
      known = known * Dim(value);
    }
    wanted.emplace_back(value);
  }
  if (open >= 0) {
    Dim whole = product(std::span(dims).subspan(1));
    if (!whole.isConstant() || known.constant() == 0) {
      Ints extents = {0}; // 0 stands for the batch
      for (size_t i = 1; i < wanted.size(); ++i)
        extents.push_back(wanted[i].constant());
      layer.set(layer.emit("reshape", {x}, {{"shape", extents}}));
      return;
    }
    require(whole.constant() % known.constant() == 0, "target_shape needs a multiple of {} elements, got {}",
            known.constant(), whole.constant());
    wanted[static_cast<size_t>(open)] = whole.constant() / known.constant();
  }
  layer.set(layer.node.reshape(x, wanted));
}

/// `dims` counts the axes behind the batch, from 1.
void importPermute(Layer &layer) {
  const json &dims = member(layer.config, "dims");
  require(dims.is_array(), "has no dims");
  Ints perm = {0};
  for (const json &axis : dims)
    perm.push_back(axis.get<int64_t>());
  layer.set(transpose(layer.node, layer.raw(0), perm));
}

/// Imports RepeatVector: B x F becomes B x n x F.
void importRepeatVector(Layer &layer) {
  mlir::Value x = layer.raw(0);
  require(layer.rank(x) == 2, "the operand has rank {}, expected 2", layer.rank(x));
  const Dims dims = layer.dims(x);
  mlir::Value row = layer.node.reshape(x, {dims[0], Dim(1), dims[1]});
  layer.set(layer.emit("tile", {row}, {{"repeats", Ints{1, layer.integer("n", 1), 1}}}));
}

/// Begins and ends for all spatial axes: one number, a number an axis, or a pair an axis. `swapped`: a single pair
/// means begin and end of the only axis.
Ints pairsOf(Layer &layer, const char *key, size_t count, int64_t fallback) {
  const json &value = member(layer.config, key);
  Ints result(2 * count, fallback);
  auto number = [&](const json &item) {
    require(item.is_number_integer() && item.get<int64_t>() >= 0, "'{}' has {} among its values", key, item.dump());
    return item.get<int64_t>();
  };
  if (value.is_number_integer()) {
    std::fill(result.begin(), result.end(), number(value));
  } else if (value.is_array() && count == 1 && value.size() == 2 && !value[0].is_array()) {
    result = {number(value[0]), number(value[1])};
  } else if (value.is_array()) {
    require(value.size() == count, "'{}' has {} values, expected {}", key, value.size(), count);
    for (size_t i = 0; i < count; ++i) {
      bool pair = value[i].is_array();
      require(!pair || value[i].size() == 2, "'{}' has {} values for an axis, expected 2", key, value[i].size());
      result[i] = number(pair ? value[i][0] : value[i]);
      result[count + i] = number(pair ? value[i][1] : value[i]);
    }
  }
  return result;
}

/// Expands pads of spatial axes to all axes.
Ints padsOf(Layer &layer, const Ints &spatial, size_t count) {
  Ints pads(2 * (count + 2), 0);
  size_t first = layer.channelsLast() ? 1 : 2;
  for (size_t i = 0; i < count; ++i) {
    pads[first + i] = spatial[i];
    pads[count + 2 + first + i] = spatial[count + i];
  }
  return pads;
}

template <size_t count> void importZeroPadding(Layer &layer) {
  mlir::Value x = layer.in();
  require(spatialRank(layer, x) == count, "the operand has {} spatial axes, expected {}", spatialRank(layer, x), count);
  layer.set(layer.emit("pad", {x}, {{"pads", padsOf(layer, pairsOf(layer, "padding", count, 1), count)}}));
}

template <size_t count> void importCropping(Layer &layer) {
  mlir::Value x = layer.in();
  require(spatialRank(layer, x) == count, "the operand has {} spatial axes, expected {}", spatialRank(layer, x), count);
  Ints pads = padsOf(layer, pairsOf(layer, "cropping", count, count == 1 ? 1 : 0), count);
  for (int64_t &pad : pads)
    pad = -pad;
  layer.set(layer.emit("pad", {x}, {{"pads", pads}}));
}

/// Repeats every element `size` times along each spatial axis, or interpolates.
template <size_t count> void importUpsampling(Layer &layer) {
  mlir::Value x = toChannelsFirst(layer, layer.in());
  require(spatialRank(layer, x) == count, "the operand has {} spatial axes, expected {}", spatialRank(layer, x), count);
  const char *key = layer.has("length") ? "length" : "size";
  Ints sizes = layer.integers(key, count, 2);
  std::vector<double> scales = {1, 1};
  for (int64_t size : sizes) {
    require(size >= 1, "'{}' is {}, expected at least 1", key, size);
    scales.push_back(static_cast<double>(size));
  }
  std::string mode = layer.text("interpolation", "nearest");
  Fields fields = {{"scales", scales}};
  if (mode == "nearest") {
    fields.insert(fields.end(), {{"mode", "nearest"}, {"coordinate_mode", "asymmetric"}, {"nearest_mode", "floor"}});
  } else if (mode == "bilinear") {
    fields.insert(fields.end(), {{"mode", "linear"}, {"coordinate_mode", "half_pixel"}});
  } else if (mode == "bicubic") {
    fields.insert(
        fields.end(),
        {{"mode", "cubic"}, {"coordinate_mode", "half_pixel"}, {"cubic_coeff_a", -0.5}, {"exclude_outside", true}});
  } else {
    layer.unsupported(fmt::format("interpolation '{}' is not supported", mode));
  }
  layer.set(fromChannelsFirst(layer, layer.emit("resize", {x}, fields)));
}

template <size_t count> void addMovementOfRank(Importers &table) {
  std::string rank = std::to_string(count) + "D";
  table["ZeroPadding" + rank] = {importZeroPadding<count>, "`pad`"};
  table["Cropping" + rank] = {importCropping<count>, "`pad` with negative pads"};
  table["UpSampling" + rank] = {importUpsampling<count>, "`resize`"};
}

} // namespace

void addMovementImporters(Importers &table) {
  table["Flatten"] = {importFlatten, "`reshape`"};
  table["Reshape"] = {importReshape, "`reshape`"};
  table["Permute"] = {importPermute, "`transpose`"};
  table["RepeatVector"] = {importRepeatVector, "`tile`"};
  addMovementOfRank<1>(table);
  addMovementOfRank<2>(table);
  addMovementOfRank<3>(table);
}

} // namespace lathe::keras
