// Groups of nodes that form one operator: dropout, and dilated convolutions written with blocks.
#include "import/tensorflow/TensorFlow.h"

namespace lathe::tensorflow {
namespace {

using Producers = std::map<std::string, const NodeRecord *>;

const NodeRecord *producer(const Producers &producers, const std::string &tensor) {
  auto found = producers.find(tensor);
  return found == producers.end() ? nullptr : found->second;
}

/// The operands that decide the range of random numbers: the factor of RandomUniform, and the number that is added to
/// it. Both are constants or a difference of constants. Nothing if `tensor` is not made from random numbers.
std::optional<std::vector<std::string>> randomRange(const Producers &producers, const std::string &tensor) {
  const NodeRecord *node = producer(producers, tensor);
  if (!node)
    return std::nullopt;
  if (node->op == "RandomUniform" || node->op == "StatelessRandomUniform" || node->op == "StatelessRandomUniformV2")
    return std::vector<std::string>();
  bool scales = node->op == "Mul", moves = node->op == "Add" || node->op == "AddV2";
  if ((!scales && !moves) || node->inputs.size() != 2)
    return std::nullopt;
  auto inner = randomRange(producers, node->inputs[0]);
  if (!inner || inner->size() != (moves ? 1u : 0u))
    return std::nullopt;
  inner->push_back(node->inputs[1]);
  return inner;
}

bool isOnes(const NodeRecord &node, const char *attr) {
  const AttributeRecord *attribute = attributeOf(node, attr);
  const auto *values = attribute ? std::get_if<std::vector<int64_t>>(&attribute->value) : nullptr;
  return !attribute ||
         (values && std::all_of(values->begin(), values->end(), [](int64_t value) { return value == 1; }));
}

bool isText(const NodeRecord &node, const char *attr, const char *text, bool otherwise) {
  const AttributeRecord *attribute = attributeOf(node, attr);
  const auto *value = attribute ? std::get_if<std::string>(&attribute->value) : nullptr;
  return value ? *value == text : otherwise;
}

/// A convolution with channels last, strides of 1, no padding and no dilation.
bool isPlainConvolution(const NodeRecord &node) {
  return (node.op == "Conv2D" || node.op == "DepthwiseConv2dNative") && node.inputs.size() == 2 &&
         isOnes(node, "strides") && isOnes(node, "dilations") && isText(node, "padding", "VALID", false) &&
         isText(node, "data_format", "NHWC", true);
}

} // namespace

void markDropout(GraphRecord &graph) {
  Producers producers;
  for (const NodeRecord &node : graph.nodes)
    producers[node.name] = &node;
  for (NodeRecord &node : graph.nodes) {
    const NodeRecord *sum = node.op == "Floor" ? producer(producers, inputOf(node, 0)) : nullptr;
    bool compares = node.op == "GreaterEqual" && node.inputs.size() == 2;
    if (sum && (sum->op == "Add" || sum->op == "AddV2") && sum->inputs.size() == 2) {
      for (size_t random : {1, 0})
        if (auto range = randomRange(producers, sum->inputs[random])) {
          node.op = "RandomUniform+Floor";
          std::string keep = sum->inputs[1 - random];
          for (ValueRecord &input : graph.inputs) // a keep probability that is an input
            if (input.name == keep && !input.extents)
              input.extents.emplace();
          node.inputs = {keep};
          node.inputs.insert(node.inputs.end(), range->begin(), range->end());
          break;
        }
    } else if (compares) {
      if (auto range = randomRange(producers, node.inputs[0])) {
        node.op = "RandomUniform+GreaterEqual";
        node.inputs = {node.inputs[1]};
        node.inputs.insert(node.inputs.end(), range->begin(), range->end());
      }
    }
  }
}

/// True if a node computes extents. Assertions about other values are not imported: their operands may be unsupported
/// and needed for nothing else.
static bool isShape(const NodeRecord *node) {
  return node && (node->op == "Shape" || node->op == "Pack" || node->op == "Const");
}

void markAssertions(GraphRecord &graph, const Waits &waits) {
  Producers producers;
  for (const NodeRecord &node : graph.nodes)
    producers[node.name] = &node;
  for (NodeRecord &node : graph.nodes) {
    auto names = waits.find(node.name);
    if (node.op != "Identity" || node.inputs.size() != 1 || names == waits.end())
      continue;
    std::vector<std::string> shapes;
    for (const std::string &name : names->second) {
      const NodeRecord *check = producer(producers, name);
      const NodeRecord *all = check && check->op == "Assert" ? producer(producers, inputOf(*check, 0)) : nullptr;
      const NodeRecord *equal = all && all->op == "All" ? producer(producers, inputOf(*all, 0)) : nullptr;
      if (equal && equal->op == "Equal" && equal->inputs.size() == 2 &&
          isShape(producer(producers, equal->inputs[0])) && isShape(producer(producers, equal->inputs[1])))
        shapes.insert(shapes.end(), equal->inputs.begin(), equal->inputs.end());
    }
    if (shapes.empty())
      continue;
    node.op = "Assert+Identity";
    node.inputs.insert(node.inputs.end(), shapes.begin(), shapes.end());
  }
}

/// True if `name` is the pivot of a branch: behind identities, a Switch that does not belong to a loop.
static bool isPivot(const Producers &producers, const std::string &name) {
  auto behindIdentities = [&](std::string tensor) {
    for (size_t steps = 0; steps < producers.size(); ++steps) {
      const NodeRecord *node = producer(producers, tensor.substr(0, tensor.rfind(':')));
      if (!node || node->op != "Identity" || node->inputs.size() != 1)
        return node;
      tensor = node->inputs[0];
    }
    return static_cast<const NodeRecord *>(nullptr);
  };
  const NodeRecord *node = behindIdentities(name);
  if (!node || (node->op != "Switch" && node->op != "RefSwitch") || node->inputs.size() != 2)
    return false;
  const NodeRecord *condition = behindIdentities(node->inputs[1]);
  return !condition || condition->op != "LoopCond";
}

void markPivots(GraphRecord &graph, const Waits &waits) {
  Producers producers;
  for (const NodeRecord &node : graph.nodes)
    producers[node.name] = &node;
  std::vector<NodeRecord> marked;
  for (NodeRecord &node : graph.nodes) {
    auto names = waits.find(node.name);
    if (node.op != "Const" || names == waits.end())
      continue;
    for (const std::string &name : names->second)
      if (isPivot(producers, name)) {
        NodeRecord value;
        value.name = node.name;
        value.op = "Switch+Const";
        value.inputs = {node.name + "+value", name}; // TensorFlow's names do not contain '+'
        value.outputs = node.outputs;
        value.source = node.source;
        marked.push_back(std::move(value));
        node.name += "+value";
        node.outputs = {node.name};
        break;
      }
  }
  for (NodeRecord &node : marked)
    graph.nodes.push_back(std::move(node));
}

void markDilations(GraphRecord &graph) {
  Producers producers;
  for (const NodeRecord &node : graph.nodes)
    producers[node.name] = &node;
  std::vector<NodeRecord> biases;
  for (NodeRecord &node : graph.nodes) {
    if (node.op != "BatchToSpaceND" || node.inputs.size() != 3)
      continue;
    const NodeRecord *bias = nullptr, *conv = producer(producers, node.inputs[0]);
    if (conv && conv->op == "BiasAdd" && conv->inputs.size() == 2) {
      bias = conv;
      conv = producer(producers, bias->inputs[0]);
    }
    const NodeRecord *blocks = conv && isPlainConvolution(*conv) ? producer(producers, conv->inputs[0]) : nullptr;
    if (!blocks || blocks->op != "SpaceToBatchND" || blocks->inputs.size() != 3)
      continue;
    NodeRecord dilated = *conv;
    dilated.op = "SpaceToBatchND+" + conv->op;
    dilated.inputs = {blocks->inputs[0], conv->inputs[1], blocks->inputs[1],
                      blocks->inputs[2], node.inputs[1],  node.inputs[2]};
    dilated.name = node.name;
    dilated.outputs = node.outputs;
    if (bias) {
      NodeRecord sum = *bias;
      dilated.name = node.name + "/convolution";
      dilated.outputs = {dilated.name};
      sum.name = node.name;
      sum.inputs[0] = dilated.name;
      sum.outputs = node.outputs;
      biases.push_back(std::move(sum));
    }
    node = std::move(dilated);
    producers[node.name] = &node;
  }
  graph.nodes.insert(graph.nodes.end(), biases.begin(), biases.end());
}

} // namespace lathe::tensorflow
