#include "passes/Passes.h"

#include "ir/SymbolicShapes.h"
#include "passes/Rewrite.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace lathe {
namespace {

constexpr double farBelow = -1e4; // a fill at or below this gives a key no weight beside any visible key

/// The operators between softmax and the product of queries and keys.
struct Scores {
  mlir::Operation *product = nullptr;
  double scale = 1;
  mlir::Value bias, mask;
  double fill = -std::numeric_limits<double>::infinity();
  std::string causal = "none";
  mlir::Value fullest; // the scores where they have most axes
};

bool isSplat(mlir::Value value) { return splatValue(value).has_value(); }

/// A reshape that leaves the last two axes alone.
bool reshapesOuterAxes(mlir::Operation *op) {
  if (!isOp(op, "reshape") || operandOf(op, 1))
    return false;
  auto from = rankedType(op->getOperand(0)), to = rankedType(op->getResult(0));
  if (!from || !to || from.getRank() < 3 || to.getRank() < 3)
    return false;
  for (int64_t i = 1; i <= 2; ++i)
    if (int64_t extent = from.getDimSize(from.getRank() - i);
        mlir::ShapedType::isDynamic(extent) || extent != to.getDimSize(to.getRank() - i))
      return false;
  return true;
}

/// The other operand and the factor, for mul and div by one number.
std::optional<std::pair<mlir::Value, double>> scaled(mlir::Operation *op) {
  if (!isOp(op, "mul") && !isOp(op, "div"))
    return std::nullopt;
  for (unsigned side = 0; side < (isOp(op, "mul") ? 2u : 1u); ++side)
    if (auto number = splatValue(op->getOperand(1 - side));
        number && op->getOperand(side).getType() == op->getResult(0).getType()) {
      // Dividing by 0, or by a number without a float32 reciprocal, is not scaling: 0 / 0 is NaN, x / 0 has x's sign.
      double factor = isOp(op, "mul") ? *number : 1 / *number;
      if (std::abs(factor) <= std::numeric_limits<float>::max())
        return std::pair(op->getOperand(side), factor);
    }
  return std::nullopt;
}

bool leadsToProduct(mlir::Value value, int depth = 0) {
  mlir::Operation *op = value.getDefiningOp();
  if (!op || depth > 8 || !value.hasOneUse())
    return false;
  if (isOp(op, "matmul"))
    return true;
  if (reshapesOuterAxes(op))
    return leadsToProduct(op->getOperand(0), depth + 1);
  if (auto inner = scaled(op))
    return leadsToProduct(inner->first, depth + 1);
  if (isOp(op, "add"))
    return leadsToProduct(op->getOperand(0), depth + 1) || leadsToProduct(op->getOperand(1), depth + 1);
  return isOp(op, "where") &&
         (leadsToProduct(op->getOperand(1), depth + 1) || leadsToProduct(op->getOperand(2), depth + 1));
}

/// Trailing axes on which two shapes agree.
int64_t sharedAxes(mlir::RankedTensorType a, mlir::RankedTensorType b) {
  int64_t shared = 0;
  while (shared < a.getRank() && shared < b.getRank() &&
         a.getDimSize(a.getRank() - 1 - shared) == b.getDimSize(b.getRank() - 1 - shared))
    ++shared;
  return shared;
}

/// "upper_left", "lower_right" or "": the kind of causal mask that a constant is for every head's M x K scores.
/// `sees(i)`: element i lets its key through.
std::string causalKind(const Tensor &mask, const std::function<bool(int64_t)> &sees) {
  if (mask.rank() < 2)
    return "";
  int64_t rows = mask.dim(mask.rank() - 2), keys = mask.dim(mask.rank() - 1);
  if (rows * keys != mask.elements() || rows < 2)
    return "";
  for (auto [kind, visible] : {std::pair<const char *, int64_t>{"upper_left", 0}, {"lower_right", keys - rows}}) {
    bool holds = visible >= 0;
    for (int64_t i = 0; holds && i < rows * keys; ++i)
      holds = sees(i) == (i % keys <= i / keys + visible);
    if (holds)
      return kind;
  }
  return "";
}

class Recognizer {
public:
  explicit Recognizer(mlir::func::FuncOp main) : main(main), shapes(main) {}

