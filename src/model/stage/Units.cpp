#include "stage/Units.h"

#include "ir/Bodies.h"

#include <map>
#include <queue>

namespace lathe::staging {
namespace {

constexpr size_t fewestInScope = 6; // operators; fewer are as readable in place

/// Units, and for every unit the units that it depends on.
struct Dependences {
  std::vector<Unit> units;
  std::vector<size_t> place; // position of the first operation in the program
  std::vector<std::vector<size_t>> readers;
  std::vector<size_t> waits;

  Dependences(mlir::func::FuncOp main, const std::vector<Group> &groups) {
    llvm::DenseMap<mlir::Operation *, size_t> unitOf;
    for (size_t g = 0; g < groups.size(); ++g)
      for (size_t i = 0; i < groups[g].occurrences.size(); ++i) {
        for (mlir::Operation *op : groups[g].occurrences[i].operations)
          unitOf[op] = units.size();
        units.push_back({nullptr, g, i});
      }
    place.resize(units.size(), SIZE_MAX);
    size_t at = 0;
    for (mlir::Operation &op : main.getBody().front().without_terminator()) {
      if (llvm::isa<nn::ConstantOp>(op))
        continue;
      auto [found, added] = unitOf.try_emplace(&op, units.size());
      if (added) {
        units.push_back({&op});
        place.push_back(SIZE_MAX);
      }
      place[found->second] = std::min(place[found->second], at++);
    }
    readers.resize(units.size());
    waits.resize(units.size());
    for (auto [op, unit] : unitOf)
      for (mlir::Value operand : op->getOperands())
        if (auto made = unitOf.find(operand.getDefiningOp()); operand.getDefiningOp() && made != unitOf.end())
          if (made->second != unit) {
            readers[made->second].push_back(unit);
            ++waits[unit];
          }
  }

  /// Indices of the units, each after the units that it depends on. Units that depend on each other are missing.
  std::vector<size_t> order() {
    std::priority_queue<std::pair<size_t, size_t>, std::vector<std::pair<size_t, size_t>>, std::greater<>> ready;
    for (size_t unit = 0; unit < units.size(); ++unit)
      if (waits[unit] == 0)
        ready.emplace(place[unit], unit);
    std::vector<size_t> result;
    while (!ready.empty()) {
      size_t unit = ready.top().second;
      ready.pop();
      result.push_back(unit);
      for (size_t reader : readers[unit])
        if (--waits[reader] == 0)
          ready.emplace(place[reader], reader);
    }
    return result;
  }
};

/// The parts of a name between its separators, without the last part.
std::vector<std::string> scopesOf(mlir::Operation *op) {
  std::vector<std::string> parts;
  std::string name = nodeName(op), part;
  for (char c : name)
    if (c == '/' || c == '.') {
      if (!part.empty())
        parts.push_back(part);
      part.clear();
    } else {
      part += c;
    }
  return parts;
}

/// The beginning of a name up to scope `depth`, without the separator.
std::string beginning(const std::string &name, size_t depth) {
  size_t parts = 0;
  bool inPart = false;
  for (size_t i = 0; i < name.size(); ++i) {
    bool separator = name[i] == '/' || name[i] == '.';
    if (separator && inPart && ++parts == depth)
      return name.substr(0, i);
    inPart = !separator;
  }
  return "";
}

} // namespace

std::vector<Unit> unitsInOrder(mlir::func::FuncOp main, std::vector<Group> &groups) {
  for (;;) {
    Dependences dependences(main, groups);
    std::vector<size_t> order = dependences.order();
    if (order.size() == dependences.units.size()) {
      std::vector<Unit> units;
      for (size_t unit : order)
        units.push_back(dependences.units[unit]);
      return units;
    }
    std::set<size_t> circular;
    for (size_t unit = 0; unit < dependences.units.size(); ++unit)
      if (dependences.waits[unit] && !dependences.units[unit].operation)
        circular.insert(dependences.units[unit].group);
    groups.erase(groups.begin() + static_cast<int64_t>(*circular.rbegin()));
  }
}

std::vector<Group> scopeGroups(const std::vector<Unit> &units) {
  std::vector<std::string> common;
  bool first = true;
  for (const Unit &unit : units)
    if (unit.operation) {
      std::vector<std::string> scopes = scopesOf(unit.operation);
      if (first)
        common = scopes;
      size_t equal = 0;
      while (equal < std::min(common.size(), scopes.size()) && common[equal] == scopes[equal])
        ++equal;
      common.resize(equal);
      first = false;
    }
  std::vector<Group> groups;
  std::string current;
  BlockOccurrence run;
  auto close = [&] {
    if (run.operations.size() >= fewestInScope) {
      run.scope = beginning(nodeName(run.operations.front()), common.size() + 1);
      groups.push_back({current, {run}});
    }
    run.operations.clear();
  };
  for (const Unit &unit : units) {
    std::vector<std::string> scopes = unit.operation ? scopesOf(unit.operation) : std::vector<std::string>();
    bool isScoped = unit.operation && scopes.size() > common.size() && nn::bodiesOf(unit.operation).empty();
    std::string scope = isScoped ? scopes[common.size()] : "";
    if (scope != current)
      close();
    current = scope;
    if (isScoped)
      run.operations.push_back(unit.operation);
  }
  close();
  return groups;
}

} // namespace lathe::staging
