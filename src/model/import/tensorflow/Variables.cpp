#include "import/tensorflow/Variables.h"

#include "import/Records.h"

#include <charconv>
#include <cstring>
#include <set>

namespace lathe::tensorflow {
namespace {

using file::NodeDef;
using source::oneLine;
using Nodes = google::protobuf::RepeatedPtrField<NodeDef>;

/// An input of a node in its written form: "node", "node:1", "node:tensors:1" or "^node".
struct Reference {
  std::string node;
  size_t number = 0;
};

Reference referenceOf(std::string_view text) {
  if (text.starts_with('^'))
    text.remove_prefix(1);
  Reference result;
  size_t first = text.find(':'), last = text.rfind(':');
  result.node = std::string(text.substr(0, first));
  if (last != std::string_view::npos)
    std::from_chars(text.data() + last + 1, text.data() + text.size(), result.number);
  return result;
}

std::map<std::string, const NodeDef *> byName(const Nodes &nodes) {
  std::map<std::string, const NodeDef *> result;
  for (const NodeDef &node : nodes)
    result[node.name()] = &node;
  return result;
}

const NodeDef *find(const std::map<std::string, const NodeDef *> &nodes, const std::string &name) {
  auto found = nodes.find(name);
  return found == nodes.end() ? nullptr : found->second;
}

std::string element(const NodeDef *constant, size_t index) {
  if (!constant || !constant->attr().contains("value"))
    return "";
  const auto &values = constant->attr().at("value").tensor().string_val();
  return index < static_cast<size_t>(values.size()) ? values.Get(static_cast<int>(index)) : "";
}

/// The position of each variable in the checkpoint, by the name of its node (in a function: of its argument).
std::map<std::string, VariablePlace> placesIn(const Nodes &list) {
  std::map<std::string, const NodeDef *> nodes = byName(list);
  std::map<std::string, VariablePlace> places;
  for (const NodeDef &assign : list) {
    if ((assign.op() != "AssignVariableOp" && assign.op() != "Assign") || assign.input_size() < 2)
      continue;
    Reference value = referenceOf(assign.input(1));
    const NodeDef *from = find(nodes, value.node);
    for (int steps = 0; from && from->op() == "Identity" && from->input_size() && steps < 8; ++steps) {
      value = referenceOf(from->input(0));
      from = find(nodes, value.node);
    }
    if (!from || from->op() != "RestoreV2" || from->input_size() < 3)
      continue;
    auto operand = [&](int index) { return element(find(nodes, referenceOf(from->input(index)).node), value.number); };
    places[referenceOf(assign.input(0)).node] = {operand(1), operand(2)};
  }
  return places;
}

bool writes(const std::string &op) {
  return op.starts_with("Assign") || op.starts_with("ScatterNdUpdate") || op == "ScatterUpdate" ||
         (op.starts_with("Resource") &&
          (op.find("Scatter") != std::string::npos || op.find("Apply") != std::string::npos));
}

/// Visits everything that an output waits for: data, control inputs, and functions.
class Writes {
public:
  explicit Writes(const file::GraphDef &graph) : nodes(byName(graph.node())) {
    for (const file::FunctionDef &function : graph.library().function())
      functions[function.signature().name()] = &function;
  }

  void check(const file::SignatureDef &signature) {
    std::vector<std::string> open;
    for (const auto &[key, tensor] : signature.outputs())
      open.push_back(referenceOf(tensor.name()).node);
    walk(nodes, std::move(open), "");
  }

private:
  using Named = std::map<std::string, const NodeDef *>;
  Named nodes;
  std::map<std::string, const file::FunctionDef *> functions;
  std::set<std::string> seen;

  void walk(const Named &all, std::vector<std::string> open, const std::string &scope) {
    std::set<std::string> done;
    while (!open.empty()) {
      std::string name = std::move(open.back());
      open.pop_back();
      const NodeDef *node = find(all, name);
      if (!node || !done.insert(name).second)
        continue;
      require(!writes(node->op()),
              "node '{}{}' ({}) writes a variable while inference runs; only variables that keep their values are "
              "supported",
              oneLine(scope), oneLine(name), oneLine(node->op()));
      for (const std::string &input : node->input())
        open.push_back(referenceOf(input).node);
      call(node->op(), scope + name + "/");
      for (const auto &[key, value] : node->attr())
        if (value.has_func())
          call(value.func().name(), scope + name + "/");
    }
  }