  void run() {
    for (mlir::Operation &op : llvm::make_early_inc_range(main.getBody().front()))
      if (isOp(&op, "matmul"))
        rewrite(&op);
  }

private:
  mlir::func::FuncOp main;
  nn::SymbolicShapes shapes;

  /// An operand that is added to the scores (or masks them), and the sum it is part of.
  using Addend = std::pair<mlir::Value, mlir::Value>;

  /// The element-wise chain before softmax, outermost first.
  std::optional<Scores> scoresOf(mlir::Value value) {
    Scores scores;
    std::vector<Addend> added;
    scores.fullest = value;
    while (!isOp(value.getDefiningOp(), "matmul")) {
      if (!value.getDefiningOp() || !value.hasOneUse())
        return std::nullopt;
      widen(scores, value);
      value = stepTowardsProduct(scores, added, value);
      if (!value)
        return std::nullopt;
    }
    if (!value.hasOneUse())
      return std::nullopt;
    widen(scores, value);
    scores.product = value.getDefiningOp();
    for (const Addend &addend : added)
      if (addend.first && !takeAddend(scores, addend))
        return std::nullopt;
    return scores;
  }

  static void widen(Scores &scores, mlir::Value value) {
    if (rankedType(value).getRank() > rankedType(scores.fullest).getRank())
      scores.fullest = value;
  }

  /// Adds the operator that makes `value` to `scores` and `added`. Returns the operand that leads on to the product, or
  /// null if the operator does not belong to attention.
  static mlir::Value stepTowardsProduct(Scores &scores, std::vector<Addend> &added, mlir::Value value) {
    mlir::Operation *op = value.getDefiningOp();
    if (reshapesOuterAxes(op))
      return op->getOperand(0);
    if (auto inner = scaled(op)) {
      scores.scale *= inner->second;
      return inner->first;
    }
    if (isOp(op, "add") && scores.scale == 1) {
      unsigned side = leadsToProduct(op->getOperand(0)) ? 0 : 1;
      if (op->getOperand(side).getType() != value.getType())
        return {};
      added.emplace_back(op->getOperand(1 - side), value);
      return op->getOperand(side);
    }
    if (isOp(op, "where") && scores.scale == 1 && !scores.mask && scores.causal == "none") {
      unsigned side = isSplat(op->getOperand(2)) ? 1 : 2;
      auto fill = splatValue(op->getOperand(3 - side));
      if (!fill || op->getOperand(side).getType() != value.getType() ||
          !takeCondition(scores, op->getOperand(0), *fill, side == 2, op))
        return {};
      if (scores.mask && !added.empty()) // added after the fill
        return {};
      added.emplace_back(scores.mask, value); // its axes are checked with the others'
      return op->getOperand(side);
    }
    return {};
  }

  /// Makes an addend the causality, the bias or the mask of `scores`; false if its axes do not fit or all are taken.
  static bool takeAddend(Scores &scores, const Addend &addend) {
    mlir::Value operand = addend.first;
    auto type = rankedType(operand), place = rankedType(addend.second);
    int64_t leading = 0;
    while (type && leading < type.getRank() && type.getDimSize(leading) == 1)
      ++leading;
    if (!type || type.getRank() - leading > sharedAxes(place, rankedType(scores.fullest)) ||
        type.getRank() > rankedType(scores.fullest).getRank())
      return false;
    if (operand == scores.mask)
      return true;
    if (std::string kind = scores.causal == "none" ? causalAddend(operand) : ""; !kind.empty())
      scores.causal = kind;
    else if (!scores.bias)
      scores.bias = operand;
    else if (!scores.mask)
      scores.mask = operand;
    else
      return false;
    return true;
  }

  static std::string causalAddend(mlir::Value operand) {
    auto constant = constantOf(operand);
    if (!constant || constant->rank() < 2)
      return "";
    bool plain = true;
    std::string kind = causalKind(*constant, [&](int64_t i) {
      double x = constant->asDouble(i);
      plain &= x == 0 || x <= farBelow;
      return x == 0;
    });
    return plain ? kind : "";
  }

