// Preprocessing that is arithmetic on numbers. Layers on text (TextVectorization, StringLookup, Hashing) are not imported.
#include "import/keras/Windows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace lathe::keras {
namespace {

using Ints = std::vector<int64_t>;

void collectNumbers(const json &value, std::vector<double> &result) {
  if (value.is_array()) {
    for (const json &item : value)
      collectNumbers(item, result);
    return;
  }
  require(value.is_number(), "a list of numbers has {} among its values", value.type_name());
  result.push_back(value.get<double>());
}

mlir::Value constantNumbers(Layer &layer, const std::vector<double> &values) {
  TensorData data{ElementType::f64, {static_cast<int64_t>(values.size())}, {}, {}};
  data.bytes.resize(values.size() * sizeof(double));
  std::memcpy(data.bytes.data(), values.data(), data.bytes.size());
  return layer.node.cast(layer.node.constant(data), layer.computeType());
}

/// A number, or numbers along the last axis.
mlir::Value numbersOf(Layer &layer, const char *key, double fallback) {
  const json &value = member(layer.config, key);
  if (!value.is_array() && !value.is_object())
    return layer.scalar(layer.number(key, fallback));
  std::vector<double> values;
  collectNumbers(value.is_object() ? member(member(value, "config"), "value") : value, values);
  return constantNumbers(layer, values);
}

/// Any operand as the compute type.
mlir::Value asNumbers(Layer &layer) { return layer.node.cast(layer.raw(0), layer.computeType()); }

void importRescaling(Layer &layer) {
  mlir::Value y = layer.emit("mul", {asNumbers(layer), numbersOf(layer, "scale", 1)});
  layer.set(layer.emit("add", {y, numbersOf(layer, "offset", 0)}));
}

/// (x - mean) / max(sqrt(variance), 1e-7), or its inverse. Mean and variance stand in the configuration or are weights.
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
    if (layer.dims(value).empty() || product(layer.dims(value)) == Dim(1))
      return layer.node.reshape(value, {});
    return layer.node.reshape(value, dims);
  };
  mlir::Value mean = statistic("mean", 0);
  mlir::Value deviation = layer.emit("max", {layer.emit("sqrt", {statistic("variance", 1)}), layer.scalar(1e-7)});
  if (layer.flag("invert", false))
    layer.set(layer.emit("add", {layer.emit("mul", {x, deviation}), mean}));
  else
    layer.set(layer.emit("div", {layer.emit("sub", {x, mean}), deviation}));
}

/// An image with the channels first, of which a middle part is kept, or around which a border is put, so that its height
/// and width are in the ratio of the target.
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
  // As floats of 32 bits, as Keras divides them.
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

void importResizing(Layer &layer) {
  if (layer.flag("antialias", false))
    layer.unsupported("antialias is not supported");
  bool crop = layer.flag("crop_to_aspect_ratio", false), border = layer.flag("pad_to_aspect_ratio", false);
  require(!crop || !border, "has both crop_to_aspect_ratio and pad_to_aspect_ratio, expected one at most");
  mlir::Value x = asNumbers(layer);
  bool single = layer.rank(x) == 3; // an image without a batch
  const Dims given = layer.dims(x);
  if (single) {
    Dims dims = given;
    dims.insert(dims.begin(), Dim(1));
    x = layer.node.reshape(x, dims);
  }
  x = toChannelsFirst(layer, x);
  require(layer.rank(x) == 4, "the operand has rank {}, expected 3 or 4", given.size());
  int64_t height = layer.integer("height", 0), width = layer.integer("width", 0);
  if (crop || border)
    x = inRatio(layer, x, height, width, crop);
  Fields fields = {{"sizes", Ints{-1, -1, height, width}}};
  std::string mode = layer.text("interpolation", "bilinear");
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
    layer.unsupported(fmt::format("interpolation '{}' is not supported", mode));
  mlir::Value y = fromChannelsFirst(layer, layer.emit("resize", {x}, fields));
  if (single) {
    Dims dims(layer.dims(y).begin() + 1, layer.dims(y).end());
    y = layer.node.reshape(y, dims);
  }
  layer.set(y);
}

