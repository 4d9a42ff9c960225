#include "verify/NodeValues.h"

#include "ir/Bridge.h"
#include "passes/Rewrite.h"
#include "passes/interpret/Evaluate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

namespace lathe::verify {

using lab::Difference, lab::Tolerance;

namespace {

using Axes = std::vector<int64_t>;

bool belongsTo(mlir::Operation *op, const std::string &node) {
  std::vector<std::string> names = nn::nodeNames(op->getLoc());
  return !names.empty() && names.back() == node;
}

/// True for operators that change only the order or the extents of their operand.
bool onlyMoves(mlir::Operation *op) { return isOp(op, "transpose") || isOp(op, "reshape"); }

/// True for the permutation in the middle of a channel shuffle: groups and the channels of a group change places.
bool shufflesChannels(const Axes &perm) {
  for (size_t axis = 0; axis < perm.size(); ++axis)
    if (perm[axis] != static_cast<int64_t>(axis == 1 ? 2 : axis == 2 ? 1 : axis))
      return false;
  return perm.size() >= 4;
}

/// True if other nodes read `value`, directly or after operators of `node` have moved it.
bool isResult(mlir::Value value, const std::string &node) {
  return llvm::any_of(value.getUsers(), [&](mlir::Operation *user) {
    if (!belongsTo(user, node) || user->hasTrait<mlir::OpTrait::IsTerminator>())
      return true;
    return onlyMoves(user) && user->getOperand(0) == value && isResult(user->getResult(0), node);
  });
}

/// Permutations that move channels from the end to the front, with and without a leading batch, and their inverses.
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

using Projections = std::vector<std::array<double, 4>>;

/// Projections of the channels (axis 1) of a float64 tensor on random directions: equal channels have equal
/// projections.
Projections projections(const Tensor &tensor) {
  Projections result(static_cast<size_t>(tensor.dim(1)));
  int64_t inner = 1, channels = tensor.dim(1);
  for (size_t axis = 2; axis < tensor.rank(); ++axis)
    inner *= tensor.dim(axis);
  for (int64_t image = 0; image < tensor.dim(0); ++image)
    for (int64_t channel = 0; channel < channels; ++channel) {
      const double *from = tensor.as<double>() + (image * channels + channel) * inner;
      uint64_t random = static_cast<uint64_t>(image) + 1;
      for (int64_t i = 0; i < inner; ++i)
        for (double &sum : result[static_cast<size_t>(channel)]) {
          random = random * 6364136223846793005u + 1442695040888963407u;
          sum += from[i] * (static_cast<double>(random >> 40) / (1 << 24) - 0.5);
        }
    }
  return result;
}

/// Channels sorted by their first projection.
std::vector<size_t> sorted(const Projections &channels) {
  std::vector<size_t> order(channels.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return channels[a][0] < channels[b][0]; });
  return order;
}

/// For each channel of `wanted`, the nearest channel of `given`; each is used once. Equal channels differ by rounding
/// errors only, so their ranks by first projection are close: only close ranks are tried, unless all are used.
std::vector<size_t> nearestChannels(const Projections &wanted, const Projections &given) {
  std::vector<size_t> order = sorted(given), result(wanted.size());
  std::vector<bool> used(given.size());
  constexpr size_t window = 8;
  size_t rank = 0;
  for (size_t channel : sorted(wanted)) {
    size_t best = order.size();
    double least = INFINITY;
    auto consider = [&](size_t candidate) {
      double distance = 0;
      for (size_t i = 0; i < 4; ++i)
        distance += std::abs(given[candidate][i] - wanted[channel][i]);
      if (!used[candidate] && (best == order.size() || distance < least)) {
        least = distance;
        best = candidate;
      }
    };
    for (size_t i = rank - std::min(rank, window); i < std::min(order.size(), rank + window + 1); ++i)
      consider(order[i]);
    for (size_t i = 0; i < order.size() && best == order.size(); ++i)
      consider(order[i]);
    used[best] = true;
    result[channel] = best;
    ++rank;
  }
  return result;
}

/// `value` with its channels in the order that `like` seems to have.
Tensor inChannelOrder(const Tensor &value, const Tensor &like) {
  Tensor real = value.convertedTo(ElementType::f64), result(ElementType::f64, value.dims());
  std::vector<size_t> from = nearestChannels(projections(like.convertedTo(ElementType::f64)), projections(real));
  int64_t channels = value.dim(1), inner = value.elements() / (value.dim(0) * channels);
  for (int64_t image = 0; image < value.dim(0); ++image)
    for (int64_t channel = 0; channel < channels; ++channel)
      std::copy_n(real.as<double>() +
                      (image * channels + static_cast<int64_t>(from[static_cast<size_t>(channel)])) * inner,
                  inner, result.as<double>() + (image * channels + channel) * inner);
  return result.convertedTo(value.type());
}

/// Quantised integers minus their zero point, as kernels multiply them.
Tensor lessZeroPoint(const Tensor &value, const Tensor &zero) {
  Tensor result(ElementType::i32, value.dims());
  for (int64_t i = 0; i < result.elements(); ++i)
    result.as<int32_t>()[i] = static_cast<int32_t>(value.asInteger(i) - zero.asInteger(0));
  return result;
}

/// Finds the nearest of the forms that a value may have.
class Nearest {
public:
  Nearest(const Tensor &computed, const Tolerance &tolerance, bool shuffles)
      : computed(computed), tolerance(tolerance), shuffles(shuffles) {}