  /// where(condition, score, fill), or with the branches exchanged.
  static bool takeCondition(Scores &scores, mlir::Value condition, double fill, bool exchanged,
                            mlir::Operation *where) {
    if (auto constant = constantOf(condition); constant && fill <= farBelow) {
      std::string kind = causalKind(*constant, [&](int64_t i) { return (constant->asInteger(i) != 0) != exchanged; });
      if (!kind.empty()) {
        scores.causal = kind;
        return true;
      }
    }
    if (exchanged) {
      mlir::OpBuilder b(where);
      condition = nn::buildValue(b, where->getLoc(), "not", {condition}, NotAttrs());
    }
    scores.mask = condition;
    scores.fill = fill;
    return true;
  }

  /// Moves a factor of an operand of the product of queries and keys into `scale`.
  static mlir::Value withoutScale(mlir::Value value, double &scale) {
    while (value.hasOneUse()) {
      auto inner = scaled(value.getDefiningOp());
      if (!inner)
        break;
      scale *= inner->second;
      value = inner->first;
    }
    return value;
  }

  static mlir::Value transposed(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value,
                                const std::vector<int64_t> &perm) {
    TransposeAttrs attrs;
    attrs.perm = perm;
    return nn::buildValue(b, loc, "transpose", {value}, std::move(attrs));
  }

  /// The keys as rows, from the product's right operand.
  static mlir::Value keysOf(mlir::OpBuilder &b, mlir::Location loc, mlir::Value right, double &scale) {
    right = withoutScale(right, scale);
    std::vector<int64_t> swap(rankedType(right).getRank());
    std::iota(swap.begin(), swap.end(), 0);
    std::swap(swap[swap.size() - 1], swap[swap.size() - 2]);
    if (mlir::Operation *op = right.getDefiningOp(); isOp(op, "transpose") && right.hasOneUse()) {
      // A factor in front of the transpose.
      std::vector<int64_t> inner = nn::attrsAs<TransposeAttrs>(op).perm, perm;
      if (inner.empty()) {
        inner.resize(swap.size());
        std::iota(inner.rbegin(), inner.rend(), 0);
      }
      for (int64_t axis : swap)
        perm.push_back(inner[axis]);
      return transposed(b, loc, withoutScale(op->getOperand(0), scale), perm);
    }
    return transposed(b, loc, right, swap);
  }

  /// `value` with the outer axes of `like` before its last two; null where its type has several open extents or an
  /// extent 0.
  static mlir::Value withOuterAxes(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value,
                                   mlir::RankedTensorType like) {
    auto type = rankedType(value);
    llvm::SmallVector<int64_t> dims(like.getShape().drop_back(2));
    dims.append(type.getShape().take_back(2).begin(), type.getShape().take_back(2).end());
    if (llvm::ArrayRef<int64_t>(dims) == type.getShape())
      return value;
    ReshapeAttrs attrs;
    for (int64_t extent : dims)
      attrs.shape.push_back(mlir::ShapedType::isDynamic(extent) ? -1 : extent);
    if (llvm::count(attrs.shape, -1) > 1 || llvm::is_contained(dims, 0))
      return {};
    mlir::Value result = nn::buildValue(b, loc, "reshape", {value, {}}, std::move(attrs));
    result.setType(mlir::RankedTensorType::get(dims, type.getElementType()));
    return result;
  }

  /// Keys or values before they are repeated for the heads that share them: x of [B, G, K, D], where `value` is [B, G *
  /// r, K, D] by a reshape to [B, G, 1, K, D], an expansion to [B, G, r, K, D] and a reshape. Null for any other value.
  mlir::Value withoutRepeats(mlir::Value value) const {
    while (isOp(value, "transpose") && llvm::is_sorted(nn::attrsAs<TransposeAttrs>(value.getDefiningOp()).perm) &&
           !nn::attrsAs<TransposeAttrs>(value.getDefiningOp()).perm.empty())
      value = value.getDefiningOp()->getOperand(0);
    mlir::Operation *merge = value.getDefiningOp();
    mlir::Operation *expand = isOp(merge, "reshape") ? merge->getOperand(0).getDefiningOp() : nullptr;
    mlir::Operation *split = isOp(expand, "expand") ? expand->getOperand(0).getDefiningOp() : nullptr;
    if (!isOp(split, "reshape"))
      return {};
    mlir::Value source = split->getOperand(0);
    Dims from = shapes.of(source).dims, all = shapes.of(expand->getResult(0)).dims, to = shapes.of(value).dims;
    if (from.size() != 4 || all.size() != 5 || to.size() != 4)
      return {};
    Dims apart = {from[0], from[1], Dim(1), from[2], from[3]}, repeated = {from[0], from[1], all[2], from[2], from[3]};
    Dims merged = {from[0], from[1] * all[2], from[2], from[3]};
    bool fits = shapes.of(split->getResult(0)).dims == apart && all == repeated && to == merged &&
                !llvm::any_of(all, isUnknown);
    return fits ? source : mlir::Value();
  }

