#include "import/keras/Config.h"

#include <set>

namespace lathe::keras {
namespace {

constexpr int mostNestedModels = 16, mostNestedArguments = 32;

/// True for a reference to a tensor, ["layer", call, tensor, ...].
bool isReference(const json &value) {
  return value.is_array() && value.size() >= 3 && value[0].is_string() && value[1].is_number_integer() &&
         value[2].is_number_integer();
}

TensorRef referenceOf(const json &value) {
  return {value[0].get<std::string>(), value[1].get<int64_t>(), value[2].get<int64_t>()};
}

json addTensor(Call &call, TensorRef reference) {
  call.tensors.push_back(std::move(reference));
  return tensorMark(call.tensors.size() - 1);
}

/// `value` with its tensors replaced by marks. `modern`: tensors are objects, as in Keras 3.
json argument(Call &call, const json &value, bool modern, int depth = 0) {
  require(depth < mostNestedArguments, "arguments are nested more than {} deep", mostNestedArguments);
  if (!modern && isReference(value))
    return addTensor(call, referenceOf(value));
  if (modern && value.is_object() && textMember(value, "class_name") == "__keras_tensor__") {
    const json &history = member(member(value, "config"), "keras_history");
    require(isReference(history), "a tensor among the arguments has no keras_history");
    return addTensor(call, referenceOf(history));
  }
  require(!value.is_object() || value.size() != 1 || !value.contains("tensor"),
          "an argument is an object with a member 'tensor'");
  if (value.is_array() || value.is_object()) {
    json result = value.is_array() ? json::array() : json::object();
    for (const auto &item : value.items()) {
      json inner = argument(call, item.value(), modern, depth + 1);
      if (value.is_array())
        result.push_back(std::move(inner));
      else
        result[item.key()] = std::move(inner);
    }
    return result;
  }
  return value;
}

/// A node of Keras 1 and 2: [["layer", call, tensor, {keywords}], ...], or one element of this list, or an object of
/// them.
void addClassic(Call &call, const json &value, int depth = 0) {
  require(depth < mostNestedArguments, "inbound nodes are nested more than {} deep", mostNestedArguments);
  bool constant = value.is_array() && value.size() >= 3 && value[0] == "_CONSTANT_VALUE";
  if (!constant && !isReference(value)) {
    require(value.is_array() || value.is_object(), "an inbound node is {}, expected a list", value.type_name());
    for (const json &item : value)
      addClassic(call, item, depth + 1);
    return;
  }
  if (constant)
    call.arguments.push_back(value[2]);
  else
    call.arguments.push_back(addTensor(call, referenceOf(value)));
  if (value.size() > 3 && value[3].is_object())
    for (const auto &item : value[3].items())
      call.keywords[item.key()] = argument(call, item.value(), /*modern=*/false);
}

Call readCall(const json &node) {
  Call call;
  if (node.is_object() && node.contains("args")) {
    call.arguments = argument(call, node["args"], /*modern=*/true);
    call.keywords = argument(call, member(node, "kwargs"), /*modern=*/true);
    if (call.keywords.is_null())
      call.keywords = json::object();
    require(call.arguments.is_array() && call.keywords.is_object(), "an inbound node has no list of arguments");
    return call;
  }
  addClassic(call, node);
  return call;
}

/// Collects the references in a list, or in nested lists and objects.
void addReferences(const json &value, std::vector<TensorRef> &result, int depth = 0) {
  require(depth < mostNestedArguments, "inputs or outputs are nested more than {} deep", mostNestedArguments);
  if (isReference(value)) {
    result.push_back(referenceOf(value));
    return;
  }
  require(value.is_array() || value.is_object(), "an input or output is {}, expected [layer, call, tensor]",
          value.type_name());
  for (const json &item : value)
    addReferences(item, result, depth + 1);
}

LayerConfig readLayerAt(const json &layer, int version, int depth);
ModelConfig readModel(const json &config, bool sequential, int version, int depth, const json &buildConfig);

/// Pipeline, a preprocessing layer, is called like a Sequential model: layer after layer.
bool isSequential(const std::string &className) { return className == "Sequential" || className == "Pipeline"; }

bool isModel(const std::string &className, const json &config) {
  if (isSequential(className) || className == "Functional" || className == "Model")
    return true;
  return config.is_object() && config.contains("layers") && config.contains("input_layers"); // a subclass of Functional
}

LayerConfig readLayerAt(const json &layer, int version, int depth) {
  require(layer.is_object(), "a layer is {}, expected an object", layer.type_name());
  LayerConfig result;
  result.className = textMember(layer, "class_name");
  require(!result.className.empty(), "a layer has no class_name");
  if (size_t package = result.className.rfind('>'); package != std::string::npos)
    result.className.erase(0, package + 1); // "Package>Class": a registered class
  result.module = textMember(layer, "module");
  result.config = member(layer, "config");
  result.name = textMember(layer, "name");
  if (result.name.empty())
    result.name = textMember(result.config, "name");
  if (isModel(result.className, result.config))
    result.model = std::make_shared<const ModelConfig>(
        readModel(result.config, isSequential(result.className), version, depth + 1, member(layer, "build_config")));
  else if (version == 1)
    modernize(result);
  return result;
}

/// The shape of the first layer's input, which a file may have in several places; null if the file does not state it.
json inputShapeOf(const json &config, const LayerConfig &first, const json &firstJson, const json &buildConfig) {
  for (const char *key : {"batch_input_shape", "batch_shape"})
    if (const json &shape = member(first.config, key); shape.is_array())
      return shape;
  for (const json *place : {&config, &buildConfig})
    for (const char *key : {"build_input_shape", "input_shape"})
      if (const json &shape = member(*place, key); shape.is_array())
        return shape;
  return member(member(firstJson, "build_config"), "input_shape");
}

/// Calls every layer once, on the result of the previous layer.
void chain(ModelConfig &model, const json &config, const json &layers, const json &buildConfig) {
  require(!model.layers.empty(), "model '{}' has no layers", model.name);
  if (model.layers[0].className != "InputLayer") {
    const LayerConfig &first = model.layers[0];
    LayerConfig input;
    input.className = "InputLayer";
    input.name = first.name + "_input";
    if (first.model) {
      for (const LayerConfig &inner : first.model->layers)
        if (inner.className == "InputLayer" && inner.name == first.model->inputs.at(0).layer)
          input.config = inner.config;
    } else {
      input.config = {{"batch_shape", inputShapeOf(config, first, layers[0], buildConfig)},
                      {"dtype", member(first.config, "dtype")}};
    }
    input.config["name"] = input.name;
    model.layers.insert(model.layers.begin(), input);
  }
  for (size_t i = 0; i < model.layers.size(); ++i) {
    Call call;
    if (i > 0)
      call.arguments.push_back(addTensor(call, {model.layers[i - 1].name, 0, 0}));
    model.layers[i].calls = {call};
  }
  model.inputs = {{model.layers.front().name, 0, 0}};
  model.outputs = {{model.layers.back().name, 0, 0}};
}

ModelConfig readModel(const json &config, bool sequential, int version, int depth, const json &buildConfig) {
  require(depth < mostNestedModels, "models are nested more than {} deep", mostNestedModels);
  ModelConfig model;
  model.name = textMember(config, "name");
  // In Keras 1 and early Keras 2, the configuration of a Sequential is the list of its layers.
  const json &layers = config.is_array() ? config : member(config, "layers");
  require(layers.is_array(), "model '{}' has no list of layers", model.name);
  std::set<std::string> names;
  for (const json &layer : layers) {
    model.layers.push_back(readLayerAt(layer, version, depth));
    LayerConfig &read = model.layers.back();
    require(names.insert(read.name).second, "there are two layers '{}'", read.name);
    if (sequential)
      continue;
    const json &nodes = member(layer, "inbound_nodes");
    if (nodes.is_array())
      for (const json &node : nodes)
        read.calls.push_back(readCall(node));
    if (read.className == "InputLayer" && read.calls.empty())
      read.calls.emplace_back();
  }
  if (sequential) {
    chain(model, config, layers, buildConfig);
    return model;
  }
  addReferences(member(config, "input_layers"), model.inputs);
  addReferences(member(config, "output_layers"), model.outputs);
  require(!model.inputs.empty() && !model.outputs.empty(), "model '{}' has no inputs or no outputs", model.name);
  return model;
}

} // namespace

json tensorMark(size_t index) {
  json mark = json::object();
  mark["tensor"] = index;
  return mark;
}

const json &member(const json &object, const char *key) {
  static const json none;
  if (!object.is_object())
    return none;
  auto found = object.find(key);
  return found == object.end() ? none : *found;
}

std::string textMember(const json &object, const char *key, const std::string &fallback) {
  const json &value = member(object, key);
  if (value.is_null())
    return fallback;
  require(value.is_string(), "'{}' is {}, expected a text", key, value.type_name());
  return value.get<std::string>();
}

ModelConfig readModelConfig(const json &model, int version) {
  LayerConfig layer = readLayerAt(model, version, 0);
  if (layer.model)
    return *layer.model;
  fail("the model is of class {}, expected Sequential or Functional: a subclassed model is Python code",
       layer.className);
}

LayerConfig readLayer(const json &layer, int version) { return readLayerAt(layer, version, 0); }

} // namespace lathe::keras