  void call(const std::string &name, const std::string &scope) {
    auto found = functions.find(name);
    if (found == functions.end() || !seen.insert(name).second)
      return;
    std::vector<std::string> open;
    for (const auto &[key, tensor] : found->second->ret())
      open.push_back(referenceOf(tensor).node);
    for (const auto &[key, node] : found->second->control_ret())
      open.push_back(node);
    walk(byName(found->second->node_def()), std::move(open), scope);
  }
};

/// The part of `whole` that a slice describes.
source::TensorData part(const source::TensorData &whole, const std::string &slice, const std::string &what) {
  std::string_view text = slice;
  text.remove_prefix(std::min(text.rfind(' ') + 1, text.size()));
  size_t rank = whole.dims.size();
  source::TensorData result{whole.type, {}, {}, {}};
  std::vector<int64_t> starts;
  for (size_t axis = 0; axis < rank; ++axis) {
    std::string_view extent = text.substr(0, text.find(':'));
    text.remove_prefix(std::min(extent.size() + 1, text.size()));
    int64_t start = 0, length = whole.dims[axis];
    if (extent != "-") {
      const char *end = extent.data() + extent.size();
      auto first = std::from_chars(extent.data(), end, start);
      bool good = first.ec == std::errc() && first.ptr != end && *first.ptr == ',' &&
                  std::from_chars(first.ptr + 1, end, length).ec == std::errc();
      require(good && start >= 0 && length >= 0 && length <= whole.dims[axis] && start <= whole.dims[axis] - length,
              "{}: its slice is '{}', which is none of the extents {}", what, oneLine(slice),
              fmt::join(whole.dims, "x"));
    }
    starts.push_back(start);
    result.dims.push_back(length);
  }
  size_t width = bitWidth(whole.type) / 8;
  for (int64_t at = 0, total = source::checkedElements(result.dims, what); at < total; ++at) {
    int64_t rest = at, from = 0, stride = 1;
    for (size_t i = rank; i-- > 0;) {
      from += (starts[i] + rest % result.dims[i]) * stride;
      rest /= result.dims[i];
      stride *= whole.dims[i];
    }
    const char *bytes = whole.bytes.data() + static_cast<size_t>(from) * width;
    result.bytes.insert(result.bytes.end(), bytes, bytes + width);
  }
  return result;
}

} // namespace

bool isVariable(const std::string &op) { return op == "VarHandleOp" || op == "VariableV2" || op == "Variable"; }

std::map<std::string, VariablePlace> restoredVariables(const file::GraphDef &graph) {
  std::map<std::string, VariablePlace> places = placesIn(graph.node());
  std::map<std::string, const file::FunctionDef *> functions;
  for (const file::FunctionDef &function : graph.library().function())
    functions[function.signature().name()] = &function;
  for (const NodeDef &node : graph.node()) {
    auto attribute = node.attr().find("f");
    if (attribute == node.attr().end() || !attribute->second.has_func())
      continue;
    auto function = functions.find(attribute->second.func().name());
    if (function == functions.end())
      continue;
    std::map<std::string, VariablePlace> inside = placesIn(function->second->node_def());
    const auto &arguments = function->second->signature().input_arg();
    for (int i = 0; i < arguments.size() && i < node.input_size(); ++i)
      if (auto place = inside.find(arguments[i].name()); place != inside.end())
        places[referenceOf(node.input(i)).node] = place->second;
  }
  return places;
}

source::TensorRecord variableTensor(const Bundle &bundle, const VariablePlace &place, const std::string &name) {
  source::TensorRecord record = bundle.tensor(place.key, name);
  if (!place.slice.empty())
    record.read = [read = record.read, place, name](const std::string &what) {
      return part(read(what), place.slice, fmt::format("variable '{}'", oneLine(name)));
    };
  return record;
}

void requireUnwritten(const file::GraphDef &graph, const file::SignatureDef &signature) {
  Writes(graph).check(signature);
}

} // namespace lathe::tensorflow
