// SavedModel: reads the graph of a signature and finds its variables in the checkpoint.
#include "import/tensorflow/Bundle.h"
#include "import/tensorflow/Messages.h"
#include "import/tensorflow/Variables.h"
#include "support/Text.h"

#include <map>
#include <set>

namespace lathe::tensorflow {
namespace {

using file::MetaGraphDef;
using file::SignatureDef;

std::string nodeOf(const std::string &tensor) { return tensor.substr(0, tensor.rfind(':')); }

/// The graph for serving.
const MetaGraphDef &servingGraph(const file::SavedModel &model) {
  require(model.meta_graphs_size() >= 1, "has no graphs");
  std::vector<std::string> tags;
  for (const MetaGraphDef &graph : model.meta_graphs()) {
    const auto &own = graph.meta_info_def().tags();
    if (std::find(own.begin(), own.end(), "serve") != own.end() || model.meta_graphs_size() == 1)
      return graph;
    tags.push_back(fmt::format("{}", fmt::join(own, "+")));
  }
  fail("has graphs with the tags {}, expected one with 'serve'", oneLine(fmt::format("{}", fmt::join(tags, ", "))));
}

/// The name of the signature to import.
std::string signatureOf(const MetaGraphDef &graph, const std::string &wanted) {
  std::vector<std::string> names;
  for (const auto &[name, signature] : graph.signature_def())
    if (!name.starts_with("__saved_model"))
      names.push_back(name);
  std::sort(names.begin(), names.end());
  require(!names.empty(), "has no signatures, which say what goes in and out; save the model with some, or freeze its "
                          "graph to a .pb file");
  std::string name = !wanted.empty() ? wanted : names.size() == 1 ? names[0] : "serving_default";
  auto found = graph.signature_def().find(name);
  require(found != graph.signature_def().end(), "has no signature '{}', expected one of: {} (--signature)",
          oneLine(name), oneLine(fmt::format("{}", fmt::join(names, ", "))));
  return name;
}

template <class Map> std::vector<std::string> sortedKeys(const Map &map) {
  std::vector<std::string> keys;
  for (const auto &[key, value] : map)
    keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  return keys;
}

/// Throws Error for a tensor that the graph does not have, and for an output that needs a placeholder which is not an
/// input. `name` is the name of the signature.
void requireComplete(const GraphRecord &graph, const std::string &name, const SignatureDef &signature) {
  std::map<std::string, const NodeRecord *> nodes;
  for (const NodeRecord &node : graph.nodes)
    nodes[node.name] = &node;
  std::set<std::string> seen; // nodes of inputs, then also nodes that are known to be good
  auto requireNode = [&](const char *what, const std::string &key, const file::TensorInfo &info) {
    std::string node = nodeOf(tensorName(info.name()));
    require(info.name().empty() || nodes.contains(node),
            "signature '{}': {} '{}' is the tensor '{}', which the graph does not have", oneLine(name), what,
            oneLine(key), oneLine(info.name()));
    return node;
  };
  for (const std::string &key : sortedKeys(signature.inputs()))
    seen.insert(requireNode("input", key, signature.inputs().at(key)));
  for (const std::string &key : sortedKeys(signature.outputs())) {
    std::vector<std::string> open = {requireNode("output", key, signature.outputs().at(key))};
    while (!open.empty()) {
      std::string at = open.back();
      open.pop_back();
      auto node = nodes.find(at);
      if (!seen.insert(at).second || node == nodes.end())
        continue;
      require(node->second->op != "Placeholder", "signature '{}': output '{}' needs '{}', which is none of its inputs",
              oneLine(name), oneLine(key), oneLine(at));
      for (const std::string &input : node->second->inputs)
        open.push_back(nodeOf(input));
    }
  }
}

/// Renames inputs and outputs to the keys of a signature. Nodes that already have one of these names are renamed.
class Interface {
public:
  explicit Interface(GraphRecord &graph) : graph(graph) {
    for (const NodeRecord &node : graph.nodes)
      names.insert(node.name);
  }

  void input(const std::string &key, std::string tensor, ValueRecord value) {
    keys.insert(key);
    std::erase_if(graph.nodes, [&](const NodeRecord &node) { return node.name == nodeOf(tensor); });
    names.erase(nodeOf(tensor));
    if (key != tensor) {
      release(key);
      add(tensor, key);
    }
    graph.inputs.push_back(std::move(value));
  }

  void output(const std::string &key, const std::string &tensor, ValueRecord value) {
    std::string name = keys.contains(key) ? key + "_out" : key;
    if (name != tensor) {
      release(name);
      auto moved = renamed.find(nodeOf(tensor));
      add(name, moved == renamed.end() ? tensor : moved->second + tensor.substr(moved->first.size()));
    }
    value.name = name;
    graph.outputs.push_back(std::move(value));
  }

private:
  GraphRecord &graph;
  std::set<std::string> names, keys;
  std::map<std::string, std::string> renamed;

