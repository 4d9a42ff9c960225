#include "verify/NodeValues.h"

#include "ir/Bridge.h"
#include "passes/Rewrite.h"

#include <algorithm>
#include <cstring>

namespace lathe::verify {

using lab::Difference, lab::Tolerance;

namespace {

using Axes = std::vector<int64_t>;

bool belongsTo(mlir::Operation *op, const std::string &node) {
  std::vector<std::string> names = nn::nodeNames(op->getLoc());
  return !names.empty() && names.back() == node;
}

/// Operators that change the order or the extents of their operand, and no element.
bool onlyMoves(mlir::Operation *op) { return isOp(op, "transpose") || isOp(op, "reshape"); }

/// True if other nodes read `value`, itself or after operators of `node` have moved it.
bool isResult(mlir::Value value, const std::string &node) {
  return llvm::any_of(value.getUsers(), [&](mlir::Operation *user) {
    if (!belongsTo(user, node) || user->hasTrait<mlir::OpTrait::IsTerminator>())
      return true;
    return onlyMoves(user) && user->getOperand(0) == value && isResult(user->getResult(0), node);
  });
}

/// Permutations that take channels from the end to the front, with and without a batch before them, or back.
std::vector<Axes> channelMoves(size_t rank) {
  std::vector<Axes> moves;
  for (size_t front : {0, 1})
    for (bool toFront : {true, false}) {
      if (rank < front + 2)
        continue;
      Axes perm;
      for (size_t axis = 0; axis < rank; ++axis)
        perm.push_back(static_cast<int64_t>(axis));
      auto begin = perm.begin() + static_cast<ptrdiff_t>(front);
      std::rotate(begin, toFront ? perm.end() - 1 : begin + 1, perm.end());
      moves.push_back(std::move(perm));
    }
  return moves;
}

Axes permuted(const Axes &dims, const Axes &perm) {
  Axes result;
  for (int64_t axis : perm)
    result.push_back(dims[static_cast<size_t>(axis)]);
  return result;
}

/// Axis i of the result is axis perm[i] of `tensor`.
Tensor transposed(const Tensor &tensor, const Axes &perm) {
  size_t rank = perm.size(), width = static_cast<size_t>(bitWidth(tensor.type())) / 8;
  Axes strides(rank, 1), step;
  for (size_t axis = rank; axis-- > 1;)
    strides[axis - 1] = strides[axis] * tensor.dim(axis);
  step = permuted(strides, perm);
  Tensor result(tensor.type(), permuted(tensor.dims(), perm));
  Axes index(rank, 0);
  auto *to = static_cast<char *>(result.data());
  auto *from = static_cast<const char *>(tensor.data());
  for (int64_t i = 0, n = result.elements(); i < n; ++i, to += width) {
    std::memcpy(to, from, width);
    for (size_t axis = rank; axis-- > 0;) {
      from += step[axis] * static_cast<int64_t>(width);
      if (++index[axis] < result.dim(axis))
        break;
      from -= step[axis] * static_cast<int64_t>(width) * result.dim(axis);
      index[axis] = 0;
    }
  }
  return result;
}

/// The nearest of the forms that a value may have.
class Nearest {
public:
  Nearest(const Tensor &computed, const Tolerance &tolerance) : computed(computed), tolerance(tolerance) {}

  void add(const Tensor &value) {
    if (value.elements() != computed.elements() || (found && found->within(tolerance)))
      return;
    take(value);
    if (bitWidth(value.type()) < 8 || value.type() == ElementType::string)
      return;
    for (const Axes &perm : channelMoves(value.rank()))
      if (permuted(value.dims(), perm) != value.dims() || value.rank() > 2)
        take(transposed(value, perm));
  }

  std::optional<Difference> found;

private:
  const Tensor &computed;
  const Tolerance &tolerance;

  void take(const Tensor &value) {
    if (found && found->within(tolerance))
      return;
    Tensor form = value.dims() == computed.dims() ? value : value.reshaped(computed.dims());
    if (!lab::comparable(computed, form))
      return;
    Difference difference = lab::difference(computed, form);
    if (!found || difference.within(tolerance) || (!found->broken.empty() && difference.broken.empty()) ||
        (found->broken.empty() == difference.broken.empty() && difference.relative < found->relative))
      found = difference;
  }
};

} // namespace

void NodeValues::add(mlir::Operation *op, std::span<const Value> results) {
  std::vector<std::string> names = nn::nodeNames(op->getLoc());
  if (names.empty())
    return;
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i].isTensor() && results[i].tensor().defined())
      nodes[names.back()].push_back({results[i].tensor(), isResult(op->getResult(i), names.back())});
}

std::string NodeValues::nodeOf(const std::string &value) const {
  if (isNode(value))
    return value;
  std::string node = value.substr(0, value.rfind(':'));
  return isNode(node) ? node : "";
}

NodeComparison NodeValues::compare(const Tensor &computed, const std::string &node, bool last,
                                   const Tolerance &tolerance) const {
  auto found = nodes.find(node);
  if (found == nodes.end())
    return {"", {}, "the model has no node of its name"};
  Nearest nearest(computed, tolerance);
  for (auto made = found->second.rbegin(); made != found->second.rend(); ++made)
    if (made->result || !last)
      nearest.add(made->value);
  if (!last && (!nearest.found || !nearest.found->within(tolerance)))
    return {node, {}, "is a step on the way to the node's result, which the model does not have"};
  if (!nearest.found)
    return {
        node,
        {},
        fmt::format("the node has no result of {} {}", fmt::join(computed.dims(), "x"), lathe::name(computed.type()))};
  return {node, nearest.found};
}

} // namespace lathe::verify