/// The middle of the image. A smaller image is an error: Keras enlarges it.
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

/// A one for each category: of every element, or of all elements along the last axis together.
void setCategories(Layer &layer, mlir::Value x, const std::string &mode, int64_t tokens) {
  require(tokens >= 1 && tokens <= 1 << 24, "there are {} categories, expected 1 to 2^24", tokens);
  Dims dims = layer.dims(x);
  require(!dims.empty(), "the operand is a scalar");
  bool each = mode == "one_hot";
  bool appends = !each || dims.back() != Dim(1);
  Dims wide = dims;
  if (appends)
    wide.emplace_back(1);
  Ints numbers(static_cast<size_t>(tokens));
  std::iota(numbers.begin(), numbers.end(), 0);
  mlir::Value equal = layer.emit("equal", {layer.node.reshape(x, wide), layer.node.constantInts({tokens}, numbers)});
  mlir::Value ones = layer.node.cast(equal, layer.computeType());
  if (each) {
    layer.set(ones);
    return;
  }
  require(mode == "multi_hot" || mode == "binary" || mode == "count",
          "output_mode is '{}', expected one_hot, multi_hot or count", mode);
  require(dims.size() >= 2, "the operand has rank {}, expected at least 2", dims.size());
  if (layer.tensorCount() > 1) {
    require(mode == "count", "count_weights are given with output_mode '{}'", mode);
    ones = layer.emit("mul", {ones, layer.node.reshape(layer.node.cast(layer.raw(1), layer.computeType()), wide)});
  }
  layer.set(
      layer.emit(mode == "count" ? "reduce_sum" : "reduce_max", {ones}, {{"axes", Ints{-2}}, {"keepdims", false}}));
}

void importCategoryEncoding(Layer &layer) {
  setCategories(layer, layer.node.cast(layer.raw(0), ElementType::i64), layer.text("output_mode", "multi_hot"),
                layer.integer("num_tokens", layer.integer("max_tokens", 0)));
}

/// An option of IntegerLookup by its name, or by the one that it had before Keras 2.6.
const json &lookupOption(Layer &layer, const char *key, const char *old) {
  const json &value = member(layer.config, key);
  return value.is_null() ? member(layer.config, old) : value;
}

/// A number of a vocabulary, which may be written with a decimal point.
int64_t tokenOf(const json &value) {
  if (value.is_number_float()) {
    auto real = value.get<double>();
    require(real >= -0x1p63 && real < 0x1p63 && real == std::floor(real), "token {} is not an integer of 64 bits",
            real);
    return static_cast<int64_t>(real);
  }
  require(value.is_number_integer(), "a token is {}, expected a number", value.type_name());
  return value.get<int64_t>();
}

Ints vocabularyOf(Layer &layer, const Ints &special) {
  if (!layer.has("vocabulary"))
    layer.unsupported("a vocabulary that the layer has adapted to data is not in its configuration");
  const json &vocabulary = member(layer.config, "vocabulary");
  require(vocabulary.is_array(), "the vocabulary is {}, expected a list of numbers", vocabulary.type_name());
  Ints tokens;
  for (const json &value : vocabulary)
    tokens.push_back(tokenOf(value));
  if (tokens.size() >= special.size() && std::equal(special.begin(), special.end(), tokens.begin()))
    tokens.erase(tokens.begin(), tokens.begin() + static_cast<int64_t>(special.size()));
  require(!tokens.empty() && tokens.size() <= 1 << 20, "has {} tokens, expected 1 to 2^20", tokens.size());
  return tokens;
}