  /// Adds a node that gives `from` the name `to`.
  void add(const std::string &to, const std::string &from) {
    NodeRecord node;
    node.name = to;
    node.op = "Identity";
    node.inputs = {from};
    node.outputs = {to};
    graph.nodes.push_back(std::move(node));
    names.insert(to);
  }

  /// Renames the node called `name`, so that the name is free.
  void release(const std::string &name) {
    if (!names.contains(name))
      return;
    std::string other = name + "/node";
    while (names.contains(other))
      other += "_";
    names.erase(name);
    names.insert(other);
    renamed[name] = other;
    for (NodeRecord &node : graph.nodes) {
      if (node.name == name)
        node.name = node.outputs[0] = other;
      for (std::string &input : node.inputs)
        if (nodeOf(input) == name)
          input = other + input.substr(name.size());
    }
    for (ValueRecord &output : graph.outputs)
      if (nodeOf(output.name) == name)
        output.name = other + output.name.substr(name.size());
  }
};

void applySignature(GraphRecord &graph, const SignatureDef &signature) {
  Interface interface(graph);
  require(signature.outputs_size() >= 1, "its signature has no outputs");
  for (const std::string &key : sortedKeys(signature.inputs())) {
    const file::TensorInfo &info = signature.inputs().at(key);
    require(!info.name().empty(), "input '{}' of the signature is no dense tensor", oneLine(key));
    interface.input(key, tensorName(info.name()), valueOf(key, info.dtype(), &info.tensor_shape()));
  }
  for (const std::string &key : sortedKeys(signature.outputs())) {
    const file::TensorInfo &info = signature.outputs().at(key);
    require(!info.name().empty(), "output '{}' of the signature is no dense tensor", oneLine(key));
    ValueRecord value = valueOf(key, info.dtype(), nullptr);
    interface.output(key, tensorName(info.name()), value);
  }
}

/// Turns variables into initializers.
void readVariables(GraphRecord &graph, const MetaGraphDef &meta, const std::filesystem::path &folder) {
  prune(graph);
  std::shared_ptr<Bundle> bundle;
  std::map<std::string, VariablePlace> places;
  std::map<std::string, std::string> keys;
  std::vector<NodeRecord> rest;
  for (NodeRecord &node : graph.nodes) {
    if (!isVariable(node.op)) {
      rest.push_back(std::move(node));
      continue;
    }
    if (!bundle) {
      require(!folder.empty(), "its variables cannot be found for a model read from memory");
      bundle = std::make_shared<Bundle>(folder / "variables" / "variables");
      places = restoredVariables(meta.graph_def());
      keys = bundle->keysOfVariables();
    }
    const AttributeRecord *shared = attributeOf(node, "shared_name");
    const auto *given = shared ? std::get_if<std::string>(&shared->value) : nullptr;
    std::string name = given && !given->empty() ? *given : node.name;
    VariablePlace place;
    if (auto found = places.find(node.name); found != places.end())
      place = found->second;
    else if (bundle->has(name))
      place.key = name;
    else if (auto known = keys.find(name); known != keys.end())
      place.key = known->second;
    require(!place.key.empty(), "variable '{}' has no tensor in the checkpoint", oneLine(name));
    graph.initializers.push_back(variableTensor(*bundle, place, node.name));
  }
  graph.nodes = std::move(rest);
}

} // namespace

GraphRecord graphOfSignature(const file::SavedModel &model, const std::string &fileName,
                             const std::filesystem::path &folder, const std::string &signature, Library &library,
                             std::string &producer, int64_t &version) {
  require(model.saved_model_schema_version() == 1, "{}: has schema version {}, expected 1", fileName,
          model.saved_model_schema_version());
  const MetaGraphDef &meta = servingGraph(model);
  const std::string name = signatureOf(meta, signature);
  const SignatureDef &chosen = meta.signature_def().at(name);
  producer = "TensorFlow";
  if (const std::string &release = meta.meta_info_def().tensorflow_version(); !release.empty())
    producer += " " + release;
  if (int64_t assets = meta.asset_file_def_size())
    producer += fmt::format(" ({} {} not read)", counted(assets, "asset"), assets == 1 ? "is" : "are");
  version = meta.graph_def().versions().producer();
  requireUnwritten(meta.graph_def(), chosen);
  addFunctions(library, meta.graph_def());
  GraphRecord graph = graphOf(meta.graph_def(), &library);
  requireComplete(graph, name, chosen);
  applySignature(graph, chosen);
  readVariables(graph, meta, folder);
  return graph;
}

} // namespace lathe::tensorflow