  bool agrees() const { return found && found->within(tolerance); }

  /// `anyType`: kernels may hold steps as integers of another width, or sums of integer products as floats.
  void add(const Tensor &value, bool anyType) {
    if (agrees())
      return;
    if (value.elements() != computed.elements() || bitWidth(value.type()) < 8 || value.type() == ElementType::string)
      return take(value);
    Tensor typed = anyType ? inTypeOf(value) : value;
    take(typed);
    for (const Axes &perm : channelMoves(typed.rank()))
      if (permuted(typed.dims(), perm) != typed.dims() || typed.rank() > 2)
        take(transposed(typed, perm));
    if (shuffles && typed.dims() == computed.dims() && typed.rank() > 2 && !agrees() && typed.elements() > 0)
      take(inChannelOrder(typed, computed));
  }

  std::optional<Difference> found;

private:
  const Tensor &computed;
  const Tolerance &tolerance;
  bool shuffles;

  Tensor inTypeOf(const Tensor &value) const {
    if (!isInteger(value.type()) || value.type() == computed.type())
      return value;
    return isFloat(computed.type())     ? value.convertedTo(ElementType::f64)
           : isInteger(computed.type()) ? value.convertedTo(computed.type())
                                        : value;
  }

  void take(const Tensor &value) {
    if (agrees() || value.elements() != computed.elements())
      return;
    Tensor form = value.dims() == computed.dims() ? value : value.reshaped(computed.dims());
    if (!lab::comparable(computed, form))
      return;
    Difference difference = lab::difference(computed, form);
    bool nearer = !found || difference.within(tolerance) || (!found->broken.empty() && difference.broken.empty()) ||
                  (found->broken.empty() == difference.broken.empty() && difference.relative < found->relative);
    if (nearer)
      found = difference;
  }
};

} // namespace

NodeValues::Role NodeValues::roleOf(mlir::Value value, const std::string &node) {
  if (value.use_empty() || isResult(value, node)) // an unread part of a split is also computed
    return Role::result;
  mlir::Operation *op = value.getDefiningOp();
  mlir::Operation *before = op->getNumOperands() ? op->getOperand(0).getDefiningOp() : nullptr;
  return onlyMoves(op) && (!before || !belongsTo(before, node)) ? Role::moved : Role::step;
}