  /// True if the batch extents of queries, keys and values fit the operator.
  bool batchesFit(mlir::Value q, mlir::Value right, mlir::Value v) const {
    Dims a = shapes.of(q).dims, b = shapes.of(right).dims, c = shapes.of(v).dims;
    if (a.size() != b.size() || a.size() != c.size() || a.size() < 2)
      return false;
    for (size_t i = 0; i + 2 < a.size(); ++i)
      if (!(b[i] == c[i]) || !(a[i] == b[i] || b[i] == Dim(1)))
        return false;
    // Lanes of queries and values are static.
    return a.back().isConstant() && c.back().isConstant() && a.back().constant() > 0 && c.back().constant() > 0;
  }

  void rewrite(mlir::Operation *last) {
    mlir::Value weights = last->getOperand(0), v = last->getOperand(1);
    while (weights.hasOneUse() && reshapesOuterAxes(weights.getDefiningOp()))
      weights = weights.getDefiningOp()->getOperand(0);
    mlir::Operation *softmax = weights.getDefiningOp();
    auto type = rankedType(weights);
    if (!isOp(softmax, "softmax") || !weights.hasOneUse() || !type)
      return;
    int64_t axis = nn::attrsAs<SoftmaxAttrs>(softmax).axis;
    if (axis != -1 && axis != type.getRank() - 1)
      return;
    if (!leadsToProduct(softmax->getOperand(0)))
      return;
    std::optional<Scores> scores = scoresOf(softmax->getOperand(0));
    if (!scores)
      return;
    mlir::Operation *first = scores->product;
    mlir::Value q = first->getOperand(0), right = first->getOperand(1);
    auto result = rankedType(last->getResult(0)), product = rankedType(first->getResult(0));
    if (!rankedType(q) || !rankedType(right) || !rankedType(v) || !result || !product || !batchesFit(q, right, v))
      return;
    llvm::SmallVector<mlir::Location> locations = {first->getLoc(), softmax->getLoc(), last->getLoc()};
    mlir::Location loc = mlir::FusedLoc::get(last->getContext(), locations);
    mlir::OpBuilder b(last);
    double scale = scores->scale;
    q = withoutScale(q, scale);
    mlir::Value k = keysOf(b, first->getLoc(), right, scale);
    if (rankedType(scores->fullest) != product) {
      auto full = rankedType(scores->fullest);
      q = withOuterAxes(b, loc, q, full);
      k = q ? withOuterAxes(b, loc, k, full) : mlir::Value();
      v = k ? withOuterAxes(b, loc, v, full) : mlir::Value();
      if (!v)
        return;
    }
    mlir::Value fewerKeys = withoutRepeats(k), fewerValues = withoutRepeats(v);
    if (fewerKeys && fewerValues && shapes.of(fewerKeys).dims[1] == shapes.of(fewerValues).dims[1]) {
      k = fewerKeys;
      v = fewerValues;
    }
    AttentionAttrs attrs;
    attrs.scale = scale;
    attrs.causal = scores->causal;
    attrs.fill = scores->fill;
    mlir::Value y = nn::buildValue(b, loc, "attention", {q, k, v, scores->bias, scores->mask}, std::move(attrs));
    if (rankedType(y) != result) {
      mlir::Value back = withOuterAxes(b, loc, y, result);
      if (!back)
        return;
      y = back;
    }
    shapes.set(y, shapes.of(last->getResult(0)));
    replaceWith(last, y);
  }
};

} // namespace

void recognizeAttention(mlir::ModuleOp module) {
  Recognizer(mainFunction(module)).run();
  deadCode(module);
}

} // namespace lathe
