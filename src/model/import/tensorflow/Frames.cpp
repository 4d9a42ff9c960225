// Rebuilds the control flow of TensorFlow 1 as While and If nodes with graphs.
//
// A loop is a frame. Every variable enters through Enter into Merge, which gets the value of the next iteration from
// NextIteration. Switch, controlled by LoopCond, sends the value of Merge to the body (result 1) or out through Exit
// (result 0). Values that do not change enter without a Merge. A branch has Switch nodes with one condition in front of
// the nodes of both branches, and a Merge behind them.
#include "import/tensorflow/TensorFlow.h"

#include <set>

namespace lathe::tensorflow {
namespace {

std::string nodeOf(const std::string &tensor) { return tensor.substr(0, tensor.rfind(':')); }

NodeRecord identity(const std::string &to, const std::string &from) {
  NodeRecord node;
  node.name = to;
  node.op = "Identity";
  node.inputs = {from};
  node.outputs = {to};
  return node;
}

AttributeRecord graphAttribute(const char *name, GraphRecord graph) {
  AttributeRecord attribute;
  attribute.name = name;
  attribute.graphs.push_back(std::move(graph));
  return attribute;
}

/// The nodes of a graph by the names of their results, with their readers. Nodes are removed and added.
class Nodes {
public:
  explicit Nodes(GraphRecord &graph) {
    for (NodeRecord &node : graph.nodes)
      add(std::move(node));
    graph.nodes.clear();
  }

  std::vector<NodeRecord> all() {
    std::vector<NodeRecord> result;
    for (auto &node : nodes)
      if (node)
        result.push_back(std::move(*node));
    return result;
  }
  size_t count() const { return nodes.size(); }
  NodeRecord *at(size_t index) { return nodes[index] ? &*nodes[index] : nullptr; }
  NodeRecord &operator[](size_t index) {
    require(nodes.at(index).has_value(), "its control flow is a tangle of loops and branches");
    return *nodes[index];
  }

  std::optional<size_t> producer(const std::string &tensor) const {
    auto found = producers.find(nodeOf(tensor));
    return found == producers.end() ? std::nullopt : std::optional(found->second);
  }
  NodeRecord *node(const std::string &tensor) {
    auto index = producer(tensor);
    return index ? at(*index) : nullptr;
  }

  void add(NodeRecord node) {
    for (const std::string &output : node.outputs)
      if (!output.empty())
        producers[nodeOf(output)] = nodes.size();
    for (const std::string &input : namesRead(node))
      readers[nodeOf(input)].insert(nodes.size());
    nodes.push_back(std::move(node));
  }
  NodeRecord take(size_t index) {
    NodeRecord node = std::move((*this)[index]);
    nodes[index].reset();
    for (const std::string &output : node.outputs)
      if (auto found = producers.find(nodeOf(output)); found != producers.end() && found->second == index)
        producers.erase(found);
    for (const std::string &input : namesRead(node))
      readers[nodeOf(input)].erase(index);
    return node;
  }

  /// All nodes that depend on `from`, without `from`. The search does not continue behind a node for which `stops` is
  /// true.
  template <class Stops> std::set<size_t> dependants(std::vector<size_t> from, Stops stops) {
    std::set<size_t> result;
    while (!from.empty()) {
      size_t index = from.back();
      from.pop_back();
      std::set<std::string> names;
      for (const std::string &output : (*this)[index].outputs)
        if (!output.empty())
          names.insert(nodeOf(output));
      for (const std::string &name : names)
        for (size_t reader : readers[name])
          if (nodes.at(reader) && result.insert(reader).second && !stops(*nodes[reader]))
            from.push_back(reader);
    }
    return result;
  }

private:
  std::vector<std::optional<NodeRecord>> nodes;
  std::map<std::string, size_t> producers;
  std::map<std::string, std::set<size_t>> readers;
};

// ---- Loops --------------------------------------------------------------------------------------------------------

const std::string *textOf(const NodeRecord &node, const char *attr) {
  const AttributeRecord *attribute = attributeOf(node, attr);
  return attribute ? std::get_if<std::string>(&attribute->value) : nullptr;
}

/// A variable of a loop, with the nodes that carry it.
struct LoopVariable {
  size_t merge;
  std::string initial, next;              // tensors
  std::optional<size_t> loopSwitch, exit; // a variable that is not read after the loop has no exit
};

class Loops {
public:
  explicit Loops(Nodes &nodes) : nodes(nodes) {}

