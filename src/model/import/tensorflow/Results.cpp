// Results of nodes: their number, their names in functions, and which of them are needed.
#include "import/tensorflow/TensorFlow.h"

#include <set>

namespace lathe::tensorflow {
namespace {

const std::map<std::string, std::vector<std::string>> &severalResults() {
  static const std::map<std::string, std::vector<std::string>> table = {
      {"BlockLSTM", {"i", "cs", "f", "o", "ci", "co", "h"}},
      {"BlockLSTMV2", {"i", "cs", "f", "o", "ci", "co", "h"}},
      {"BroadcastGradientArgs", {"r0", "r1"}},
      {"CTCGreedyDecoder", {"decoded_indices", "decoded_values", "decoded_shape", "log_probability"}},
      {"CombinedNonMaxSuppression", {"nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections"}},
      {"CudnnRNN", {"output", "output_h", "output_c", "reserve_space"}},
      {"CudnnRNNV2", {"output", "output_h", "output_c", "reserve_space", "host_reserved"}},
      {"CudnnRNNV3", {"output", "output_h", "output_c", "reserve_space", "host_reserved"}},
      {"FusedBatchNorm", {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"}},
      {"FusedBatchNormV2", {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"}},
      {"FusedBatchNormV3",
       {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3"}},
      {"GRUBlockCell", {"r", "u", "c", "h"}},
      {"LSTMBlockCell", {"i", "cs", "f", "o", "ci", "co", "h"}},
      {"ListDiff", {"out", "idx"}},
      {"LookupTableExportV2", {"keys", "values"}},
      {"MaxPoolWithArgmax", {"output", "argmax"}},
      {"Merge", {"output", "value_index"}},
      {"NonMaxSuppressionV4", {"selected_indices", "valid_outputs"}},
      {"NonMaxSuppressionV5", {"selected_indices", "selected_scores", "valid_outputs"}},
      {"QuantizeV2", {"output", "output_min", "output_max"}},
      {"Switch", {"output_false", "output_true"}},
      {"TensorArrayConcatV3", {"value", "lengths"}},
      {"TensorArrayV3", {"handle", "flow"}},
      {"TensorListConcat", {"tensor", "lengths"}},
      {"TensorListConcatV2", {"tensor", "lengths"}},
      {"TensorListPopBack", {"output_handle", "tensor"}},
      {"TopK", {"values", "indices"}},
      {"TopKV2", {"values", "indices"}},
      {"Unique", {"y", "idx"}},
      {"UniqueV2", {"y", "idx"}},
      {"UniqueWithCounts", {"y", "idx", "count"}},
  };
  return table;
}

/// Attributes that give the number of results of an operator: a number, or a list of the results' types.
constexpr std::pair<const char *, const char *> counting[] = {{"Case", "Tout"},
                                                              {"If", "Tout"},
                                                              {"IdentityN", "T"},
                                                              {"PartitionedCall", "Tout"},
                                                              {"ShapeN", "N"},
                                                              {"Split", "num_split"},
                                                              {"SplitV", "num_split"},
                                                              {"StatefulPartitionedCall", "Tout"},
                                                              {"StatelessCase", "Tout"},
                                                              {"StatelessIf", "Tout"},
                                                              {"StatelessWhile", "T"},
                                                              {"Unpack", "num"},
                                                              {"While", "T"}};

constexpr size_t most = 1 << 16;

} // namespace

size_t resultCount(const NodeRecord &node) {
  for (const auto &[op, name] : counting) {
    if (node.op != op)
      continue;
    const AttributeRecord *attribute = attributeOf(node, name);
    if (!attribute)
      return 1;
    if (const auto *list = std::get_if<std::vector<int64_t>>(&attribute->value))
      return std::min(list->size(), most);
    const auto *number = std::get_if<int64_t>(&attribute->value);
    require(number && *number >= 0 && *number <= static_cast<int64_t>(most),
            "node '{}' ({}): attribute '{}' is no number of results", oneLine(node.name), node.op, name);
    return static_cast<size_t>(*number);
  }
  auto found = severalResults().find(node.op);
  return found == severalResults().end() ? 1 : found->second.size();
}

size_t resultOf(const std::string &op, const std::string &argument) {
  auto found = severalResults().find(op);
  if (found == severalResults().end())
    return 0;
  const std::vector<std::string> &names = found->second;
  auto at = std::find(names.begin(), names.end(), argument);
  require(at != names.end(), "{} has no result '{}'", op, oneLine(argument));
  return static_cast<size_t>(at - names.begin());
}

void completeResults(GraphRecord &graph) {
  std::map<std::string, std::set<size_t>> read; // results by node
  auto note = [&](const std::string &name) {
    size_t colon = name.rfind(':'), number = 0;
    if (colon != std::string::npos)
      number = std::min<size_t>(std::strtoul(name.c_str() + colon + 1, nullptr, 10), 1 << 16);
    read[name.substr(0, colon)].insert(number);
  };
  for (const NodeRecord &node : graph.nodes)
    for (const std::string &input : node.inputs)
      note(input);
  for (const ValueRecord &output : graph.outputs)
    note(output.name);
  for (NodeRecord &node : graph.nodes) {
    const std::set<size_t> &used = read[node.name];
    size_t count = std::max(resultCount(node), used.empty() ? 1 : *used.rbegin() + 1);
    node.outputs.assign(count, "");
    for (size_t number : used)
      node.outputs[number] = number ? fmt::format("{}:{}", node.name, number) : node.name;
    if (used.empty() && count)
      node.outputs[0] = node.name;
  }
}

void prune(GraphRecord &graph) {
  std::map<std::string, size_t> producers; // by the node's name without the number of the result
  auto nodeOf = [](const std::string &tensor) { return tensor.substr(0, tensor.rfind(':')); };
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    for (const std::string &output : graph.nodes[i].outputs)
      if (!output.empty()) {
        auto [at, added] = producers.emplace(nodeOf(output), i);
        require(added || at->second == i, "there are two nodes '{}'", oneLine(nodeOf(output)));
      }
  std::vector<bool> needed(graph.nodes.size());
  std::vector<size_t> open;
  auto need = [&](const std::string &tensor) {
    auto at = producers.find(nodeOf(tensor));
    if (at != producers.end() && !needed[at->second]) {
      needed[at->second] = true;
      open.push_back(at->second);
    }
  };
  for (const ValueRecord &output : graph.outputs)
    need(output.name);
  while (!open.empty()) {
    size_t index = open.back();
    open.pop_back();
    for (const std::string &input : namesRead(graph.nodes[index]))
      need(input);
  }
  std::vector<NodeRecord> kept;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (needed[i])
      kept.push_back(std::move(graph.nodes[i]));
  graph.nodes = std::move(kept);
}

} // namespace lathe::tensorflow
