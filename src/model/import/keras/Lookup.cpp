// Numbers as categories: vocabularies, ranges, and encodings of categories.
#include "import/keras/Numbers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lathe::keras {
namespace {

using Ints = std::vector<int64_t>;

/// Encodes categories as ones: of every element, or of all elements along the last axis together. A number below 0
/// belongs to no category.
mlir::Value categories(Layer &layer, mlir::Value x, const std::string &mode, int64_t tokens) {
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
  if (each)
    return ones;
  require(mode == "multi_hot" || mode == "binary" || mode == "count",
          "output_mode is '{}', expected one_hot, multi_hot or count", mode);
  require(dims.size() >= 2, "the operand has rank {}, expected at least 2", dims.size());
  if (layer.tensorCount() > 1) {
    require(mode == "count", "count_weights are given with output_mode '{}'", mode);
    ones = layer.emit("mul", {ones, layer.node.reshape(layer.node.cast(layer.raw(1), layer.computeType()), wide)});
  }
  return layer.emit(mode == "count" ? "reduce_sum" : "reduce_max", {ones}, {{"axes", Ints{-2}}, {"keepdims", false}});
}

void importCategoryEncoding(Layer &layer) {
  if (layer.flag("sparse", false))
    layer.unsupported("results that are sparse tensors are not supported");
  layer.set(categories(layer, layer.node.cast(layer.raw(0), ElementType::i64), layer.text("output_mode", "multi_hot"),
                       layer.integer("num_tokens", layer.integer("max_tokens", 0))));
}

// ---- IntegerLookup ------------------------------------------------------------------------------------------------

/// An option of IntegerLookup by its name, or by its name before Keras 2.6.
const json &lookupOption(Layer &layer, const char *key, const char *old) {
  const json &value = member(layer.config, key);
  return value.is_null() ? member(layer.config, old) : value;
}

/// A number of a vocabulary; the file may write it with a decimal point.
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

class Lookup {
public:
  explicit Lookup(Layer &layer) : layer(layer), mode(layer.text("output_mode", "int")) {
    if (mode == "binary")
      mode = "multi_hot";
    if (mode == "tf-idf")
      mode = "tf_idf";
    const json &maskToken = lookupOption(layer, "mask_token", "mask_value");
    const json &otherToken = lookupOption(layer, "oov_token", "oov_value");
    others = layer.integer("num_oov_indices", 1);
    require(others >= 0 && others <= 1 << 20, "num_oov_indices is {}, expected 0 to 2^20", others);
    if (others > 1 && layer.text("oov_method", "floormod") != "floormod")
      layer.unsupported("oov_method '" + layer.text("oov_method", "") + "' is a hash of a text");
    if (layer.flag("sparse", false))
      layer.unsupported("results that are sparse tensors are not supported");
    if (!maskToken.is_null())
      mask = tokenOf(maskToken);
    other = otherToken.is_null() ? -1 : tokenOf(otherToken);
    if (mask && mode == "int") // in other modes masked numbers are dropped
      special.push_back(*mask);
    special.insert(special.end(), static_cast<size_t>(others), other);
    readVocabulary();
  }

  void run() {
    mlir::Value x = layer.node.cast(layer.raw(0), ElementType::i64);
    if (layer.flag("invert", false)) {
      require(mode == "int", "output_mode is '{}' with invert, expected int", mode);
      return layer.set(tokensAt(x));
    }
    mlir::Value found = placesOf(x);
    if (mode == "int")
      return layer.set(found);
    int64_t count = size();
    if (layer.flag("pad_to_max_tokens", false))
      count = layer.integer("max_tokens", 0);
    require(count >= size(), "max_tokens is {}, expected at least the {} of the vocabulary", count, size());
    bool weighs = mode == "tf_idf";
    mlir::Value y = categories(layer, found, weighs ? "count" : mode, count);
    layer.set(weighs ? layer.emit("mul", {y, frequencies(count)}) : y);
  }

private:
  Layer &layer;
  std::string mode;
  std::optional<int64_t> mask;
  int64_t others = 1, other = -1; // indices for unknown numbers, and the token that stands for them
  Ints special, tokens;           // tokens before the vocabulary, and the vocabulary
  bool hadSpecial = false;        // the vocabulary of the file begins with them

