// Preprocessing of numbers and of pictures. Layers on text (TextVectorization, StringLookup, Hashing) are not imported.
#include "import/keras/Numbers.h"
#include "import/keras/Windows.h"
#include "import/parts/Resample.h"

#include <algorithm>
#include <cstring>

namespace lathe::keras {

void collectNumbers(const json &value, std::vector<double> &result) {
  if (value.is_array()) {
    for (const json &item : value)
      collectNumbers(item, result);
    return;
  }
  require(value.is_number(), "a list of numbers has {} among its values", value.type_name());
  result.push_back(value.get<double>());
}

mlir::Value constantNumbers(Layer &layer, const Ints &dims, const std::vector<double> &values) {
  require(madeElements(dims, "a constant") == static_cast<int64_t>(values.size()), "{} numbers do not fill {}",
          values.size(), fmt::join(dims, "x"));
  TensorData data{ElementType::f64, dims, {}, {}};
  data.bytes.resize(values.size() * sizeof(double));
  std::memcpy(data.bytes.data(), values.data(), data.bytes.size());
  return layer.node.cast(layer.node.constant(data), layer.computeType());
}

mlir::Value constantNumbers(Layer &layer, const std::vector<double> &values) {
  return constantNumbers(layer, {static_cast<int64_t>(values.size())}, values);
}

mlir::Value asNumbers(Layer &layer) { return layer.node.cast(layer.raw(0), layer.computeType()); }

namespace {

/// The numbers of configuration member `key`: one number, or a list along the last axis.
mlir::Value numbersOf(Layer &layer, const char *key, double fallback) {
  const json &value = member(layer.config, key);
  if (!value.is_array() && !value.is_object())
    return layer.scalar(layer.number(key, fallback));
  std::vector<double> values;
  collectNumbers(value.is_object() ? member(member(value, "config"), "value") : value, values);
  return constantNumbers(layer, values);
}

void importRescaling(Layer &layer) {
  mlir::Value y = layer.emit("mul", {asNumbers(layer), numbersOf(layer, "scale", 1)});
  layer.set(layer.emit("add", {y, numbersOf(layer, "offset", 0)}));
}

/// (x - mean) / max(sqrt(variance), 1e-7), or its inverse. Mean and variance are in the configuration or are weights.
void importNormalization(Layer &layer) {
  mlir::Value x = asNumbers(layer);
  int64_t rank = layer.rank(x);
  Dims dims(static_cast<size_t>(rank), Dim(1));
  const json &axis = member(layer.config, "axis");
  Ints axes;
  if (axis.is_number_integer())
    axes = {axis.get<int64_t>()};
  else if (axis.is_array())
    axes = axis.get<Ints>();
  for (int64_t each : normalizeAxes(axes, rank, "axis"))
    dims[static_cast<size_t>(each)] = layer.dims(x)[static_cast<size_t>(each)];
  auto statistic = [&](const char *key, size_t weight) {
    mlir::Value value;
    if (layer.has(key))
      value = numbersOf(layer, key, 0);
    else
      value = layer.weight(weight);
    Dim count = product(layer.dims(value));
    if (layer.dims(value).empty() || count == Dim(1))
      return layer.node.reshape(value, {});
    Dims own = dims;
    for (Dim &extent : own)
      if (!extent.isConstant() && axes.size() == 1)
        extent = count; // there are as many channels as statistics
    return layer.node.reshape(value, own);
  };
  mlir::Value mean = statistic("mean", 0);
  mlir::Value deviation = layer.emit("max", {layer.emit("sqrt", {statistic("variance", 1)}), layer.scalar(1e-7)});
  if (layer.flag("invert", false))
    layer.set(layer.emit("add", {layer.emit("mul", {x, deviation}), mean}));
  else
    layer.set(layer.emit("div", {layer.emit("sub", {x, mean}), deviation}));
}

/// Crops an image (channels first) around its middle, or puts a border around it, so that height and width have the
/// ratio of the target.
mlir::Value inRatio(Layer &layer, mlir::Value x, int64_t height, int64_t width, bool crop) {
  int64_t own[2];
  for (size_t i = 0; i < 2; ++i) {
    const Dim &extent = layer.dims(x)[2 + i];
    if (!extent.isConstant())
      layer.unsupported(fmt::format("the spatial extent '{}' is not known; give it with --shape", extent.str()));
    own[i] = extent.constant();
  }
  for (int64_t extent : {own[0], own[1], height, width})
    require(extent > 0 && extent <= 1 << 24, "resizes {}x{} to {}x{}, expected extents from 1 to 2^24", own[0], own[1],
            height, width);
  // Divides in 32-bit floats, like Keras.
  auto scaled = [](int64_t extent, int64_t by, int64_t of) {
    return static_cast<int64_t>(static_cast<float>(extent * by) / static_cast<float>(of));
  };
  int64_t wanted[2] = {scaled(own[1], height, width), scaled(own[0], width, height)};
  Ints starts, ends, pads(8);
  for (size_t i = 0; i < 2; ++i) {
    int64_t kept = std::clamp<int64_t>(wanted[i], 1, own[i]);
    starts.push_back((own[i] - kept) / 2);
    ends.push_back(starts.back() + kept);
    pads[2 + i] = pads[6 + i] = (std::max(own[i], wanted[i]) - own[i]) / 2;
  }
  if (crop)
    return layer.emit("slice", {x}, {{"starts", starts}, {"ends", ends}, {"axes", Ints{2, 3}}});
  if (layer.text("fill_mode", "constant") != "constant")
    layer.unsupported(fmt::format("fill_mode '{}' is not supported", layer.text("fill_mode", "")));
  return layer.emit("pad", {x, {}, {}}, {{"pads", pads}, {"value", layer.number("fill_value", 0)}});
}

/// The kernel that TensorFlow resizes with, if `resize` has no mode for it: lanczos3 and so on, and bilinear and
/// bicubic with antialias; otherwise null.
const ResampleKernel *kernelFor(const std::string &mode, bool antialias) {
  if (mode == "lanczos3" || mode == "lanczos5" || mode == "gaussian" || mode == "mitchellcubic")
    return &resampleKernel(mode);
  if (antialias && (mode == "bilinear" || mode == "bicubic"))
    return &resampleKernel(mode == "bilinear" ? "triangle" : "keyscubic");
  return nullptr;
}

/// An image with the channels first, resized to `height` x `width`.
mlir::Value resizedTo(Layer &layer, mlir::Value x, int64_t height, int64_t width, const std::string &mode,
                      bool antialias) {
  require(height >= 1 && width >= 1 && height <= 1 << 24 && width <= 1 << 24,
          "resizes to {}x{}, expected extents from 1 to 2^24", height, width);
  Emitter emitter(layer.node);
  if (const ResampleKernel *kernel = kernelFor(mode, antialias)) {
    auto axis = [&](size_t at, int64_t target) {
      auto own = static_cast<double>(knownExtent(emitter, layer.dims(x)[at], "the image"));
      return Resampling{*kernel, static_cast<double>(target) / own, 0, antialias};
    };
    return resampled(emitter, x, height, width, axis(2, height), axis(3, width));
  }
  if (mode == "area")
    return areaMeans(emitter, x, height, width, false);
  Fields fields = {{"sizes", Ints{-1, -1, height, width}}};
  if (mode == "bilinear")
    fields.insert(fields.end(), {{"mode", "linear"}, {"coordinate_mode", "half_pixel"}});
  else if (mode == "nearest")
    fields.insert(fields.end(),
                  {{"mode", "nearest"}, {"coordinate_mode", "tf_half_pixel_for_nn"}, {"nearest_mode", "floor"}});
  else if (mode == "bicubic")
    fields.insert(
        fields.end(),
        {{"mode", "cubic"}, {"coordinate_mode", "half_pixel"}, {"cubic_coeff_a", -0.5}, {"exclude_outside", true}});
  else
    fail("interpolation is '{}', expected nearest, bilinear, bicubic, area, lanczos3, lanczos5, gaussian or "
         "mitchellcubic",
         mode);
  return layer.emit("resize", {x}, fields);
}

/// Applies `f` to images with the channels first and a batch; the result has the operand's layout.
template <class F> mlir::Value onImages(Layer &layer, F &&f) {
  mlir::Value x = asNumbers(layer);
  bool single = layer.rank(x) == 3; // an image without a batch
  const Dims given = layer.dims(x);
  if (single) {
    Dims dims = given;
    dims.insert(dims.begin(), Dim(1));
    x = layer.node.reshape(x, dims);
  }
  require(layer.rank(x) == 4, "the operand has rank {}, expected 3 or 4", given.size());
  mlir::Value y = fromChannelsFirst(layer, f(toChannelsFirst(layer, x)));
  if (!single)
    return y;
  return layer.node.reshape(y, Dims(layer.dims(y).begin() + 1, layer.dims(y).end()));
}

void importResizing(Layer &layer) {
  bool crop = layer.flag("crop_to_aspect_ratio", false), border = layer.flag("pad_to_aspect_ratio", false);
  require(!crop || !border, "has both crop_to_aspect_ratio and pad_to_aspect_ratio, expected one at most");
  int64_t height = layer.integer("height", 0), width = layer.integer("width", 0);
  layer.set(onImages(layer, [&](mlir::Value x) {
    if (crop || border)
      x = inRatio(layer, x, height, width, crop);
    return resizedTo(layer, x, height, width, layer.text("interpolation", "bilinear"), layer.flag("antialias", false));
  }));
}

/// Without random numbers: cuts out the largest part in the middle that has the ratio of the target, and resizes it.
/// Some releases of Keras 3 return the picture unchanged.
void importRandomCrop(Layer &layer) {
  int64_t height = layer.integer("height", 0), width = layer.integer("width", 0);
  layer.set(onImages(layer, [&](mlir::Value x) {
    if (layer.dims(x)[2] == Dim(height) && layer.dims(x)[3] == Dim(width))
      return x;
    if (layer.version() >= 3)
      layer.unsupported("releases of Keras 3 differ in what it does when nothing is trained");
    return resizedTo(layer, inRatio(layer, x, height, width, true), height, width, "bilinear", false);
  }));
}

/// Stretches every channel over the whole range, from its least and greatest value in each image.
void importAutoContrast(Layer &layer) {
  std::vector<double> range = {0, 255};
  if (layer.has("value_range")) {
    range.clear();
    collectNumbers(member(layer.config, "value_range"), range);
    std::sort(range.begin(), range.end());
  }
  require(range.size() == 2 && range[0] < range[1], "value_range has {} values, expected two that differ",
          range.size());
  mlir::Value given = asNumbers(layer);
  int64_t rank = layer.rank(given);
  require(rank == 3 || rank == 4, "the operand has rank {}, expected 3 or 4", rank);
  auto number = [&](double value) { return layer.scalar(value); };
  bool bytes = range[0] == 0 && range[1] == 255;
  mlir::Value x = given, extent = number(range[1] - range[0]);
  if (!bytes)
    x = layer.emit("mul", {layer.emit("div", {layer.emit("sub", {x, number(range[0])}), extent}), number(255)});
  Fields axes = {{"axes", Ints{rank - 3, rank - 2}}, {"keepdims", true}}; // the same axes for every data_format
  mlir::Value low = layer.emit("reduce_min", {x}, axes), high = layer.emit("reduce_max", {x}, axes);
  mlir::Value scale = layer.emit("div", {number(255), layer.emit("sub", {high, low})});
  mlir::Value offset = layer.emit("mul", {layer.emit("neg", {low}), scale});
  mlir::Value y = layer.emit("add", {layer.emit("mul", {x, scale}), offset});
  mlir::Value flat = layer.emit("is_nan", {y}); // a channel with a single value stays
  y = layer.emit("clip", {y, {}, {}}, {{"min", 0.0}, {"max", 255.0}});
  if (!bytes)
    y = layer.emit("add", {layer.emit("mul", {layer.emit("div", {y, number(255)}), extent}), number(range[0])});
  layer.set(layer.emit("where", {flat, given, y}));
}

/// Cuts out the middle of the image. A smaller image is an error: Keras would enlarge it.
void importCenterCrop(Layer &layer) {
  mlir::Value x = asNumbers(layer);
  int64_t rank = layer.rank(x), first = layer.channelsLast() ? rank - 3 : rank - 2;
  require(rank == 3 || rank == 4, "the operand has rank {}, expected 3 or 4", rank);
  Ints sizes = {layer.integer("height", 0), layer.integer("width", 0)}, starts, ends;
  for (size_t i = 0; i < 2; ++i) {
    const Dim &extent = layer.dims(x)[static_cast<size_t>(first) + i];
    if (!extent.isConstant())
      layer.unsupported(fmt::format("the spatial extent '{}' is not known; give it with --shape", extent.str()));
    int64_t rest = extent.constant() - sizes[i];
    if (rest < 0)
      layer.unsupported("an image that is smaller than what is cut out of it");
    starts.push_back(rest / 2);
    ends.push_back(rest / 2 + sizes[i]);
  }
  layer.set(layer.emit("slice", {x}, {{"starts", starts}, {"ends", ends}, {"axes", Ints{first, first + 1}}}));
}

} // namespace

void addPreprocessImporters(Importers &table) {
  table["Rescaling"] = {importRescaling, "`mul`, `add`"};
  table["Normalization"] = {importNormalization, "`sub`, `div`"};
  table["Resizing"] = {importResizing, "`resize`"};
  table["CenterCrop"] = {importCenterCrop, "`slice`"};
  table["AutoContrast"] = {importAutoContrast, "`reduce_min`, `reduce_max`, `mul`, `clip`"};
  table["RandomCrop"] = {importRandomCrop, "`slice`, `resize` (Keras 2)"};
}

} // namespace lathe::keras
