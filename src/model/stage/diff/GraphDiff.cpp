#include "stage/diff/GraphDiff.h"

#include "ir/Bodies.h"
#include "stage/diff/GraphPorts.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <set>

namespace lathe {
namespace {

using namespace stage;

const llvm::fltSemantics *semanticsOf(ElementType type) {
  switch (type) {
  case ElementType::f16:
    return &llvm::APFloat::IEEEhalf();
  case ElementType::bf16:
    return &llvm::APFloat::BFloat();
  case ElementType::f8e4m3fn:
    return &llvm::APFloat::Float8E4M3FN();
  case ElementType::f8e4m3fnuz:
    return &llvm::APFloat::Float8E4M3FNUZ();
  case ElementType::f8e5m2:
    return &llvm::APFloat::Float8E5M2();
  case ElementType::f8e5m2fnuz:
    return &llvm::APFloat::Float8E5M2FNUZ();
  default:
    return nullptr;
  }
}

template <class T> T readAs(const char *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// Element `index` of a constant whose elements take whole bytes.
std::string_view bitsAt(const nn::ConstantData &data, int64_t index) {
  int64_t width = bitWidth(data.type) / 8;
  return {data.bytes.data() + (data.splat ? 0 : index * width), static_cast<size_t>(width)};
}
double numberAt(const nn::ConstantData &data, int64_t index) {
  int64_t width = bitWidth(data.type) / 8;
  const char *at = bitsAt(data, index).data();
  switch (data.type) {
  case ElementType::f32:
    return readAs<float>(at);
  case ElementType::f64:
    return readAs<double>(at);
  case ElementType::i8:
    return readAs<int8_t>(at);
  case ElementType::i16:
    return readAs<int16_t>(at);
  case ElementType::i32:
    return readAs<int32_t>(at);
  case ElementType::i64:
    return static_cast<double>(readAs<int64_t>(at));
  case ElementType::u8:
  case ElementType::boolean:
    return readAs<uint8_t>(at);
  case ElementType::u16:
    return readAs<uint16_t>(at);
  case ElementType::u32:
    return readAs<uint32_t>(at);
  case ElementType::u64:
    return static_cast<double>(readAs<uint64_t>(at));
  default:
    break;
  }
  llvm::APFloat value(*semanticsOf(data.type), llvm::APInt(static_cast<unsigned>(8 * width),
                                                           width == 2 ? readAs<uint16_t>(at) : readAs<uint8_t>(at)));
  bool loses;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return value.convertToDouble();
}

bool hasNumbers(const GraphConstant &constant) { return constant.data && bitWidth(constant.data->type) >= 8; }

std::string typed(const GraphConstant &constant) {
  return fmt::format("{} {}", constant.data ? name(constant.data->type) : "string", constant.dims);
}

class Comparison {
public:
  Comparison(const GraphNodes &a, const GraphNodes &b, double tolerance)
      : a(a), b(b), tolerance(tolerance), match(a, b) {}

  GraphDiff run() {
    diff.nodesA = a.nodes.size();
    diff.nodesB = b.nodes.size();
    diff.ports = comparePorts(a, b, match);
    compareResults();
    listAlone(a, match.partnersOfA(), diff.onlyA);
    listAlone(b, match.partnersOfB(), diff.onlyB);
    for (size_t x = 0; x < a.nodes.size(); ++x)
      if (size_t y = match.partnersOfA()[x]; y != GraphMatch::nobody)
        comparePartners(x, y);
    return std::move(diff);
  }

private:
  const GraphNodes &a, &b;
  double tolerance;
  GraphMatch match;
  GraphDiff diff;

  GraphDiff::Nodes nodes(size_t x, size_t y) const { return {a.nodes[x].name, b.nodes[y].name, a.nodes[x].kind}; }

  static std::string nameOf(const GraphNodes &graph, const Source &source) {
    switch (source.kind) {
    case Source::none:
      return "nothing";
    case Source::node:
      return graph.nodes[source.index].name + (source.result ? fmt::format(":{}", source.result) : "");
    case Source::input:
      return fmt::format("input {}", graph.inputs[source.index].name);
    case Source::constant:
      return "a constant";
    }
    return "";
  }

  bool isSettled(const GraphNodes &graph, const std::vector<size_t> &partners, const Source &source) const {
    return source.kind != Source::node || partners[source.index] != GraphMatch::nobody;
  }
  /// True if the difference of two values needs a line: nodes without a partner already have one.
  bool isMisplaced(const Source &x, const Source &y) const {
    return !match.same(x, y) && isSettled(a, match.partnersOfA(), x) && isSettled(b, match.partnersOfB(), y);
  }

  /// Compares the sources of outputs.
  void compareResults() {
    for (size_t i = 0; i < a.outputs.size(); ++i)
      if (size_t j = match.outputPartners()[i]; j != GraphMatch::nobody)
        if (const Source &x = a.outputs[i].source, &y = b.outputs[j].source; isMisplaced(x, y) && !isSkipped(x, y))
          diff.ports.push_back(
              {fmt::format("output '{}'", a.outputs[i].name), "source", nameOf(a, x), nameOf(b, y), {}});
  }

  static constexpr size_t farthest = 256; // limit on visited nodes without a partner

  /// True if a path over nodes without a partner leads from one value to the other.
  bool isSkipped(const Source &x, const Source &y) const {
    return reaches(b, match.partnersOfB(), y, [&](const Source &source) { return match.same(x, source); }) ||
           reaches(a, match.partnersOfA(), x, [&](const Source &source) { return match.same(source, y); });
  }
  static bool reaches(const GraphNodes &graph, const std::vector<size_t> &partners, const Source &from,
                      const std::function<bool(const Source &)> &wanted) {
    return firstSource(graph, partners, {from}, wanted).has_value();
  }

  /// The first wanted source among `from` and, in growing distance, the operands of nodes in `from` that have no
  /// partner.
  static std::optional<Source> firstSource(const GraphNodes &graph, const std::vector<size_t> &partners,
                                           std::vector<Source> from,
                                           const std::function<bool(const Source &)> &wanted) {
    std::set<size_t> visited;
    for (size_t next = 0; next < from.size(); ++next) {
      const Source source = from[next];
      if (wanted(source))
        return source;
      if (source.kind != Source::node || partners[source.index] != GraphMatch::nobody || visited.size() >= farthest ||
          !visited.insert(source.index).second)
        continue;
      const auto &operands = graph.nodes[source.index].operands;
      from.insert(from.end(), operands.begin(), operands.end());
    }
    return std::nullopt;
  }

  /// The nearest reader of `node` that has a partner or is an output.
  struct Reader {
    std::string name; // "": none
    bool isNode = false;
  };
  static Reader readerOf(const GraphNodes &graph, const std::vector<size_t> &partners, size_t node) {
    std::map<size_t, std::string> outputs;
    for (const GraphPort &output : graph.outputs)
      if (output.source.kind == Source::node)
        outputs.try_emplace(output.source.index, output.name);
    std::vector<size_t> nodes{node};
    std::set<size_t> visited{node};
    for (size_t next = 0; next < nodes.size() && next < farthest; ++next) {
      if (auto output = outputs.find(nodes[next]); output != outputs.end())
        return {fmt::format("output {}", output->second)};
      for (const auto &uses : graph.nodes[nodes[next]].uses)
        for (const GraphNode::Use &use : uses) {
          if (partners[use.reader] != GraphMatch::nobody)
            return {graph.nodes[use.reader].name, true};
          if (visited.insert(use.reader).second)
            nodes.push_back(use.reader);
        }
    }
    return {};
  }

  static bool mostlyPartners(const std::vector<size_t> &partners) {
    auto alone = std::count(partners.begin(), partners.end(), GraphMatch::nobody);
    return static_cast<size_t>(alone) * 2 < partners.size();
  }

  void listAlone(const GraphNodes &graph, const std::vector<size_t> &partners,
                 std::vector<GraphDiff::Alone> &list) const {
    bool alike = mostlyPartners(match.partnersOfA()) && mostlyPartners(match.partnersOfB());
    for (size_t node = 0; node < graph.nodes.size(); ++node)
      if (partners[node] == GraphMatch::nobody) {
        GraphDiff::Alone alone{graph.nodes[node].name, graph.nodes[node].kind, "", "", ""};
        if (auto source = firstSource(graph, partners, graph.nodes[node].operands, [&](const Source &candidate) {
              return candidate.kind == Source::input ||
                     (candidate.kind == Source::node && partners[candidate.index] != GraphMatch::nobody);
            })) {
          alone.before = nameOf(graph, *source);
          alone.port = source->kind == Source::input ? graph.inputs[source->index].name : "";
        }
        Reader reader = readerOf(graph, partners, node);
        alone.behind = reader.name;
        if (!alike || !reader.isNode)
          alone.port.clear();
        list.push_back(std::move(alone));
      }
  }

  void comparePartners(size_t x, size_t y) {
    const GraphNode &own = a.nodes[x], &other = b.nodes[y];
    ++diff.partners;
    if (own.kind != other.kind) {
      diff.attributes.push_back({nodes(x, y), "operator", own.kind, other.kind});
      return;
    }
    for (const auto &[name, value] : own.attributes)
      if (auto there = other.attributes.find(name); there != other.attributes.end() && there->second != value &&
                                                    !(name == "shape" && compatible(own.extents, other.extents)))
        diff.attributes.push_back({nodes(x, y), name, value, there->second});
    for (size_t slot = 0; slot < std::max(own.operands.size(), other.operands.size()); ++slot) {
      size_t there = match.slotOf(x, y, slot);
      Source from = slot < own.operands.size() ? own.operands[slot] : Source();
      Source to = there < other.operands.size() ? other.operands[there] : Source();
      if (from.kind == Source::constant && to.kind == Source::constant)
        compareConstants(x, y, own.operandName(slot), a.constants[from.index], b.constants[to.index]);
      else if (isMisplaced(from, to))
        diff.connections.push_back({nodes(x, y), own.operandName(slot), nameOf(a, from), nameOf(b, to)});
    }
    compareBodies(own, other);
  }

  void compareConstants(size_t x, size_t y, const std::string &operand, const GraphConstant &own,
                        const GraphConstant &other) {
    ++diff.constants;
    if (own.content == other.content) {
      ++diff.equalConstants;
      return;
    }
    GraphDiff::Constant result{nodes(x, y), operand, typed(own), typed(other), {}, 0, {}, 0, 0, 0, own.elements};
    if (own.dims == other.dims && own.elements > 0 && hasNumbers(own) && hasNumbers(other)) {
      bool signs = measure(*own.data, *other.data, result);
      // Accepts rounding, such as after folding in another order. Integers do not round, and 1 / -0 differs from 1 / 0.
      if (own.data->type == other.data->type && isFloat(own.data->type) && !signs && result.relative <= tolerance) {
        diff.largestAccepted = std::max(diff.largestAccepted, result.relative);
        return;
      }
    }
    diff.differing.push_back(std::move(result));
  }

  /// Returns true if zeros have different signs.
  static bool measure(const nn::ConstantData &own, const nn::ConstantData &other, GraphDiff::Constant &result) {
    double square = 0, norm = 0, largest = 0;
    int64_t at = 0;
    bool signs = false, integers = own.type == other.type && !isFloat(own.type);
    for (int64_t i = 0; i < result.elements; ++i) {
      double x = numberAt(own, i), y = numberAt(other, i);
      norm += std::isfinite(x) ? x * x : 0;
      bool otherSign = x == 0 && y == 0 && std::signbit(x) != std::signbit(y);
      // Two different 64-bit integers may be the same double.
      if (integers ? bitsAt(own, i) == bitsAt(other, i) : (x == y && !otherSign) || (std::isnan(x) && std::isnan(y)))
        continue;
      signs |= otherSign;
      double difference = std::isnan(x - y) ? INFINITY : std::max(std::abs(x - y), integers ? 1.0 : 0.0);
      square += difference * difference;
      if (++result.differing == 1 || difference > largest) {
        largest = difference;
        at = i;
      }
    }
    result.largest = largest;
    result.relative = square == 0 ? 0 : norm > 0 ? std::sqrt(square / norm) : INFINITY;
    result.a = numberAt(own, at);
    result.b = numberAt(other, at);
    result.position.assign(own.dims.size(), 0);
    for (size_t axis = own.dims.size(); axis-- > 0; at /= own.dims[axis])
      result.position[axis] = at % own.dims[axis];
    return signs;
  }

  void compareBodies(const GraphNode &own, const GraphNode &other) {
    auto bodies = nn::bodiesOf(own.op), others = nn::bodiesOf(other.op);
    for (size_t i = 0; i < std::min(bodies.size(), others.size()); ++i) {
      GraphDiff inner = diffGraphs(bodies[i].main, others[i].main, tolerance);
      diff.nodesA += inner.nodesA;
      diff.nodesB += inner.nodesB;
      diff.partners += inner.partners;
      diff.constants += inner.constants;
      diff.equalConstants += inner.equalConstants;
      diff.largestAccepted = std::max(diff.largestAccepted, inner.largestAccepted);
      for (GraphDiff::Port &port : inner.ports) {
        port.port += fmt::format(" of a body of '{}'", own.name);
        // inputs of a body come from the model itself, so the caller does not choose their layout
        port.what = port.what == "layout" ? "axes" : port.what;
      }
      auto append = [](auto &list, auto &more) { list.insert(list.end(), more.begin(), more.end()); };
      append(diff.ports, inner.ports);
      append(diff.onlyA, inner.onlyA);
      append(diff.onlyB, inner.onlyB);
      append(diff.connections, inner.connections);
      append(diff.attributes, inner.attributes);
      append(diff.differing, inner.differing);
    }
  }
};

} // namespace

GraphDiff diffGraphs(mlir::func::FuncOp a, mlir::func::FuncOp b, double tolerance) {
  GraphNodes own(a), other(b);
  return Comparison(own, other, tolerance).run();
}

} // namespace lathe