  void rebuild() {
    for (size_t i = 0; i < nodes.count(); ++i)
      if (NodeRecord *node = nodes.at(i); node && node->op == "Enter") {
        const std::string *frame = textOf(*node, "frame_name");
        require(frame != nullptr, "node '{}' (Enter): has no frame", oneLine(node->name));
        frames[*frame].push_back(i);
      }
    std::vector<std::string> names;
    for (const auto &[name, enters] : frames)
      names.push_back(name);
    for (const std::string &name : names)
      if (frames.contains(name))
        rebuild(name, 0);
  }

private:
  Nodes &nodes;
  std::map<std::string, std::vector<size_t>> frames; // Enter nodes by frame

  std::vector<LoopVariable> variablesOf(const std::string &frame) {
    std::vector<LoopVariable> variables;
    for (size_t enter : frames.at(frame))
      for (size_t reader : nodes.dependants({enter}, [](const NodeRecord &) { return true; })) {
        NodeRecord &merge = nodes[reader];
        if (merge.op != "Merge" || merge.inputs.size() != 2)
          continue;
        bool first = nodeOf(merge.inputs[0]) == nodes[enter].name;
        NodeRecord *next = nodes.node(merge.inputs[first ? 1 : 0]);
        require(next && next->op == "NextIteration", "node '{}' (Merge): is in loop '{}', but has no next value",
                oneLine(merge.name), oneLine(frame));
        LoopVariable variable{reader, inputOf(nodes[enter], 0), inputOf(*next, 0), {}, {}};
        for (size_t user : nodes.dependants({reader}, [](const NodeRecord &) { return true; }))
          if (nodes[user].op == "Switch" && nodes[user].inputs.size() == 2 && nodes[user].inputs[0] == merge.name &&
              isLoopCondition(nodes[user].inputs[1]))
            variable.loopSwitch = user;
        if (variable.loopSwitch)
          for (size_t user : nodes.dependants({*variable.loopSwitch}, [](const NodeRecord &) { return true; }))
            if (nodes[user].op == "Exit" && inputOf(nodes[user], 0) == nodes[*variable.loopSwitch].name)
              variable.exit = user;
        variables.push_back(variable);
      }
    return variables;
  }

  bool isLoopCondition(const std::string &tensor) {
    NodeRecord *node = nodes.node(tensor);
    return node && node->op == "LoopCond" && !node->inputs.empty();
  }

  /// Rebuilds a loop; loops inside it are rebuilt first.
  void rebuild(const std::string &frame, int depth) {
    require(depth < mostNested, "loops are nested more than {} deep", mostNested);
    auto leaves = [](const NodeRecord &node) { return node.op == "Exit" || node.op == "NextIteration"; };
    for (;;) {
      std::vector<LoopVariable> variables = variablesOf(frame);
      std::string condition, inner;
      std::vector<size_t> merges;
      for (const LoopVariable &variable : variables) {
        merges.push_back(variable.merge);
        if (variable.loopSwitch)
          condition = inputOf(*nodes.node(nodes[*variable.loopSwitch].inputs[1]), 0);
      }
      require(!condition.empty(), "the frame '{}' is no while loop: nothing in it decides when it ends",
              oneLine(frame));
      std::set<size_t> inside = nodes.dependants(merges, leaves);
      for (size_t index : inside)
        if (nodes[index].op == "Enter" && *textOf(nodes[index], "frame_name") != frame)
          inner = *textOf(nodes[index], "frame_name");
      if (inner.empty() || !frames.contains(inner))
        return replace(frame, variables, condition, inside);
      rebuild(inner, depth + 1);
    }
  }

