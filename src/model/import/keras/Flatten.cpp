#include "import/keras/Flatten.h"

#include "import/keras/Mask.h"
#include "support/UniqueNames.h"

#include <algorithm>
#include <queue>
#include <set>

namespace lathe::keras {
namespace {

constexpr size_t mostNodes = 200000;
constexpr int64_t mostResults = 64;

struct Value {
  std::string name, mask; // mask: "" for none
};
using Results = std::vector<Value>;

class Flattener {
public:
  Flattener(const Weights &weights, int version, const ImportOptions &options, FlatNodes &nodes, GraphRecord &graph)
      : weights(weights), version(version), options(options), flat(nodes), graph(graph) {}

  void run(const ModelConfig &model) {
    Results inputs;
    for (const TensorRef &input : model.inputs)
      inputs.push_back({declareInput(layerOf(model, input.layer)), ""});
    Results outputs = expand(model, weights.model(), "", inputs);
    for (size_t i = 0; i < outputs.size(); ++i)
      declareOutput(outputs[i].name, model.outputs[i].layer);
    graph.outputs.insert(graph.outputs.end(), successors.begin(), successors.end());
  }

private:
  const Weights &weights;
  const int version;
  const ImportOptions &options;
  FlatNodes &flat;
  GraphRecord &graph;
  UniqueNames names{":"}; // names of tensors
  UniqueNames outputNames{"_"};
  std::set<std::string> declared, kept; // outputs; weights that are initializers
  std::vector<ValueRecord> successors;  // new values of states

  static const LayerConfig &layerOf(const ModelConfig &model, const std::string &name) {
    for (const LayerConfig &layer : model.layers)
      if (layer.name == name)
        return layer;
    fail("layer '{}' is an input or output of model '{}', which does not have it", name, model.name);
  }

  /// Declares an InputLayer as an input of the graph.
  std::string declareInput(const LayerConfig &layer) {
    require(layer.className == "InputLayer", "input '{}' is a layer of class {}, expected InputLayer", layer.name,
            layer.className);
    ValueRecord record;
    record.name = names.take(layer.name);
    std::string type = textMember(layer.config, "dtype", "float32");
    static const std::map<std::string, ElementType> types = {
        {"float32", ElementType::f32},   {"float64", ElementType::f64}, {"float16", ElementType::f16},
        {"bfloat16", ElementType::bf16}, {"int8", ElementType::i8},     {"int16", ElementType::i16},
        {"int32", ElementType::i32},     {"int64", ElementType::i64},   {"uint8", ElementType::u8},
        {"uint16", ElementType::u16},    {"uint32", ElementType::u32},  {"bool", ElementType::boolean}};
    if (auto found = types.find(type); found != types.end())
      record.type = found->second;
    record.typeName = type;
    for (const char *kind : {"sparse", "ragged"})
      if (flagMember(layer.config, kind, false))
        record.other = fmt::format("a {} tensor", kind);
    const json &old = member(layer.config, "batch_input_shape");
    const json &shape = old.is_array() ? old : member(layer.config, "batch_shape");
    if (shape.is_array()) {
      record.extents.emplace();
      for (const json &extent : shape) {
        bool batch = record.extents->empty();
        if (extent.is_null())
          record.extents->push_back({std::nullopt, batch ? "batch" : ""});
        else
          record.extents->push_back({integerMember(json{{"extent", extent}}, "extent", 0), ""});
      }
    }
    graph.inputs.push_back(std::move(record));
    return graph.inputs.back().name;
  }

  /// Outputs get the names that Keras gives them: the names of the layers.
  void declareOutput(const std::string &tensor, const std::string &layer) {
    std::string wanted = outputNames.take(layer);
    ValueRecord record;
    bool isInput = std::any_of(graph.inputs.begin(), graph.inputs.end(),
                               [&](const ValueRecord &input) { return input.name == tensor; });
    if (tensor != wanted && !declared.contains(tensor)) {
      std::string free = names.take(wanted);
      if (free == wanted || isInput) {
        addNode(helper("$identity", free), {{tensor, ""}}, false, {free}, {});
        record.name = free;
      } else {
        record.name = tensor;
      }
    } else if (isInput || declared.contains(tensor)) {
      record.name = names.take(wanted);
      addNode(helper("$identity", record.name), {{tensor, ""}}, false, {record.name}, {});
    } else {
      record.name = tensor;
    }
    declared.insert(record.name);
    graph.outputs.push_back(std::move(record));
  }

