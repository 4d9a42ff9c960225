#include "verify/Inside.h"

#include "runtime/plan/Program.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace lathe::verify {
namespace {

class Observer {
public:
  Observer(runtime::Context &context, const NodeValues &expected, const std::map<std::string, Tensor> &outputs,
           const lab::Tolerance &tolerance)
      : context(context), expected(expected), outputs(outputs), tolerance(tolerance) {
    for (uint32_t i = 0; i < context.instructionCount(); ++i) {
      runtime::InstructionInfo info = context.instruction(i);
      for (uint32_t value : info.outputs)
        if (std::string node = nodeOf(info, value); !node.empty())
          last[node] = i;
      for (const std::string &node : info.nodes)
        last[node] = i;
    }
  }

  void observe(uint32_t instruction) {
    runtime::InstructionInfo info = context.instruction(instruction);
    if (info.outputs.empty() || !seen.insert(instruction).second)
      return;
    ++found.kernels;
    std::optional<LeftOut> left;
    Makers makers = makersOf(info);
    for (uint32_t value : info.outputs) {
      NodeComparison whole = compare(info, instruction, value);
      std::vector<NodeComparison> comparisons =
          whole.difference ? std::vector{whole} : compareParts(info, instruction, value);
      for (const NodeComparison &comparison : comparisons)
        add(comparison, info, instruction, makers);
      std::erase_if(unknown, [&](const auto &before) { return overlap(before.first, value); });
      if (comparisons.empty()) {
        unknown[value] = makers;
        if (!left)
          left = LeftOut{std::string(info.name), nameOf(value), whole.reason};
      }
    }
    if (left)
      found.leftOut.push_back(std::move(*left));
  }

  Inside found;

private:
  using Names = std::vector<std::string>;
  /// Kernels that may have computed a value wrongly: the kernel that writes it, and earlier kernels whose results
  /// cannot be compared.
  struct Makers {
    Names kernels, nodes;
  };

  runtime::Context &context;
  const NodeValues &expected;
  const std::map<std::string, Tensor> &outputs;
  const lab::Tolerance &tolerance;
  std::map<std::string, uint32_t> last; // the last instruction that computes a part of the node
  std::set<uint32_t> seen;              // a loop runs an instruction several times
  std::map<uint32_t, Makers> unknown;   // for values that are not compared

  void add(const NodeComparison &comparison, const runtime::InstructionInfo &info, uint32_t instruction,
           const Makers &makers) {
    bool agrees = comparison.difference->within(tolerance);
    found.compared.push_back({comparison.node, agrees ? std::string(info.name) : text(makers.kernels),
                              agrees ? Names(info.nodes.begin(), info.nodes.end()) : makers.nodes,
                              *comparison.difference});
    found.instructions.push_back(instruction);
  }

  /// True if both values share bytes: layouts of one order, reshapes and parts of concatenations are aliases.
  bool overlap(uint32_t one, uint32_t other) const {
    const std::vector<runtime::ValueInfo> &values = context.plan().values;
    if (one == other || values[one].root != values[other].root)
      return one == other;
    runtime::ValuePlace a = context.place(one), b = context.place(other);
    bool known = std::min({a.offset, a.bytes, b.offset, b.bytes}) >= 0;
    return !known || (a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes);
  }

  static void append(Names &names, const std::string &name) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  }

  static std::string text(const Names &names) { return fmt::format("{}", fmt::join(names, ", ")); }

  Makers makersOf(const runtime::InstructionInfo &info) const {
    Makers makers;
    auto add = [&](const auto &kernels, const auto &nodes) {
      for (const auto &kernel : kernels)
        append(makers.kernels, std::string(kernel));
      for (const std::string &node : nodes)
        append(makers.nodes, node);
    };
    for (uint32_t value : info.inputs)
      for (const auto &[before, its] : unknown)
        if (overlap(before, value))
          add(its.kernels, its.nodes);
    add(std::array{info.name}, info.nodes);
    return makers;
  }

  const std::string &nameOf(uint32_t value) const { return context.plan().values[value].name; }

  bool isOutput(uint32_t value) const {
    const std::vector<uint32_t> &all = context.plan().outputs;
    return std::find(all.begin(), all.end(), value) != all.end();
  }

  /// The node to which the value belongs, as its result or as a step; outputs have other names.
  std::string nodeOf(const runtime::InstructionInfo &info, uint32_t value) const {
    if (!isOutput(value))
      return expected.nodeOf(nameOf(value));
    return info.nodes.empty() || !expected.isNode(info.nodes.back()) ? "" : info.nodes.back();
  }

  /// The comparisons of the parts of `value`, which is no node's value: a kernel of merged convolutions writes the
  /// results of several nodes. Empty if some bytes of it belong to none of the parts that can be compared.
  std::vector<NodeComparison> compareParts(const runtime::InstructionInfo &info, uint32_t instruction,
                                           uint32_t value) const {
    std::vector<NodeComparison> parts;
    int64_t bytes = 0;
    for (uint32_t part = 0; part < context.plan().values.size(); ++part) {
      std::string node = part == value || !overlap(part, value) ? "" : nodeOf(info, part);
      if (std::find(info.nodes.begin(), info.nodes.end(), node) == info.nodes.end())
        continue;
      NodeComparison comparison = compare(info, instruction, part);
      if (!comparison.difference)
        continue;
      bytes += context.place(part).bytes;
      parts.push_back(std::move(comparison));
    }
    return bytes == context.place(value).bytes ? parts : std::vector<NodeComparison>();
  }

  NodeComparison compare(const runtime::InstructionInfo &info, uint32_t instruction, uint32_t value) const {
    if (!context.plan().outermost[instruction])
      return {"", {}, "is inside of a branch or a loop, whose results are compared"};
    Value computed = context.readValue(value);
    if (!computed.isTensor())
      return {"", {}, "is no tensor"};
    if (isOutput(value))
      if (auto output = outputs.find(nameOf(value)); output != outputs.end())
        return {output->first, lab::difference(computed.tensor(), output->second)};
    std::string node = nodeOf(info, value);
    auto at = last.find(node);
    return expected.compare(computed.tensor(), node, at != last.end() && at->second == instruction, tolerance);
  }
};

} // namespace

Inside compareInside(runtime::Context &context, const NodeValues &expected,
                     const std::map<std::string, Tensor> &outputs, const lab::Tolerance &tolerance) {
  Observer observer(context, expected, outputs, tolerance);
  runtime::RunOptions run;
  run.observe = [&](uint32_t instruction) { observer.observe(instruction); };
  context.run(run);
  return std::move(observer.found);
}

std::string Divergence::str() const {
  return fmt::format("first diverging node: '{}' (kernel {}: {}): {}; element {} is {:.8g}, the reference has {:.8g}",
                     value, kernel, fmt::join(nodes, "+"), difference.str(), difference.worst, difference.computed,
                     difference.expected);
}

} // namespace lathe::verify
