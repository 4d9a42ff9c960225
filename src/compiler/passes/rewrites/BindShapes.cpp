// Operators whose operands state the size of the result: the operand becomes a vector of extents.
#include "passes/rewrites/BindExtents.h"

#include <limits>

namespace lathe {
namespace {

using Results = llvm::SmallVector<mlir::Value>;

/// True if the operand is present and not all of its elements are constants. Some may be formulas over extents that did
/// not determine the result's extents, for instance because the sign of a formula is unknown.
bool isComputed(mlir::Operation *op, size_t index, const ExtentBuilder &b) {
  mlir::Value operand = operandOf(op, index);
  if (!operand)
    return false;
  std::optional<std::vector<Dim>> contents = b.info(operand).contents;
  return !contents || !allConstant(*contents);
}

/// The same operator with other operands.
Results again(mlir::Operation *op, ExtentBuilder &b, llvm::ArrayRef<std::pair<size_t, mlir::Value>> changed) {
  auto operands = nn::operandsByRecord(op);
  for (auto [index, value] : changed)
    operands[index] = value;
  return b.emitAll(nn::recordOf(op)->name, operands, *nn::attrsOf(op));
}

/// A number for every axis of a result of `rank`, where `values` has one for every axis of an operand aligned at the
/// right (`right`) or at the left: axes that the operand does not have get 1.
mlir::Value aligned(ExtentBuilder &b, mlir::Value values, int64_t rank, bool right) {
  int64_t own = b.info(values).dims[0].constant();
  if (own == rank)
    return values;
  if (own > rank) {
    SliceAttrs attrs;
    attrs.starts = {right ? own - rank : 0};
    attrs.ends = {right ? own : rank};
    return b.emit("slice", {values}, std::move(attrs));
  }
  mlir::Value ones = b.numbers(std::vector<int64_t>(static_cast<size_t>(rank - own), 1));
  return b.emit("concat", right ? llvm::ArrayRef<mlir::Value>{ones, values} : llvm::ArrayRef<mlir::Value>{values, ones},
                ConcatAttrs());
}

mlir::Value product(ExtentBuilder &b, mlir::Value values) {
  ReduceProdAttrs attrs;
  attrs.axes = {0};
  return b.emit("reduce_prod", {values}, std::move(attrs));
}

mlir::Value isZero(ExtentBuilder &b, mlir::Value extents) {
  return b.emit<EqualAttrs>("equal", {extents, b.numbers({0})});
}

/// The number of elements of x. With `copies`, extents that the target copies do not count.
mlir::Value elementsLeft(ExtentBuilder &b, mlir::Value x, mlir::Value target, bool copies) {
  const auto rank = static_cast<int64_t>(b.info(x).rank());
  Dim elements = product(b.info(x).dims);
  if (rank == 0 || (!copies && elements.isConstant()))
    return b.numbers({elements.constant()});
  mlir::Value extents = b.extentsOf(x);
  return product(b, copies ? b.where(isZero(b, aligned(b, target, rank, false)), b.numbers({1}), extents) : extents);
}

/// The target with its 0 and -1 replaced by the extents they stand for. Extents that are copied count on neither side of
/// the division that gives -1, because they may be 0.
Results reshape(mlir::Operation *op, ExtentBuilder &b) {
  mlir::Value x = op->getOperand(0), target = b.vectorOf(operandOf(op, 1));
  int64_t rank = b.info(target).dims[0].constant();
  auto attrs = nn::attrsAs<ReshapeAttrs>(op);
  if (rank > 0) {
    mlir::Value one = b.numbers({1}), inferred = b.emit<LessAttrs>("less", {target, b.numbers({0})});
    mlir::Value left = elementsLeft(b, x, target, !attrs.allow_zero), stated = b.where(inferred, one, target);
    if (!attrs.allow_zero) {
      stated = b.where(isZero(b, stated), one, stated);
      target = b.where(isZero(b, target), aligned(b, b.extentsOf(x), rank, false), target);
    }
    stated = b.emit<MaxAttrs>("max", {product(b, stated), one});
    target = b.where(inferred, b.emit<DivAttrs>("div", {left, stated}), target);
  }
  // Extents that the target states itself stay: static channels, the batch.
  auto counts = [zero = attrs.allow_zero](const Dim &dim) {
    return dim.isConstant() ? dim.constant() >= (zero ? 0 : 1) : zero && !isUnknown(dim) && isNonNegative(dim);
  };
  attrs.allow_zero = true;
  attrs.shape.clear();
  return {b.emit("reshape", {x, b.bindUnknown(operandOf(op, 1), "extent", target, counts)}, std::move(attrs))};
}

/// False if every valid target leaves x unchanged. The operator then stays with its reference, which rejects all other
/// targets.
bool mayGrow(mlir::Operation *op, const ExtentBuilder &b) {
  Dims own = b.info(op->getOperand(0)).dims;
  auto count = static_cast<size_t>(product(b.info(op->getOperand(1)).dims).constant());
  auto grows = [](const Dim &dim) { return dim.constantOr(1) == 1; };
  return count > own.size() || llvm::any_of(llvm::ArrayRef(own).take_back(count), grows);
}

/// Where the target says 1, the extent of x stays.
Results expand(mlir::Operation *op, ExtentBuilder &b) {
  mlir::Value x = op->getOperand(0), target = b.vectorOf(operandOf(op, 1));
  int64_t rank = b.info(target).dims[0].constant();
  mlir::Value own = aligned(b, b.extentsOf(x), rank, true);
  target = b.where(b.emit<EqualAttrs>("equal", {target, b.numbers({1})}), own, target);
  return again(op, b, {{1, b.bind(target, "extent")}});
}

/// Positions from the front, at least 0. Positions after the end stay there, because the shape function limits them.
mlir::Value fromFront(ExtentBuilder &b, mlir::Value positions, mlir::Value extents) {
  mlir::Value zero = b.numbers({0});
  mlir::Value counted = b.emit("add", {positions, extents});
  positions = b.where(b.emit<LessAttrs>("less", {positions, zero}), counted, positions);
  return b.emit<MaxAttrs>("max", {positions, zero});
}

std::optional<Results> slice(mlir::Operation *op, ExtentBuilder &b) {
  auto attrs = nn::attrsAs<SliceAttrs>(op);
  auto hasOpenLength = [&](size_t index) {
    return isComputed(op, index, b) && !b.info(operandOf(op, index)).dims[0].isConstant();
  };
  if (isComputed(op, 3, b) || isComputed(op, 4, b) || hasOpenLength(1) || hasOpenLength(2))
    return std::nullopt;
  auto valuesOf = [&](size_t index, const std::vector<int64_t> &attribute) {
    mlir::Value operand = operandOf(op, index);
    return operand ? *b.info(operand).contents : toDims(attribute);
  };
  Dims axes = valuesOf(3, attrs.axes), steps = valuesOf(4, attrs.steps);
  bool forward = llvm::all_of(steps, [](const Dim &step) { return step.constantOr(-1) > 0; });
  if (!forward || !allConstant(axes)) // backwards, an end may lie before the front
    return std::nullopt;
  Dims dims = b.info(op->getOperand(0)).dims;
  auto rank = static_cast<int64_t>(dims.size());
  int64_t count = b.info(operandOf(op, isComputed(op, 1, b) ? 1 : 2)).dims[0].constantOr(0);
  std::vector<int64_t> places;
  for (int64_t i = 0; i < count; ++i)
    places.push_back(axes.empty() ? i : normalizeAxis(axes[static_cast<size_t>(i)].constant(), rank, "axis"));
  mlir::Value extents = b.emit("gather", {b.extentsOf(op->getOperand(0)), b.numbers(places)}, GatherAttrs());
  auto bound = [&](size_t index, const char *what) {
    return b.bind(fromFront(b, b.vectorOf(operandOf(op, index)), extents), what);
  };
  llvm::SmallVector<std::pair<size_t, mlir::Value>> changed;
  if (isComputed(op, 1, b))
    changed.emplace_back(1, bound(1, "start"));
  if (isComputed(op, 2, b))
    changed.emplace_back(2, bound(2, "end"));
  return again(op, b, changed);
}

/// Pads that are known on some axes, and their elements.
struct KnownPads {
  std::vector<int64_t> axes, behind; // axes with known pads, and their pads at the end
  std::vector<int64_t> unknown;      // the other axes
  std::optional<std::vector<int64_t>> front;
};

KnownPads knownPads(mlir::Value pads, int64_t rank, const ExtentBuilder &b) {
  auto origins = movedElements(pads);
  auto number = [&](int64_t i) -> std::optional<int64_t> {
    std::optional<Dim> known = origins ? b.content((*origins)[static_cast<size_t>(i)]) : std::nullopt;
    return known && known->isConstant() ? std::optional(known->constant()) : std::nullopt;
  };
  KnownPads result;
  result.front.emplace();
  for (int64_t axis = 0; axis < rank; ++axis) {
    std::optional<int64_t> before = number(axis), behind = number(rank + axis);
    if (!before)
      result.front.reset();
    else if (result.front)
      result.front->push_back(*before);
    if (before && behind) {
      result.axes.push_back(axis);
      result.behind.push_back(*behind);
    } else {
      result.unknown.push_back(axis);
    }
  }
  return result;
}

/// The same pad with symbols for the extents of the result. Formulas would grow with every later operator, and would
/// not show that they are at least 0. The pads at the front are a difference of two vectors of extents. Axes with
/// constant pads keep their formula.
Results pad(mlir::Operation *op, ExtentBuilder &b) {
  mlir::Value x = op->getOperand(0), pads = b.vectorOf(operandOf(op, 1)), zero = b.numbers({0});
  const auto rank = static_cast<int64_t>(b.info(x).rank());
  KnownPads known = knownPads(operandOf(op, 1), rank, b);
  if (known.unknown.empty()) {
    std::vector<int64_t> all = *known.front;
    all.insert(all.end(), known.behind.begin(), known.behind.end());
    return again(op, b, {{1, b.numbers(all)}});
  }
  auto part = [&](int64_t begin, int64_t end) {
    SliceAttrs attrs;
    attrs.starts = {begin};
    attrs.ends = {end};
    attrs.axes = {0};
    return b.emit("slice", {pads, {}, {}, {}, {}}, std::move(attrs));
  };
  auto open = [&](mlir::Value vector) { return known.axes.empty() ? vector : b.elements(vector, known.unknown); };
  mlir::Value front = known.front ? b.numbers(*known.front) : part(0, rank), behind = open(part(rank, 2 * rank)),
              extents = open(b.extentsOf(x));
  mlir::Value total = b.bind(b.emit("add", {b.emit("add", {extents, open(front)}), behind}), "extent");
  if (!known.front) {
    mlir::Value added = b.bind(b.emit<MaxAttrs>("max", {front, zero}), "pad");
    mlir::Value removed = b.bind(b.emit<MaxAttrs>("max", {b.emit("neg", {front}, NegAttrs()), zero}), "crop");
    front = b.emit<SubAttrs>("sub", {added, removed});
  }
  behind = b.emit<SubAttrs>("sub", {b.emit<SubAttrs>("sub", {total, extents}), open(front)});
  if (!known.axes.empty())
    behind = b.joined({b.numbers(known.behind), behind}, {known.axes, known.unknown});
  return again(op, b, {{1, b.emit<ConcatAttrs>("concat", {front, behind})}});
}

Results topK(mlir::Operation *op, ExtentBuilder &b) {
  TensorInfo x = b.info(op->getOperand(0));
  int64_t axis = normalizeAxis(nn::attrsAs<TopKAttrs>(op).axis, static_cast<int64_t>(x.rank()), "axis");
  mlir::Value k = b.cast(b.reshaped(operandOf(op, 1), {1}), ElementType::i64);
  return again(op, b, {{1, b.bind(k, "k", {x.dims[static_cast<size_t>(axis)]})}});
}

/// start + delta * (0, 1, 2, ...), in the types in which the reference computes.
Results range(mlir::Operation *op, ExtentBuilder &b) {
  ElementType type = b.info(op->getOperand(0)).type;
  ElementType wide = isFloat(type) && type != ElementType::f64 ? ElementType::f32 : type;
  mlir::Value scalars[3], exact[3];
  for (unsigned i = 0; i < 3; ++i) {
    scalars[i] = b.cast(b.reshaped(op->getOperand(i), {1}), wide);
    exact[i] = b.cast(scalars[i], ElementType::f64);
  }
  mlir::Value span = b.emit<SubAttrs>("sub", {exact[1], exact[0]});
  mlir::Value count = b.emit("ceil", {b.emit<DivAttrs>("div", {span, exact[2]})}, CeilAttrs());
  mlir::Value values = b.emit<MaxAttrs>("max", {b.cast(count, ElementType::i64), b.numbers({0})});
  constexpr int64_t most = 4'000'000'000; // as the reference
  mlir::Value steps = b.emit("iota", {b.bind(values, "count", {Dim(most)})}, IotaAttrs());
  mlir::Value offsets = b.emit<MulAttrs>("mul", {b.cast(steps, wide), scalars[2]});
  return {b.cast(b.emit("add", {offsets, scalars[0]}), type)};
}

/// A range whose length is a formula over symbols. Empty if the integers that compute the range give another length.
std::optional<Results> formulaRange(mlir::Operation *op, ExtentBuilder &b) {
  TensorInfo y = b.info(op->getResult(0));
  if (!isInteger(y.type) || y.dims[0].isConstant())
    return std::nullopt;
  mlir::Value scalars[3];
  std::optional<int64_t> numbers[3];
  for (unsigned i = 0; i < 3; ++i) {
    scalars[i] = b.cast(b.reshaped(op->getOperand(i), {1}), ElementType::i64);
    if (auto contents = b.info(scalars[i]).contents; contents && contents->front().isConstant())
      numbers[i] = contents->front().constant();
  }
  int64_t delta = numbers[2].value_or(0), step = std::abs(delta);
  if (delta == 0)
    return std::nullopt;
  mlir::Value count = scalars[delta > 0 ? 1 : 0];
  if (numbers[delta > 0 ? 0 : 1] != 0)
    count = b.emit<SubAttrs>("sub", {count, scalars[delta > 0 ? 0 : 1]});
  if (step != 1)
    count = b.emit<DivAttrs>("div", {b.emit("add", {count, b.numbers({step - 1})}), b.numbers({step})});
  auto isCount = [&] {
    auto contents = b.info(count).contents;
    return contents && contents->front() == y.dims[0];
  };
  if (!isCount())
    count = b.emit<MaxAttrs>("max", {count, b.numbers({0})});
  if (!isCount())
    return std::nullopt;
  mlir::Value values = b.emit("iota", {count}, IotaAttrs());
  if (delta != 1)
    values = b.emit<MulAttrs>("mul", {values, scalars[2]});
  if (numbers[0] != 0)
    values = b.emit("add", {values, scalars[0]});
  return Results{b.cast(values, y.type)};
}

} // namespace

std::optional<llvm::SmallVector<mlir::Value>> bindShape(mlir::Operation *op, ExtentBuilder &b) {
  auto lengthIsKnown = [&](size_t index) { return product(b.info(operandOf(op, index)).dims).isConstant(); };
  auto computed = [&](size_t index) { return isComputed(op, index, b) && lengthIsKnown(index); };
  if (isOp(op, "reshape") && computed(1))
    return reshape(op, b);
  if (isOp(op, "expand") && computed(1) && mayGrow(op, b))
    return expand(op, b);
  if (isOp(op, "tile") && computed(1))
    return again(op, b, {{1, b.bindUnknown(operandOf(op, 1), "repeats")}});
  if (isOp(op, "constant_of_shape") && computed(0))
    return again(op, b, {{0, b.bindUnknown(operandOf(op, 0), "extent")}});
  if (isOp(op, "slice") && (isComputed(op, 1, b) || isComputed(op, 2, b)))
    return slice(op, b);
  if (isOp(op, "pad") && computed(1))
    return pad(op, b);
  constexpr std::pair<const char *, size_t> counted[] = {{"iota", 0}, {"non_zero_positions", 2}, {"selected_boxes", 2}};
  for (auto [name, count] : counted)
    if (isOp(op, name) && computed(count))
      return again(op, b, {{count, b.bind(b.vectorOf(operandOf(op, count)), "count")}});
  if (isOp(op, "top_k") && isComputed(op, 1, b))
    return topK(op, b);
  if (isOp(op, "range") && !isUnknown(b.info(op->getResult(0)).dims[0]))
    return formulaRange(op, b);
  if (isOp(op, "range") && (isFloat(b.info(op->getOperand(0)).type) || isInteger(b.info(op->getOperand(0)).type)))
    return range(op, b);
  return std::nullopt;
}

} // namespace lathe