  // ---- Nodes.

  const LayerConfig &helper(const std::string &className, const std::string &name) {
    LayerConfig &layer = flat.layers.emplace_back();
    layer.className = className;
    layer.name = name;
    layer.config = json::object();
    return layer;
  }

  /// `call` may be null: then the operands are the arguments.
  void addNode(const LayerConfig &layer, const Results &operands, bool withMasks, std::vector<std::string> results,
               const std::vector<std::string> &weightNames, const Call *call = nullptr, bool masked = false) {
    require(flat.nodes.size() < mostNodes, "unfolds to more than {} calls of layers", mostNodes);
    if (!call) {
      Call &made = flat.calls.emplace_back();
      for (size_t i = 0; i < operands.size(); ++i)
        made.arguments.push_back(tensorMark(i));
      call = &made;
    }
    NodeRecord node;
    node.name = results.at(0);
    node.op = operatorName(layer);
    for (const Value &operand : operands)
      node.inputs.push_back(operand.name);
    if (withMasks)
      for (const Value &operand : operands)
        node.inputs.push_back(operand.mask);
    for (const std::string &name : weightNames) {
      node.inputs.push_back(name);
      if (kept.insert(name).second)
        graph.initializers.push_back(weights.tensor(name));
    }
    node.outputs = std::move(results);
    LayerNode &source = flat.nodes.emplace_back();
    source = {&layer, call,  version, operands.size(), withMasks ? operands.size() : 0, weightNames.size(),
              masked, false, ""};
    if (auto custom = options.custom.find(layer.className); custom != options.custom.end())
      source.definition = custom->second;
    node.source = &source;
    graph.nodes.push_back(std::move(node));
  }

  /// Joins the masks of several operands to one; returns "" if there is none.
  std::string joinedMask(const LayerConfig &layer, const std::string &name, const Results &operands) {
    Results masks;
    bool allMasked = std::none_of(operands.begin(), operands.end(), [](const Value &v) { return v.mask.empty(); });
    for (const Value &operand : operands)
      if (!operand.mask.empty() &&
          std::none_of(masks.begin(), masks.end(), [&](const Value &other) { return other.name == operand.mask; }))
        masks.push_back({operand.mask, ""});
    bool concat = layer.className == "Concatenate", modern = version >= 3;
    if (masks.empty() || (modern && !concat && !allMasked))
      return "";
    std::string joined = names.take(name + ".mask");
    if (concat && integerMember(layer.config, "axis", -1) == 1)
      addNode(helper("$mask.concat", joined), operands, true, {joined}, {});
    else if (masks.size() == 1)
      return masks[0].name;
    else // in Keras 3, a step counts if it counts for any operand
      addNode(helper(modern && !concat ? "$mask.or" : "$mask.and", joined), masks, false, {joined}, {});
    return joined;
  }

  /// Declares a state as an input and its new value as an output, like variables of other formats (docs/state.md).
  void keepStates(const LayerConfig &layer, const std::string &name, const std::vector<int64_t> &units,
                  Results &operands, std::vector<std::string> &results) {
    require(layer.calls.size() <= 1, "layer '{}' is stateful and called {} times, expected once", layer.name,
            layer.calls.size());
    require(!graph.inputs.empty() && graph.inputs[0].extents && !graph.inputs[0].extents->empty(),
            "layer '{}' is stateful, and the number of rows is not known", layer.name);
    for (size_t i = 0; i < units.size(); ++i) {
      std::string state = units.size() == 1 ? name : fmt::format("{}.{}", name, i);
      ValueRecord past;
      past.name = names.take(state + ".past");
      past.type = ElementType::f32;
      past.extents = std::vector<ExtentRecord>{graph.inputs[0].extents->front(), {units[i], ""}};
      graph.inputs.push_back(past);
      operands.push_back({past.name, ""});
      ValueRecord next;
      next.name = names.take(state + ".next");
      results.push_back(next.name);
      successors.push_back(std::move(next));
    }
  }

