#include "stage/diff/GraphPorts.h"

#include <algorithm>
#include <numeric>

namespace lathe::stage {
namespace {

/// The axis of A's port for each axis of B's port, such that both graphs compute with the same tensor. Empty: the same
/// axes.
std::vector<size_t> axesBetween(const GraphPort &a, const GraphPort &b) {
  size_t rank = a.shape.size();
  if (rank != b.shape.size())
    return {};
  auto inside = [](const GraphPort &port, size_t axis) {
    return port.order.empty() ? axis : static_cast<size_t>(port.order[axis]);
  };
  std::vector<size_t> axes(rank), own(rank);
  for (size_t axis = 0; axis < rank; ++axis)
    axes[inside(b, axis)] = inside(a, axis);
  std::iota(own.begin(), own.end(), size_t(0));
  return axes == own ? std::vector<size_t>() : axes;
}

/// True if only the channels move: from the last axis to the axis behind the batch, or back. `lathe compare
/// --adapt-layouts` adapts inputs and outputs with this difference.
bool moveChannels(const std::vector<size_t> &axes) {
  size_t rank = axes.size();
  if (rank < 3 || axes[0] != 0)
    return false;
  bool toFirst = axes[1] == rank - 1, toLast = axes[rank - 1] == 1;
  for (size_t axis = 2; axis < rank; ++axis)
    toFirst &= axes[axis] == axis - 1;
  for (size_t axis = 1; axis + 1 < rank; ++axis)
    toLast &= axes[axis] == axis + 1;
  return toFirst || toLast;
}

Dims reordered(const Dims &dims, const std::vector<size_t> &axes) {
  Dims result = dims;
  for (size_t axis = 0; axis < axes.size(); ++axis)
    result[axis] = dims[axes[axis]];
  return result;
}

/// The correspondence of A's symbols and B's symbols, derived from the extents of the ports.
class Symbols {
public:
  /// True if both extents are equal after renaming A's symbols. If each extent has one symbol that occurs for the first
  /// time, these two symbols may correspond.
  bool equal(const Dim &x, const Dim &y) {
    std::vector<std::string> own = unknown(x, toB), others = unknown(y, toA);
    if (own.size() != others.size() || own.size() > 1)
      return false;
    auto named = [&](const std::string &symbol) -> std::optional<Dim> {
      auto known = toB.find(symbol);
      return Dim::symbol(known == toB.end() ? others[0] : known->second);
    };
    if (x.substitute(named) != y)
      return false;
    if (!own.empty()) {
      toB[own[0]] = others[0];
      toA[others[0]] = own[0];
    }
    return true;
  }

  bool equal(const Dims &x, const Dims &y) {
    bool all = x.size() == y.size();
    for (size_t axis = 0; all && axis < x.size(); ++axis)
      all = equal(x[axis], y[axis]);
    return all;
  }

  /// Pairs extents that are a single symbol on each side. Formulas consist of these symbols.
  void define(const Dims &x, const Dims &y) {
    for (size_t axis = 0; axis < std::min(x.size(), y.size()); ++axis)
      if (isSymbol(x[axis]) && isSymbol(y[axis]))
        equal(x[axis], y[axis]);
  }

private:
  std::map<std::string, std::string> toB, toA;

  static std::vector<std::string> unknown(const Dim &dim, const std::map<std::string, std::string> &known) {
    std::vector<std::string> names;
    dim.collectSymbols(names);
    std::erase_if(names, [&](const std::string &name) { return known.count(name) > 0; });
    return names;
  }
  static bool isSymbol(const Dim &dim) {
    std::vector<std::string> names;
    dim.collectSymbols(names);
    return names.size() == 1 && dim == Dim::symbol(names[0]);
  }
};

/// The inputs, or the outputs.
struct Ports {
  const char *kind;
  const std::vector<GraphPort> &own, &others;
  const std::vector<size_t> &partners;

  void define(Symbols &symbols) const {
    for (size_t i = 0; i < own.size(); ++i)
      if (size_t j = partners[i]; j != GraphMatch::nobody)
        symbols.define(reordered(own[i].shape, axesBetween(own[i], others[j])), others[j].shape);
  }

  void compare(Symbols &symbols, std::vector<GraphDiff::Port> &found) const {
    auto add = [&](const std::string &port, const char *what, const std::string &x, const std::string &y) {
      if (x != y)
        found.push_back({fmt::format("{} '{}'", kind, port), what, x, y, {}});
    };
    auto described = [](const GraphPort &port) { return port.type + " " + str(port.shape); };
    std::vector<char> taken(others.size(), 0);
    for (size_t i = 0; i < own.size(); ++i) {
      size_t j = partners[i];
      if (j == GraphMatch::nobody) {
        add(own[i].name, "missing", described(own[i]), "nothing");
        continue;
      }
      taken[j] = 1;
      add(own[i].name, "name", own[i].name, others[j].name);
      add(own[i].name, "position", std::to_string(i), std::to_string(j));
      add(own[i].name, "type", own[i].type, others[j].type);
      std::vector<size_t> axes = axesBetween(own[i], others[j]);
      if (!axes.empty())
        found.push_back({fmt::format("{} '{}'", kind, own[i].name), moveChannels(axes) ? "layout" : "axes",
                         str(own[i].shape), str(others[j].shape), axes});
      Dims shape = reordered(own[i].shape, axes);
      if (!symbols.equal(shape, others[j].shape))
        found.push_back({fmt::format("{} '{}'", kind, own[i].name), "extents", str(shape), str(others[j].shape), {}});
    }
    for (size_t j = 0; j < others.size(); ++j)
      if (!taken[j])
        add(others[j].name, "missing", "nothing", described(others[j]));
  }
};

} // namespace

std::vector<GraphDiff::Port> comparePorts(const GraphNodes &a, const GraphNodes &b, const GraphMatch &match) {
  Ports inputs{"input", a.inputs, b.inputs, match.inputPartners()};
  Ports outputs{"output", a.outputs, b.outputs, match.outputPartners()};
  Symbols symbols;
  std::vector<GraphDiff::Port> found;
  for (const Ports *ports : {&inputs, &outputs})
    ports->define(symbols);
  for (const Ports *ports : {&inputs, &outputs})
    ports->compare(symbols, found);
  return found;
}

} // namespace lathe::stage
