#include "compile/Checkpoints.h"

#include "compile/PlanBuilder.h"
#include "ir/Main.h"
#include "ir/SymbolicShapes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace lathe {

/// Operators whose results depend on an input of the function.
static std::set<mlir::Operation *> dependingOnInputs(mlir::Block &body) {
  std::set<mlir::Operation *> depending;
  for (mlir::Operation &op : body)
    for (mlir::Value operand : op.getOperands()) {
      mlir::Operation *maker = operand.getDefiningOp();
      if (!maker || depending.count(maker))
        depending.insert(&op);
    }
  return depending;
}

/// By node: the values that other nodes read from its operators.
static std::map<std::string, std::vector<mlir::Value>> resultsByNode(mlir::Block &body) {
  std::map<std::string, std::vector<mlir::Value>> results;
  auto isNamed = [](mlir::Operation *op, const std::string &node) {
    return nn::recordOf(op) && llvm::is_contained(nn::nodeNames(op->getLoc()), node);
  };
  for (mlir::Operation &op : body.without_terminator())
    for (const std::string &node : nn::nodeNames(op.getLoc()))
      for (mlir::Value result : op.getResults())
        if (llvm::any_of(result.getUsers(), [&](mlir::Operation *user) { return !isNamed(user, node); }))
          results[node].push_back(result);
  return results;
}

std::vector<Checkpoint> checkpoints(mlir::ModuleOp module) {
  mlir::func::FuncOp main = mainFunction(module);
  mlir::Block &body = main.front();
  nn::SymbolicShapes shapes(main);
  auto depending = dependingOnInputs(body);
  // The number of values computed from an input that later operators still read. The inputs do not count: a part that
  // begins here receives the inputs that it reads.
  std::map<mlir::Operation *, size_t> position;
  for (mlir::Operation &op : body)
    position.emplace(&op, position.size());
  auto lastReader = [&](mlir::Value value) {
    size_t last = 0;
    for (mlir::Operation *user : value.getUsers())
      last = std::max(last, position.at(body.findAncestorOpInBlock(*user)));
    return last;
  };
  std::multimap<size_t, mlir::Value> alive; // by last reader
  auto results = resultsByNode(body);

  std::vector<Checkpoint> result;
  double flops = 0;
  for (mlir::Operation &op : body.without_terminator()) {
    Dim count = flopsOf(&op, shapes).substitute([](const std::string &) { return Dim(1); });
    flops += double(count.constantOr(0));
    alive.erase(alive.begin(), alive.upper_bound(position.at(&op)));
    if (!depending.count(&op))
      continue;
    for (mlir::Value value : op.getResults())
      if (!value.use_empty())
        alive.emplace(lastReader(value), value);
    auto nodes = nn::nodeNames(op.getLoc());
    if (nodes.size() != 1 || op.getNumResults() != 1 || op.getResult(0).use_empty() ||
        results[nodes[0]] != std::vector<mlir::Value>{op.getResult(0)})
      continue;
    result.push_back({nodes[0], flops, alive.size() == 1 && alive.begin()->second == op.getResult(0)});
  }
  return result;
}

std::string lastOfScope(mlir::ModuleOp module, const std::string &scope) {
  std::string last;
  for (const Checkpoint &point : checkpoints(module))
    if (point.node.size() > scope.size() && point.node.starts_with(scope) &&
        (point.node[scope.size()] == '/' || point.node[scope.size()] == '.'))
      last = point.node;
  return last;
}

std::vector<Checkpoint> spreadCheckpoints(mlir::ModuleOp module, size_t count) {
  auto all = checkpoints(module);
  if (all.empty())
    return {};
  double whole = all.back().flops;
  std::erase_if(all, [](const Checkpoint &point) { return !point.separates; });
  if (!all.empty()) // the last result is the output, or a view of it
    all.pop_back();
  std::vector<Checkpoint> chosen;
  for (size_t i = 1; i <= count && !all.empty(); ++i) {
    double share = whole * double(i) / double(count + 1);
    // Of equally near checkpoints takes the last, because element-wise operators belong to the operator before them.
    auto nearest = all.begin();
    for (auto point = all.begin(); point != all.end(); ++point)
      if (std::abs(point->flops - share) <= std::abs(nearest->flops - share) * (1 + 1e-3))
        nearest = point;
    if (chosen.empty() || chosen.back().flops < nearest->flops)
      chosen.push_back(*nearest);
  }
  return chosen;
}

} // namespace lathe