  Results callLayer(const LayerConfig &layer, const Call *call, const Weights::Place &place, const std::string &prefix,
                    Results operands, size_t count) {
    std::string name = names.take(prefix + layer.name);
    if (call)
      if (const json &mask = member(call->keywords, "mask"); mask.is_object() && mask.contains("tensor"))
        if (!operands.empty())
          operands[0].mask = operands.at(mask["tensor"].get<size_t>()).name;
    bool defined = options.custom.contains(layer.className); // the user's definitions know no masks and states
    MaskUse use = defined ? MaskUse::drops : maskUse(layer);
    bool reads = use == MaskUse::reads || use == MaskUse::readsAndPasses;
    bool anyMask = std::any_of(operands.begin(), operands.end(), [](const Value &v) { return !v.mask.empty(); });
    Results results = {{name, ""}};
    for (size_t i = 1; i < count; ++i)
      results.push_back({names.take(fmt::format("{}:{}", name, i)), ""});
    if ((use == MaskUse::passes || use == MaskUse::readsAndPasses) && !operands.empty())
      results[0].mask = operands[0].mask;
    else if (use == MaskUse::joins)
      results[0].mask = joinedMask(layer, name, operands);
    std::vector<std::string> outputs;
    for (const Value &result : results)
      outputs.push_back(result.name);
    if (use == MaskUse::makes)
      outputs.push_back(results[0].mask = names.take(name + ".mask"));
    std::vector<int64_t> states = keptStates(layer);
    const size_t others = call && call->keywords.contains("mask") ? 2 : 1; // operands before the initial states
    bool stateful = !defined && !states.empty() && operands.size() <= others;
    if (stateful)
      keepStates(layer, name, states, operands, outputs);
    addNode(layer, operands, reads && anyMask, std::move(outputs), weights.of(place, layer), call,
            use == MaskUse::makes);
    flat.nodes.back().stateful = stateful;
    return results;
  }

  /// Calls the layer inside a wrapper: a plain layer, or a model.
  Results callInner(const LayerConfig &wrapper, const Weights::Place &place, const std::string &prefix,
                    const Results &operands) {
    LayerConfig &layer = flat.layers.emplace_back(readLayer(member(wrapper.config, "layer"), version));
    std::string inside = prefix + wrapper.name + "/";
    if (layer.model)
      return expand(*layer.model, weights.within(weights.wrapped(place)), inside, operands);
    return callAny(layer, nullptr, weights.wrapped(place), inside, operands, 1);
  }

  Results callAny(const LayerConfig &layer, const Call *call, const Weights::Place &place, const std::string &prefix,
                  const Results &operands, size_t count) {
    if (options.custom.contains(layer.className))
      return callLayer(layer, call, place, prefix, operands, count);
    if (layer.model)
      return expand(*layer.model, weights.within(place), prefix + layer.name + "/", operands);
    if (layer.className == "TimeDistributed") { // merges steps into the batch
      require(operands.size() == 1, "layer '{}' is called on {} tensors, expected 1", layer.name, operands.size());
      std::string folded = names.take(prefix + layer.name + "/fold");
      addNode(helper("$fold", folded), operands, false, {folded}, {});
      Results inner = callInner(layer, place, prefix, {{folded, ""}});
      std::string name = names.take(prefix + layer.name);
      addNode(helper("$unfold", name), {inner.at(0), operands[0]}, false, {name}, {});
      return {{name, operands[0].mask}};
    }
    if (layer.className == "SpectralNormalization")
      return callInner(layer, place, prefix, operands);
    return callLayer(layer, call, place, prefix, operands, count);
  }

  // ---- Models.
  using Key = std::pair<size_t, int64_t>; // layer and call
  /// The calls of a model, producers first.
  struct Order {
    std::map<std::string, size_t> index;
    std::map<Key, size_t> results; // number of results in use
    std::vector<Key> calls;
  };