void NodeValues::add(mlir::Operation *op, std::span<const Value> results) {
  std::vector<std::string> names = nn::nodeNames(op->getLoc());
  shuffles |= isOp(op, "transpose") && shufflesChannels(nn::attrsAs<TransposeAttrs>(op).perm);
  for (size_t i = 0; i < results.size(); ++i)
    addInput(op->getResult(i), results[i]);
  if (names.empty())
    return;
  std::vector<Made> &made = nodes[names.back()];
  for (mlir::Value operand : op->getOperands())
    if (auto value = values.find(operand);
        value != values.end() && !(operand.getDefiningOp() && belongsTo(operand.getDefiningOp(), names.back())))
      made.push_back({value->second, Role::operand});
    else if (auto constant = operand.getDefiningOp<nn::ConstantOp>();
             constant && lab::isQuantised(nn::infoOf(operand).type))
      made.push_back({toTensor(constant.getValue()), Role::operand});
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i].isTensor() && results[i].tensor().defined()) {
      made.push_back({results[i].tensor(), roleOf(op->getResult(i), names.back())});
      auto terms = op->getNumOperands() == 1 ? values.find(op->getOperand(0)) : values.end();
      if ((isOp(op, "reduce_sum") || isOp(op, "reduce_mean")) && isFloat(made.back().value.type()) &&
          terms != values.end()) {
        made.back().sum = op;
        made.back().terms = terms->second;
      }
    }
}

Difference NodeValues::besideTerms(Difference difference, const Made &made) {
  Tensor sizes = made.terms.convertedTo(ElementType::f64);
  sizes = sizes.clone();
  for (int64_t i = 0; i < sizes.elements(); ++i)
    sizes.as<double>()[i] = std::abs(sizes.as<double>()[i]);
  EvaluateOptions judge;
  judge.judge = true;
  Value given = sizes;
  const Value *operands[] = {&given, nullptr}; // axes are attributes
  Tensor all = evaluateOperator(*nn::recordOf(made.sum), *nn::attrsOf(made.sum), operands, judge).at(0).tensor();
  double squares = 0, allSquares = 0, largest = 0, allLargest = 0;
  Tensor sum = made.value.convertedTo(ElementType::f64);
  for (int64_t i = 0; i < sum.elements(); ++i) {
    double x = sum.as<double>()[i], y = all.as<double>()[i];
    if (!std::isfinite(x) || !std::isfinite(y))
      continue;
    squares += x * x;
    allSquares += y * y;
    largest = std::max(largest, std::abs(x));
    allLargest = std::max(allLargest, y);
  }
  if (largest > 0) { // relative to 0 every error is infinite
    difference.relative *= std::sqrt(squares / allSquares);
    difference.maximum *= largest / allLargest;
  }
  return difference;
}

void NodeValues::addInput(mlir::Value value, const Value &given) {
  if (given.isTensor() && given.tensor().defined())
    values[value] = given.tensor();
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
  Nearest nearest(computed, tolerance, shuffles), step(computed, tolerance, shuffles);
  for (const Made &made : found->second)
    if (made.role == Role::result)
      nearest.add(made.value, false);
  // Passes may compute the node at a later node, and the package keeps a step, or the node's operand in another order.
  bool anyStep = !last || !nearest.found;
  for (const Made &made : found->second)
    if (!nearest.agrees() && made.role != Role::result && (anyStep || made.role == Role::moved))
      step.add(made.value, true);
  for (const Made &zero : found->second)
    for (const Made &made : found->second)
      if (anyStep && !nearest.agrees() && !step.agrees() && made.role != Role::result &&
          made.value.elements() == computed.elements() && zero.value.elements() == 1 &&
          zero.value.type() == made.value.type() && lab::isQuantised(made.value.type()))
        step.add(lessZeroPoint(made.value, zero.value), true);
  if (!nearest.agrees() && nearest.found && !step.agrees())
    for (const Made &made : found->second)
      if (made.sum && made.role == Role::result) {
        Nearest sum(computed, tolerance, shuffles);
        sum.add(made.value, false);
        if (!sum.found)
          continue;
        if (Difference difference = besideTerms(*sum.found, made); difference.within(tolerance))
          return {node, difference};
      }
  if (nearest.agrees() || (last && nearest.found && !step.agrees()))
    return {node, nearest.found};
  if (step.agrees())
    return {node, step.found};
  return {node, {}, "is a step on the way to the node's result that the model does not have"};
}

} // namespace lathe::verify