  int64_t size() const { return static_cast<int64_t>(special.size() + tokens.size()); }
  mlir::Value number(int64_t value) { return layer.node.constantInts({}, {value}); }

  void readVocabulary() {
    if (!layer.has("vocabulary"))
      layer.unsupported("a vocabulary that the layer has adapted to data is neither in its configuration nor in the "
                        "assets of the file");
    const json &vocabulary = member(layer.config, "vocabulary");
    require(vocabulary.is_array(), "the vocabulary is {}, expected a list of numbers", vocabulary.type_name());
    for (const json &value : vocabulary)
      tokens.push_back(tokenOf(value));
    hadSpecial = !special.empty() && tokens.size() >= special.size() &&
                 std::equal(special.begin(), special.end(), tokens.begin());
    if (hadSpecial)
      tokens.erase(tokens.begin(), tokens.begin() + static_cast<int64_t>(special.size()));
    require(!tokens.empty() && tokens.size() <= 1 << 20, "has {} tokens, expected 1 to 2^20", tokens.size());
    Ints sorted = tokens;
    std::sort(sorted.begin(), sorted.end());
    auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    require(twice == sorted.end(), "the vocabulary has the token {} twice, expected it once",
            twice == sorted.end() ? 0 : *twice);
  }

  /// The token at every index; the token for unknown numbers if the index does not exist.
  mlir::Value tokensAt(mlir::Value x) {
    Ints all = special;
    all.insert(all.end(), tokens.begin(), tokens.end());
    all.push_back(other);
    mlir::Value end = number(size());
    mlir::Value none = layer.emit("or", {layer.emit("less", {x, number(0)}), layer.emit("greater_equal", {x, end})});
    mlir::Value places = layer.emit("where", {none, end, x});
    return layer.emit("gather", {layer.node.constantInts({size() + 1}, all), places}, {{"axis", 0}});
  }

  /// The index of every number: after the indices of the mask and of unknown numbers.
  mlir::Value placesOf(mlir::Value x) {
    Dims wide = layer.dims(x);
    wide.emplace_back(1);
    auto first = static_cast<int64_t>(special.size()), count = static_cast<int64_t>(tokens.size());
    Ints places(tokens.size()); // starts at 1: 0 means that a number was not found
    std::iota(places.begin(), places.end(), first + 1);
    mlir::Value equal = layer.emit("equal", {layer.node.reshape(x, wide), layer.node.constantInts({count}, tokens)});
    mlir::Value found =
        layer.emit("mul", {layer.node.cast(equal, ElementType::i64), layer.node.constantInts({count}, places)});
    found = layer.emit("reduce_sum", {found}, {{"axes", Ints{-1}}, {"keepdims", false}});
    mlir::Value known = layer.emit("greater", {found, number(0)}), isMask;
    found = layer.emit("sub", {found, number(1)});
    if (mask)
      isMask = layer.emit("equal", {x, number(*mask)});
    if (others == 0)
      found = checked(layer.emit("where", {known, found, number(size())}), isMask);
    else
      found = layer.emit("where", {known, found, elsewhere(x, first)});
    if (mask) // the first index, or none
      found = layer.emit("where", {isMask, number(mode == "int" ? 0 : -1), found});
    return found;
  }

  mlir::Value elsewhere(mlir::Value x, int64_t first) {
    if (others == 1)
      return number(first - 1);
    Emitter emitter(layer.node);
    return layer.emit("add", {floorMod(emitter, x, number(others)), number(first - others)});
  }

  /// Looks the indices up in a list of all valid indices: an index that is not in the list is an error of the run.
  mlir::Value checked(mlir::Value places, mlir::Value isMask) {
    if (isMask)
      places = layer.emit("where", {isMask, number(0), places});
    Ints all(static_cast<size_t>(size()));
    std::iota(all.begin(), all.end(), 0);
    return layer.emit("gather", {layer.node.constantInts({size()}, all), places}, {{"axis", 0}});
  }