  void replace(const std::string &frame, const std::vector<LoopVariable> &variables, const std::string &condition,
               const std::set<size_t> &inside) {
    NodeRecord loop;
    loop.name = frame;
    loop.op = "While";
    GraphRecord test, body;
    std::set<size_t> gone;
    for (const LoopVariable &variable : variables) {
      const std::string merge = nodes[variable.merge].name;
      const std::string inBody = variable.loopSwitch ? nodes[*variable.loopSwitch].name + ":1" : merge + ":body";
      loop.inputs.push_back(variable.initial);
      loop.outputs.push_back(variable.exit ? nodes[*variable.exit].name : "");
      test.inputs.push_back(ValueRecord::named(merge));
      body.inputs.push_back(ValueRecord::named(inBody));
      body.nodes.push_back(identity(merge, inBody));
      body.outputs.push_back(ValueRecord::named(variable.next));
      gone.insert(variable.merge);
      for (const auto &index : {variable.loopSwitch, variable.exit, nodes.producer(nodes[variable.merge].inputs[0]),
                                nodes.producer(nodes[variable.merge].inputs[1])})
        if (index && (index == variable.loopSwitch || index == variable.exit || nodes[*index].op == "NextIteration"))
          gone.insert(*index);
    }
    test.outputs.push_back(ValueRecord::named(condition));
    for (size_t index : inside) {
      if (gone.contains(index))
        continue;
      gone.insert(index);
      const NodeRecord &node = nodes[index];
      if (node.op == "LoopCond" || node.op == "NextIteration" || node.op == "Exit" || node.op == "Switch")
        if (node.op != "Switch" || (node.inputs.size() == 2 && isLoopCondition(node.inputs[1])))
          continue;
      test.nodes.push_back(node);
      body.nodes.push_back(node);
    }
    for (size_t index : gone)
      nodes.take(index);
    for (size_t enter : frames.at(frame)) {
      NodeRecord node = nodes.take(enter);
      nodes.add(identity(node.name, inputOf(node, 0)));
    }
    frames.erase(frame);
    for (GraphRecord *graph : {&test, &body}) {
      prune(*graph);
      rebuildControlFlow(*graph);
      prune(*graph);
    }
    loop.attributes.push_back(graphAttribute("cond", std::move(test)));
    loop.attributes.push_back(graphAttribute("body", std::move(body)));
    nodes.add(std::move(loop));
  }
};

// ---- Branches -----------------------------------------------------------------------------------------------------

class Branches {
public:
  explicit Branches(Nodes &nodes) : nodes(nodes) {}

  void rebuild() {
    for (size_t i = 0, count = nodes.count(); i < count; ++i)
      if (NodeRecord *node = nodes.at(i); node && node->op == "Merge")
        rebuild(i, 0);
    for (size_t i = 0, count = nodes.count(); i < count; ++i)
      if (NodeRecord *node = nodes.at(i);
          node && node->op == "Switch" && node->inputs.size() == 2 && used.contains(node->name)) {
        NodeRecord both = nodes.take(i); // both results are the operand
        both.op = "IdentityN";
        both.inputs[1] = both.inputs[0];
        both.outputs = {both.name, both.name + ":1"};
        nodes.add(std::move(both));
      }
  }

private:
  Nodes &nodes;
  std::set<std::string> used; // Switch nodes of branches that were rebuilt
  std::set<size_t> open;      // Merge nodes that are being rebuilt

  /// The nodes between a result and the Switch nodes in front of it.
  struct Branch {
    std::set<size_t> nodes, switches;
    std::set<bool> ports;
  };