/// The place of every number in a vocabulary: behind the mask, which is 0, and the places of numbers that are not in it.
void importIntegerLookup(Layer &layer) {
  const json &mask = lookupOption(layer, "mask_token", "mask_value");
  const json &other = lookupOption(layer, "oov_token", "oov_value");
  std::string mode = layer.text("output_mode", "int");
  int64_t unknown = layer.integer("num_oov_indices", 1);
  if (mode != "int" && (!mask.is_null() || mode == "tf_idf"))
    layer.unsupported(fmt::format("output_mode '{}'{} is not supported", mode, mask.is_null() ? "" : " with a mask"));
  if (unknown < 1) // another number would be an error of the run
    layer.unsupported("num_oov_indices 0 is not supported");
  require(unknown <= 1 << 20, "num_oov_indices is {}, expected at most 2^20", unknown);
  Ints special;
  if (!mask.is_null())
    special.push_back(tokenOf(mask));
  special.insert(special.end(), static_cast<size_t>(unknown), other.is_null() ? -1 : tokenOf(other));
  Ints tokens = vocabularyOf(layer, special);
  auto first = static_cast<int64_t>(special.size()), count = static_cast<int64_t>(tokens.size());
  mlir::Value x = layer.node.cast(layer.raw(0), ElementType::i64);
  if (layer.flag("invert", false)) {
    tokens.insert(tokens.begin(), special.begin(), special.end());
    layer.set(layer.emit("gather", {layer.node.constantInts({first + count}, tokens), x}, {{"axis", 0}}));
    return;
  }
  Dims wide = layer.dims(x);
  wide.emplace_back(1);
  Ints places(tokens.size());
  std::iota(places.begin(), places.end(), first);
  mlir::Value equal = layer.emit("equal", {layer.node.reshape(x, wide), layer.node.constantInts({count}, tokens)});
  mlir::Value found =
      layer.emit("mul", {layer.node.cast(equal, ElementType::i64), layer.node.constantInts({count}, places)});
  found = layer.emit("reduce_sum", {found}, {{"axes", Ints{-1}}, {"keepdims", false}});
  auto number = [&](int64_t value) { return layer.node.constantInts({}, {value}); };
  mlir::Value elsewhere = number(first - unknown);
  if (unknown > 1) {
    Emitter emitter(layer.node);
    elsewhere = layer.emit("add", {floorMod(emitter, x, number(unknown)), elsewhere});
  }
  found = layer.emit("where", {layer.emit("greater", {found, number(0)}), found, elsewhere});
  if (!mask.is_null())
    found = layer.emit("where", {layer.emit("equal", {x, number(special[0])}), number(0), found});
  if (mode == "int")
    layer.set(found);
  else
    setCategories(layer, found, mode,
                  layer.flag("pad_to_max_tokens", false) ? layer.integer("max_tokens", 0) : first + count);
}

/// The number of boundaries that are not above the element.
void importDiscretization(Layer &layer) {
  if (layer.text("output_mode", "int") != "int")
    layer.unsupported(fmt::format("output_mode '{}' is not supported", layer.text("output_mode", "")));
  std::vector<double> boundaries;
  if (!layer.has("bin_boundaries"))
    layer.unsupported("boundaries that the layer has adapted to data are not in the file");
  collectNumbers(member(layer.config, "bin_boundaries"), boundaries);
  mlir::Value x = asNumbers(layer);
  Dims wide = layer.dims(x);
  wide.emplace_back(1);
  mlir::Value reached = layer.emit("greater_equal", {layer.node.reshape(x, wide), constantNumbers(layer, boundaries)});
  mlir::Value count =
      layer.emit("reduce_sum", {layer.node.cast(reached, ElementType::i32)}, {{"axes", Ints{-1}}, {"keepdims", false}});
  layer.set(layer.version() >= 3 ? count : layer.node.cast(count, ElementType::i64));
}

} // namespace

void addPreprocessImporters(Importers &table) {
  table["Rescaling"] = {importRescaling, "`mul`, `add`"};
  table["Normalization"] = {importNormalization, "`sub`, `div`"};
  table["Resizing"] = {importResizing, "`resize`"};
  table["CenterCrop"] = {importCenterCrop, "`slice`"};
  table["CategoryEncoding"] = {importCategoryEncoding, "`equal`, `cast`, `reduce_max` or `reduce_sum`"};
  table["IntegerLookup"] = {importIntegerLookup, "`equal`, `mul`, `reduce_sum`"};
  table["Discretization"] = {importDiscretization, "`greater_equal`, `reduce_sum`"};
}

} // namespace lathe::keras