  /// The weight of every index, from the file or the configuration. Indices before the vocabulary get the mean of the
  /// weights, indices after it 0.
  mlir::Value frequencies(int64_t count) {
    if (!layer.has("idf_weights")) {
      mlir::Value weights = layer.weight(0);
      require(layer.dims(weights) == Dims{Dim(count)}, "has weights of the extents {}, expected {}",
              str(layer.dims(weights)), count);
      return weights;
    }
    std::vector<double> weights;
    collectNumbers(member(layer.config, "idf_weights"), weights);
    size_t expected = tokens.size() + (hadSpecial ? special.size() : 0);
    require(weights.size() == expected, "has {} idf_weights, expected {}", weights.size(), expected);
    if (!hadSpecial) {
      double mean = std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
      weights.insert(weights.begin(), special.size(), mean);
    }
    weights.resize(static_cast<size_t>(madeElements({count}, "the weights")), 0);
    return constantNumbers(layer, weights);
  }
};

void importIntegerLookup(Layer &layer) { Lookup(layer).run(); }

// ---- Discretization -----------------------------------------------------------------------------------------------

/// Interpolates linearly between the points (share, value) at `at`; `share` rises.
double interpolated(double at, const std::vector<double> &share, const std::vector<double> &values) {
  auto above = static_cast<size_t>(std::lower_bound(share.begin(), share.end(), at) - share.begin());
  if (above == 0 || above == share.size())
    return above ? values.back() : values.front();
  double width = share[above] - share[above - 1];
  double part = width > 0 ? (at - share[above - 1]) / width : 1;
  return values[above - 1] + part * (values[above] - values[above - 1]);
}

/// The boundaries of `bins` ranges with equal numbers of the elements that the layer was adapted to. The layer's weight
/// holds rising values, and how many elements each value stands for.
std::vector<double> adaptedBoundaries(Layer &layer, int64_t bins) {
  const Tensor *summary = layer.weightCount() == 1 ? layer.node.graph.known.contents(layer.weight(0)) : nullptr;
  if (!summary || summary->dims().size() != 2 || summary->dims()[0] != 2 || summary->dims()[1] < 1)
    layer.unsupported("boundaries that the layer has adapted to data are not in the file");
  require(bins >= 1 && bins <= 1 << 20, "num_bins is {}, expected 1 to 2^20", bins);
  int64_t count = summary->dims()[1];
  std::vector<double> values, share;
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(summary->asDouble(i));
    sum += static_cast<float>(summary->asDouble(count + i));
    share.push_back(sum);
  }
  for (double &each : share)
    each /= sum;
  double step = 1.0 / static_cast<double>(bins);
  if (static_cast<double>(count) * step >= 1) {
    std::vector<double> ends;
    for (int64_t i = 0; static_cast<double>(i) * step < 1; ++i)
      ends.push_back(static_cast<float>(interpolated(step + static_cast<double>(i) * step, share, values)));
    values = std::move(ends);
  }
  values.pop_back();
  return values;
}

/// The number of boundaries that are less than or equal to the element.
void importDiscretization(Layer &layer) {
  std::vector<double> boundaries;
  if (layer.has("bin_boundaries"))
    collectNumbers(member(layer.config, "bin_boundaries"), boundaries);
  else
    boundaries = adaptedBoundaries(layer, layer.integer("num_bins", 0));
  if (layer.flag("sparse", false))
    layer.unsupported("results that are sparse tensors are not supported");
  mlir::Value x = asNumbers(layer);
  Dims wide = layer.dims(x);
  wide.emplace_back(1);
  mlir::Value reached = layer.emit("greater_equal", {layer.node.reshape(x, wide), constantNumbers(layer, boundaries)});
  mlir::Value count =
      layer.emit("reduce_sum", {layer.node.cast(reached, ElementType::i32)}, {{"axes", Ints{-1}}, {"keepdims", false}});
  std::string mode = layer.text("output_mode", "int");
  if (mode == "int")
    layer.set(layer.version() >= 3 ? count : layer.node.cast(count, ElementType::i64));
  else
    layer.set(
        categories(layer, layer.node.cast(count, ElementType::i64), mode, static_cast<int64_t>(boundaries.size()) + 1));
}

} // namespace

void addLookupImporters(Importers &table) {
  table["CategoryEncoding"] = {importCategoryEncoding, "`equal`, `cast`, `reduce_max` or `reduce_sum`"};
  table["IntegerLookup"] = {importIntegerLookup, "`equal`, `mul`, `reduce_sum`"};
  table["Discretization"] = {importDiscretization, "`greater_equal`, `reduce_sum`"};
}

} // namespace lathe::keras
