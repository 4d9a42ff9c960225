#include "import/keras/Weights.h"

#include <algorithm>
#include <cctype>

namespace lathe::keras {
namespace {

constexpr int mostNestedLayers = 16;

/// True if `folder` is one of the folders in `name`; the part after the last slash does not count.
bool hasFolder(std::string_view name, std::string_view folder) {
  for (size_t slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/')) {
    if (name.substr(0, slash) == folder)
      return true;
    name.remove_prefix(slash + 1);
  }
  return false;
}

bool isAttention(const std::string &className) {
  return className == "MultiHeadAttention" || className == "GroupedQueryAttention" ||
         className == "GroupQueryAttention";
}

/// The layer in `key` of a wrapper's configuration; in `other` if there is none.
LayerConfig inner(const LayerConfig &wrapper, const char *key, const char *other = nullptr) {
  const json &found = member(wrapper.config, key);
  return readLayer(found.is_null() && other ? member(wrapper.config, other) : found, 3);
}

} // namespace

std::string snakeCase(const std::string &className) {
  auto is = [](char c, int (*kind)(int)) { return kind(static_cast<unsigned char>(c)) != 0; };
  std::string result;
  for (size_t i = 0; i < className.size(); ++i) {
    char c = className[i];
    if (!is(c, std::isalnum) && c != '_')
      continue;
    bool begins =
        i > 0 && is(c, std::isupper) &&
        (is(className[i - 1], std::islower) || (i + 1 < className.size() && is(className[i + 1], std::islower)));
    if (begins && !result.ends_with('_'))
      result += '_';
    result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

Weights::Weights(std::shared_ptr<const Hdf5File> given) : file(std::move(given)) {
  root = firstGroup({"/layers", "/_layer_checkpoint_dependencies"});
  byObjects = !root.empty();
  if (!byObjects)
    root = file->hasGroup("/model_weights") ? "/model_weights" : "/";
}

std::string Weights::firstGroup(const std::vector<std::string> &paths) const {
  for (const std::string &path : paths)
    if (file->hasGroup(path))
      return path;
  return "";
}

Weights::Place Weights::model() const { return {root, {}, false}; }

Weights::Place Weights::layer(const Place &place, const ModelConfig &model, size_t index) const {
  const LayerConfig &layer = model.layers.at(index);
  Place result;
  if (byObjects) {
    std::string name = snakeCase(layer.className);
    auto before = std::count_if(model.layers.begin(), model.layers.begin() + static_cast<int64_t>(index),
                                [&](const LayerConfig &other) { return snakeCase(other.className) == name; });
    if (before > 0)
      name += "_" + std::to_string(before);
    result.path = place.path + "/" + name;
    return result;
  }
  if (place.inside) {
    for (const std::string &name : place.names)
      if (hasFolder(std::string_view(name).substr(place.path.size()), layer.name))
        result.names.push_back(name);
    result.path = place.path;
    return result;
  }
  std::string group = (place.path == "/" ? "" : place.path) + "/" + layer.name;
  for (const std::string &name : file->texts(group, "weight_names"))
    result.names.push_back(group + "/" + name);
  result.path = group;
  return result;
}

Weights::Place Weights::within(const Place &place) const {
  if (!byObjects)
    return {place.path, place.names, true};
  std::string layers = firstGroup(
      {place.path + "/layers", place.path + "/_layer_checkpoint_dependencies", place.path + "/_pipeline_layers"});
  return {layers.empty() ? place.path + "/layers" : layers, {}, false};
}

Weights::Place Weights::wrapped(const Place &place) const {
  if (byObjects)
    return {place.path + "/layer", {}, false};
  Place result = place; // skips the vector of SpectralNormalization, which only training reads
  std::erase_if(result.names, [](const std::string &name) {
    return name.find("/sn_u") != std::string::npos || name.find("/vector_u") != std::string::npos;
  });
  return result;
}

std::vector<std::string> Weights::of(const Place &place, const LayerConfig &layer) const {
  if (!byObjects)
    return place.names;
  std::vector<std::string> found;
  addLayer(place.path, layer, found, 0);
  return found;
}

void Weights::addVariables(const std::string &path, std::vector<std::string> &found) const {
  for (size_t i = 0;; ++i) {
    std::string name = path + "/vars/" + std::to_string(i);
    if (!file->dataset(name))
      return;
    found.push_back(name);
  }
}

/// A layer that owns other layers has the weights of its inner layers.
void Weights::addLayer(const std::string &path, const LayerConfig &layer, std::vector<std::string> &found,
                       int depth) const {
  require(depth < mostNestedLayers, "layers are nested more than {} deep", mostNestedLayers);
  const std::string &kind = layer.className;
  if (kind == "Bidirectional") {
    addLayer(path + "/forward_layer", inner(layer, "layer"), found, depth + 1);
    addLayer(path + "/backward_layer", inner(layer, "backward_layer", "layer"), found, depth + 1);
  } else if (kind == "RNN") {
    addLayer(path + "/cell", inner(layer, "cell"), found, depth + 1);
  } else if (kind == "StackedRNNCells") {
    std::map<std::string, int> used;
    for (const json &cell : member(layer.config, "cells")) {
      LayerConfig each = readLayer(cell, 3);
      std::string name = snakeCase(each.className);
      int count = used[name]++;
      addLayer(path + "/cells/" + name + (count ? "_" + std::to_string(count) : ""), each, found, depth + 1);
    }
  } else if (kind == "TimeDistributed" || kind == "SpectralNormalization") {
    addLayer(path + "/layer", inner(layer, "layer"), found, depth + 1);
  } else if (isAttention(kind)) {
    for (const char *part : {"query_dense", "key_dense", "value_dense", "output_dense"}) {
      std::string group = firstGroup({path + "/" + part, path + "/_" + part});
      addVariables(group.empty() ? path + "/" + part : group, found);
    }
  } else {
    size_t before = found.size();
    addVariables(path, found);
    if (found.size() == before)
      addVariables(path + "/cell", found); // LSTM, GRU, SimpleRNN and similar layers
    if (found.size() == before && kind != "Dropout" && file->hasGroup(path))
      for (const std::string &name : file->datasetsBelow(path)) // a layer defined by the user
        if (name.find("/seed_generator/") == std::string::npos)
          found.push_back(name);
  }
}

source::TensorRecord Weights::tensor(const std::string &path) const {
  const Hdf5Array *array = file->dataset(path);
  require(array != nullptr, "dataset '{}' is missing", path);
  source::TensorRecord record;
  record.name = path;
  record.type = array->type;
  record.typeName = "that has no counterpart";
  record.read = [array](const std::string &) {
    source::TensorData data{array->type, array->dims, {array->bytes.begin(), array->bytes.end()}, {}};
    data.strings.assign(array->strings.begin(), array->strings.end());
    if (array->type == ElementType::boolean)
      for (char &element : data.bytes)
        element = element != 0;
    return data;
  };
  return record;
}

} // namespace lathe::keras