  static Key keyOf(const ModelConfig &model, const Order &order, const TensorRef &tensor) {
    auto found = order.index.find(tensor.layer);
    require(found != order.index.end(), "model '{}' has no layer '{}'", model.name, tensor.layer);
    auto calls = static_cast<int64_t>(model.layers[found->second].calls.size());
    require(tensor.call >= 0 && tensor.call < calls && tensor.tensor >= 0 && tensor.tensor < mostResults,
            "result {} of call {} of layer '{}' is used, which has {} calls", tensor.tensor, tensor.call, tensor.layer,
            calls);
    return {found->second, tensor.call};
  }

  static Order orderOf(const ModelConfig &model) {
    Order order;
    for (size_t i = 0; i < model.layers.size(); ++i)
      order.index[model.layers[i].name] = i;
    std::map<Key, std::vector<Key>> users;
    std::map<Key, size_t> missing;
    auto use = [&](const TensorRef &tensor) {
      Key key = keyOf(model, order, tensor);
      size_t &count = order.results[key];
      count = std::max(count, static_cast<size_t>(tensor.tensor) + 1);
      return key;
    };
    std::priority_queue<Key, std::vector<Key>, std::greater<>> ready;
    for (size_t i = 0; i < model.layers.size(); ++i)
      for (size_t k = 0; k < model.layers[i].calls.size(); ++k) {
        Key key{i, static_cast<int64_t>(k)};
        for (const TensorRef &tensor : model.layers[i].calls[k].tensors)
          users[use(tensor)].push_back(key);
        missing[key] = model.layers[i].calls[k].tensors.size();
        if (missing[key] == 0)
          ready.push(key);
      }
    for (const TensorRef &output : model.outputs)
      use(output);
    while (!ready.empty()) {
      Key key = ready.top();
      ready.pop();
      order.calls.push_back(key);
      for (const Key &user : users[key])
        if (--missing[user] == 0)
          ready.push(user);
    }
    for (const auto &[key, count] : missing)
      require(count == 0, "layer '{}' depends on its own result", model.layers[key.first].name);
    return order;
  }

  Results expand(const ModelConfig &model, const Weights::Place &place, const std::string &prefix,
                 const Results &inputs) {
    require(inputs.size() == model.inputs.size(), "model '{}' is called on {} tensors, expected {}", model.name,
            inputs.size(), model.inputs.size());
    Order order = orderOf(model);
    std::map<Key, Results> values;
    for (const Key &key : order.calls) {
      const LayerConfig &layer = model.layers[key.first];
      if (layer.className == "InputLayer") {
        auto at = std::find_if(model.inputs.begin(), model.inputs.end(),
                               [&](const TensorRef &input) { return input.layer == layer.name; });
        require(at != model.inputs.end(), "layer '{}' is no input of model '{}'", layer.name, model.name);
        values[key] = {inputs[static_cast<size_t>(at - model.inputs.begin())]};
        continue;
      }
      const Call &call = layer.calls[static_cast<size_t>(key.second)];
      Results operands;
      for (const TensorRef &tensor : call.tensors)
        operands.push_back(valueOf(model, order, values, tensor));
      values[key] = callAny(layer, &call, weights.layer(place, model, key.first), prefix, operands,
                            std::max<size_t>(order.results[key], 1));
    }
    Results outputs;
    for (const TensorRef &output : model.outputs)
      outputs.push_back(valueOf(model, order, values, output));
    return outputs;
  }

  static const Value &valueOf(const ModelConfig &model, const Order &order, const std::map<Key, Results> &values,
                              const TensorRef &tensor) {
    const Results &results = values.at(keyOf(model, order, tensor));
    require(static_cast<size_t>(tensor.tensor) < results.size(), "layer '{}' has {} results, expected more than {}",
            tensor.layer, results.size(), tensor.tensor);
    return results[static_cast<size_t>(tensor.tensor)];
  }
};

} // namespace

void flatten(const ModelConfig &model, const Weights &weights, int version, const ImportOptions &options,
             FlatNodes &nodes, GraphRecord &graph) {
  Flattener(weights, version, options, nodes, graph).run(model);
}

} // namespace lathe::keras
