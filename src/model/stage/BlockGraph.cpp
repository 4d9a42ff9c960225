#include "stage/BlockGraph.h"

#include "ir/Bridge.h"

#include "llvm/ADT/DenseMap.h"

#include <algorithm>
#include <map>

namespace lathe::stage {
namespace {

bool isDepthwise(mlir::Operation *op) {
  if (!llvm::isa<nn::ConvOp>(op))
    return false;
  auto group = op->getAttrOfType<mlir::IntegerAttr>("group");
  auto x = llvm::dyn_cast<mlir::RankedTensorType>(op->getOperand(0).getType());
  return group && group.getInt() > 1 && x && x.getRank() > 1 && x.getDimSize(1) == group.getInt();
}

/// A label of the properties that operations must share to be the same operation of a block.
std::string labelOf(mlir::Operation *op) {
  std::string text = op->getName().getStringRef().str() + (isDepthwise(op) ? " depthwise " : " ");
  text += std::to_string(op->getNumResults()) + " ";
  for (mlir::Value operand : op->getOperands())
    text += operand.getDefiningOp<nn::ConstantOp>() ? 'c' : 'v';
  if (auto segments = op->getAttrOfType<mlir::DenseI32ArrayAttr>("operandSegmentSizes"))
    for (int32_t size : segments.asArrayRef())
      text += " " + std::to_string(size);
  for (mlir::NamedAttribute attribute : op->getAttrs())
    if (auto body = llvm::dyn_cast<mlir::FlatSymbolRefAttr>(attribute.getValue()))
      text += " @" + body.getValue().str();
  return text;
}

/// Interns the scopes of names.
class Scopes {
public:
  Scopes(BlockGraph &graph) : graph(graph) { graph.scopes.push_back({0, 0}); }

  /// The scope that is the whole of `name`.
  uint32_t of(const std::string &name) {
    uint32_t scope = 0;
    for (size_t at = 0; at < name.size();) {
      size_t end = std::min(name.find_first_of("/._", at + 1), name.size());
      auto [known, isNew] = children.try_emplace({scope, name.substr(at, end - at)}, graph.scopes.size());
      if (isNew)
        graph.scopes.push_back({scope, graph.scopes[scope].depth + 1});
      scope = known->second;
      at = end;
    }
    return scope;
  }

private:
  BlockGraph &graph;
  std::map<std::pair<uint32_t, std::string>, uint32_t> children;
};

} // namespace

BlockGraph::BlockGraph(mlir::func::FuncOp function) {
  llvm::DenseMap<mlir::Operation *, uint32_t> indices;
  std::map<std::string, uint32_t> labelsByText;
  Scopes interned(*this);
  for (mlir::Operation &op : function.getBody().front()) {
    if (llvm::isa<nn::ConstantOp>(op) || op.hasTrait<mlir::OpTrait::IsTerminator>())
      continue;
    Node node{&op, 0, 0, {}, std::vector<std::vector<Use>>(op.getNumResults())};
    node.label = labelsByText.try_emplace(labelOf(&op), labelsByText.size()).first->second;
    std::vector<std::string> names = nn::nodeNames(op.getLoc());
    for (size_t i = 0; i < names.size(); ++i) {
      uint32_t scope = interned.of(names[i]);
      node.scope = i ? common(node.scope, scope) : scope;
    }
    uint32_t index = static_cast<uint32_t>(nodes.size());
    for (mlir::OpOperand &operand : op.getOpOperands()) {
      auto result = llvm::dyn_cast<mlir::OpResult>(operand.get());
      auto producer = result ? indices.find(result.getOwner()) : indices.end();
      if (producer == indices.end()) {
        node.operands.push_back({-1, 0});
        continue;
      }
      node.operands.push_back({static_cast<int32_t>(producer->second), result.getResultNumber()});
      nodes[producer->second].uses[result.getResultNumber()].push_back({index, operand.getOperandNumber()});
    }
    indices[&op] = index;
    nodes.push_back(std::move(node));
  }
  labels = static_cast<uint32_t>(labelsByText.size());
}

std::vector<uint32_t> BlockGraph::regions(uint32_t depth) const {
  std::vector<uint32_t> result;
  for (const Node &node : nodes) {
    uint32_t scope = node.scope;
    while (scopes[scope].depth > depth)
      scope = scopes[scope].parent;
    result.push_back(scopes[scope].depth == depth ? scope : 0);
  }
  return result;
}

uint32_t BlockGraph::common(uint32_t a, uint32_t b) const {
  while (a != b)
    (scopes[a].depth >= scopes[b].depth ? a : b) = scopes[scopes[a].depth >= scopes[b].depth ? a : b].parent;
  return a;
}

uint32_t BlockGraph::scopeOf(const std::vector<uint32_t> &group) const {
  uint32_t scope = nodes[group[0]].scope;
  for (uint32_t node : group)
    scope = common(scope, nodes[node].scope);
  return scope;
}

bool BlockGraph::isConvex(const std::vector<uint32_t> &group) const {
  auto [first, last] = std::minmax_element(group.begin(), group.end());
  enum : char { outside, inside, behind };
  std::vector<char> state(*last - *first + 1, outside);
  for (uint32_t node : group)
    state[node - *first] = inside;
  for (uint32_t node = *first; node <= *last; ++node)
    for (const Operand &operand : nodes[node].operands) {
      if (operand.producer < static_cast<int32_t>(*first))
        continue;
      char from = state[static_cast<uint32_t>(operand.producer) - *first];
      char &to = state[node - *first];
      if (to == inside && from == behind)
        return false;
      if (to == outside && from != outside)
        to = behind;
    }
  return true;
}

} // namespace lathe::stage