  std::string throughIdentities(std::string tensor) {
    for (NodeRecord *node = nodes.node(tensor); node && node->op == "Identity" && node->inputs.size() == 1;
         node = nodes.node(tensor))
      tensor = node->inputs[0];
    return tensor;
  }

  Branch branchOf(const std::string &tensor, int depth) {
    Branch branch;
    std::vector<std::string> open = {tensor};
    while (!open.empty()) {
      std::string name = std::move(open.back());
      open.pop_back();
      auto index = nodes.producer(name);
      if (!index)
        continue;
      if (nodes[*index].op == "Switch") {
        branch.switches.insert(*index);
        branch.ports.insert(name.ends_with(":1"));
        continue;
      }
      if (nodes[*index].op == "Merge") {
        rebuild(*index, depth + 1); // branches inside come first
        index = nodes.producer(name);
        if (!index)
          continue;
      }
      if (!branch.nodes.insert(*index).second)
        continue;
      for (const std::string &input : namesRead(nodes[*index]))
        open.push_back(input);
    }
    return branch;
  }

  void rebuild(size_t merge, int depth) {
    require(depth < mostNested, "branches are nested more than {} deep", mostNested);
    if (!open.insert(merge).second)
      return;
    const NodeRecord node = nodes[merge];
    Branch sides[2];
    std::set<std::string> conditions;
    std::set<size_t> switches;
    std::optional<bool> firstIsTrue;
    // Result 1, the index of the branch taken, must not be read.
    bool clear = node.inputs.size() == 2 && (node.outputs.size() == 1 || node.outputs[1].empty());
    for (size_t i = 0; clear && i < 2; ++i) {
      sides[i] = branchOf(node.inputs[i], depth);
      for (size_t index : sides[i].switches) {
        conditions.insert(throughIdentities(inputOf(nodes[index], 1)));
        switches.insert(index);
      }
      clear &= sides[i].ports.size() <= 1;
      if (sides[i].ports.size() == 1) {
        bool isTrue = *sides[i].ports.begin() == (i == 0);
        clear &= !firstIsTrue || *firstIsTrue == isTrue;
        firstIsTrue = isTrue;
      }
    }
    if (!clear || conditions.size() != 1 || !firstIsTrue)
      return; // the importer reports that it is not a branch
    std::set<size_t> behind = nodes.dependants({switches.begin(), switches.end()},
                                               [](const NodeRecord &other) { return other.op == "Merge"; });
    NodeRecord branch;
    branch.name = node.name;
    branch.op = "If";
    branch.inputs = {*conditions.begin()};
    branch.outputs = {node.outputs[0]};
    for (bool truth : {true, false}) {
      size_t side = truth == *firstIsTrue ? 0 : 1;
      GraphRecord graph;
      for (size_t index : sides[side].nodes)
        if (behind.contains(index))
          graph.nodes.push_back(nodes[index]);
      std::string result = node.name + (truth ? "/then" : "/else");
      graph.nodes.push_back(identity(result, node.inputs[side]));
      graph.outputs.push_back(ValueRecord::named(result));
      branch.attributes.push_back(graphAttribute(truth ? "then_branch" : "else_branch", std::move(graph)));
    }
    for (size_t index : switches)
      used.insert(nodes[index].name);
    nodes.take(merge);
    nodes.add(std::move(branch));
  }
};

} // namespace

void rebuildControlFlow(GraphRecord &graph) {
  bool any = false;
  for (NodeRecord &node : graph.nodes) {
    for (const char *op : {"Enter", "Exit", "Merge", "NextIteration", "Switch"})
      if (node.op == std::string("Ref") + op)
        node.op = op;
    any |= node.op == "Enter" || node.op == "Switch" || node.op == "Merge";
  }
  if (!any)
    return;
  Nodes nodes(graph);
  Loops(nodes).rebuild();
  Branches branches(nodes);
  branches.rebuild();
  graph.nodes = nodes.all();
}

} // namespace lathe::tensorflow
