// layer_norm, rms_norm and instance_norm from the operators exporters spell them with.
//
// With m = reduce_mean(x) and d = x - m over the same axes, s = sqrt(reduce_mean(d * d) + epsilon):
//
//   d / s,  d * (1 / s)                    PyTorch, Hugging Face
//   x * (g / s) + (b - m * (g / s))        TensorFlow's batch_normalization on moments
//   x / sqrt(reduce_mean(x * x) + epsilon) RMS norms
//
// A scale and bias that follow are included if they are constants. Other users of a part of the chain keep that part.
#include "passes/Match.h"
#include "passes/Passes.h"

namespace lathe {
namespace {

/// A normalised value, found at `root`.
struct Found {
  mlir::Value x;
  std::vector<int64_t> axes;
  double epsilon = 0;
  bool centred = true;
  mlir::Value scale, bias; // constants; null: without
  mlir::Operation *root = nullptr;
  llvm::SmallVector<mlir::Operation *> ops;
};

/// Returns v if `value` is sqrt(v) or v ^ 0.5.
mlir::Value underRoot(mlir::Value value) {
  if (mlir::Operation *root = producer(value, "sqrt"))
    return root->getOperand(0);
  mlir::Operation *power = producer(value, "pow");
  return power && splatValue(power->getOperand(1)) == 0.5 ? power->getOperand(0) : mlir::Value();
}

/// Returns v if `value` is 1 / sqrt(v), in any spelling.
mlir::Value underInverseRoot(mlir::Value value) {
  if (mlir::Operation *inverse = producer(value, "reciprocal"))
    return underRoot(inverse->getOperand(0));
  if (mlir::Operation *quotient = producer(value, "div"))
    return splatValue(quotient->getOperand(0)) == 1.0 ? underRoot(quotient->getOperand(1)) : mlir::Value();
  mlir::Operation *power = producer(value, "pow");
  return power && splatValue(power->getOperand(1)) == -0.5 ? power->getOperand(0) : mlir::Value();
}

/// x - reduce_mean(x) or the negative of that: x.
struct Deviation {
  mlir::Value x;
  std::vector<int64_t> axes;
  bool negative = false;
};
std::optional<Deviation> deviationOf(mlir::Value value) {
  mlir::Operation *difference = producer(value, "sub");
  for (unsigned i = 0; difference && i < 2; ++i) {
    mlir::Operation *mean = producer(difference->getOperand(1 - i), "reduce_mean");
    if (!mean || mean->getOperand(0) != difference->getOperand(i))
      continue;
    if (auto axes = keptAxes(mean))
      return Deviation{difference->getOperand(i), *axes, i == 1};
  }
  return std::nullopt;
}

/// Fills x, axes, epsilon and centred from v = reduce_mean(square) + epsilon.
bool matchVariance(mlir::Value v, Found &found) {
  auto sum = withNumber(v, "add");
  mlir::Operation *mean = sum ? producer(sum->other, "reduce_mean") : nullptr;
  auto axes = mean ? keptAxes(mean) : std::nullopt;
  mlir::Value base = axes ? squareRootOf(mean->getOperand(0)) : mlir::Value();
  if (!base || sum->number < 0)
    return false;
  found.epsilon = sum->number;
  found.axes = *axes;
  auto deviation = deviationOf(base);
  found.centred = deviation && deviation->axes == *axes;
  found.x = found.centred ? deviation->x : base;
  found.ops = {mean};
  return true;
}

/// d / s and d * (1 / s), centred or not.
std::optional<Found> matchQuotient(mlir::Operation *op) {
  for (unsigned i = 0; i < 2; ++i) {
    mlir::Value numerator = op->getOperand(i), other = op->getOperand(1 - i), v;
    if (isOp(op, "mul"))
      v = underInverseRoot(other);
    else if (isOp(op, "div") && i == 0)
      v = underRoot(other);
    Found found;
    if (!v || !matchVariance(v, found))
      continue;
    found.root = op;
    if (!found.centred && numerator == found.x)
      return found;
    auto deviation = found.centred ? deviationOf(numerator) : std::nullopt;
    if (deviation && !deviation->negative && deviation->x == found.x && deviation->axes == found.axes)
      return found;
  }
  return std::nullopt;
}

/// x * t + (b - m * t), t = 1 / s or g / s.
std::optional<Found> matchAffine(mlir::Operation *op) {
  for (unsigned i = 0; isOp(op, "add") && i < 2; ++i) {
    mlir::Operation *scaled = producer(op->getOperand(i), "mul"), *offset = producer(op->getOperand(1 - i), "sub");
    mlir::Operation *shift = offset ? producer(offset->getOperand(1), "mul") : nullptr;
    if (!scaled || !shift || !offset->getOperand(0).getDefiningOp<nn::ConstantOp>())
      continue;
    for (unsigned j = 0; j < 4; ++j) {
      mlir::Value x = scaled->getOperand(j & 1), t = scaled->getOperand(1 - (j & 1));
      mlir::Operation *mean = producer(shift->getOperand(j >> 1), "reduce_mean");
      if (!mean || mean->getOperand(0) != x || shift->getOperand(1 - (j >> 1)) != t)
        continue;
      mlir::Value v = underInverseRoot(t), scale;
      mlir::Operation *product = producer(t, "mul");
      for (unsigned side = 0; product && !v && side < 2; ++side) {
        scale = product->getOperand(side);
        v = scale.getDefiningOp<nn::ConstantOp>() ? underInverseRoot(product->getOperand(1 - side)) : mlir::Value();
      }
      Found found;
      if (!v || !matchVariance(v, found) || !found.centred || found.x != x || keptAxes(mean) != found.axes)
        continue;
      found.root = op;
      found.scale = scale;
      found.bias = offset->getOperand(0);
      return found;
    }
  }
  return std::nullopt;
}

/// Takes the constants of a multiplication and an addition that follow, each the only user of its operand.
void takeParameters(Found &found) {
  auto next = [&](const char *mnemonic) -> mlir::Value {
    mlir::Value value = found.root->getResult(0);
    mlir::Operation *user = value.hasOneUse() ? *value.getUsers().begin() : nullptr;
    if (!isOp(user, mnemonic) || user->getResult(0).getType() != value.getType())
      return {};
    mlir::Value other = user->getOperand(user->getOperand(0) == value ? 1 : 0);
    if (!other.getDefiningOp<nn::ConstantOp>())
      return {};
    found.ops.push_back(found.root);
    found.root = user;
    return other;
  };
  if (!found.scale && !found.bias)
    found.scale = next("mul");
  if (!found.bias)
    found.bias = found.centred ? next("add") : mlir::Value();
}

/// True if `value` varies along the normalised axes only.
bool variesInside(mlir::Value value, const Found &found) {
  auto type = rankedType(value), whole = rankedType(found.x);
  if (!type || type.getRank() > whole.getRank())
    return false;
  int64_t missing = whole.getRank() - type.getRank();
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (type.getDimSize(i) != 1 && i + missing < found.axes.front())
      return false;
  return true;
}

/// A constant of rank 1 with one element per channel (axis 1), or null.
mlir::Value channelConstant(mlir::OpBuilder &b, mlir::Value value, double otherwise, const Found &found,
                            llvm::StringRef suffix) {
  auto type = rankedType(found.x);
  std::vector<double> values(type.getDimSize(1), otherwise);
  if (value) {
    auto given = perChannelConstant(value, found.x);
    if (!given)
      return {};
    values = *given;
  }
  return makeConstant(b, found.root->getLoc(), nn::toElementType(type.getElementType()), {type.getDimSize(1)}, values,
                      constantName(found.root, suffix));
}

mlir::Value build(mlir::OpBuilder &b, mlir::Location loc, const Found &found) {
  auto type = rankedType(found.x);
  int64_t first = found.axes.front(), rank = type.getRank();
  for (size_t i = 0; i < found.axes.size(); ++i)
    if (found.axes[i] != first + static_cast<int64_t>(i))
      return {};
  if (found.axes.back() != rank - 1)
    return {};
  bool inside = (!found.scale || variesInside(found.scale, found)) && (!found.bias || variesInside(found.bias, found));
  if (found.centred && first == 2 && !type.isDynamicDim(1) && (rank > 3 || !inside)) { // images, channel by channel
    InstanceNormAttrs attrs;
    attrs.epsilon = found.epsilon;
    mlir::Value scale = channelConstant(b, found.scale, 1, found, ".scale");
    mlir::Value bias = scale ? channelConstant(b, found.bias, 0, found, ".bias") : mlir::Value();
    if (bias)
      return nn::buildValue(b, loc, "instance_norm", {found.x, scale, bias}, std::move(attrs));
  }
  if (!inside)
    return {};
  mlir::Value scale = found.scale;
  if (!scale)
    scale =
        makeConstant(b, loc, nn::toElementType(type.getElementType()), {1}, {1}, constantName(found.root, ".scale"));
  if (!found.centred) {
    RmsNormAttrs attrs;
    attrs.axis = first;
    attrs.epsilon = found.epsilon;
    return nn::buildValue(b, loc, "rms_norm", {found.x, scale}, std::move(attrs));
  }
  LayerNormAttrs attrs;
  attrs.axis = first;
  attrs.epsilon = found.epsilon;
  return nn::buildValue(b, loc, "layer_norm", {found.x, scale, found.bias}, std::move(attrs));
}

} // namespace

void recognizeLayerNorm(mlir::ModuleOp module) {
  llvm::SmallVector<mlir::Operation *> roots;
  for (mlir::Operation &op : mainFunction(module).getBody().front())
    if (isOp(&op, "div") || isOp(&op, "mul") || isOp(&op, "add"))
      roots.push_back(&op);
  for (mlir::Operation *op : roots) {
    std::optional<Found> found = isOp(op, "add") ? matchAffine(op) : matchQuotient(op);
    if (!found || op->getResult(0).getType() != found->x.getType())
      continue;
    // Parameters that do not fit stay as separate operators.
    Found whole = *found;
    takeParameters(whole);
    for (Found *candidate : {&whole, &*found}) {
      mlir::OpBuilder b(candidate->root);
      candidate->ops.push_back(candidate->root);
      if (mlir::Value value = build(b, fuseLocations(candidate->ops), *candidate)) {
        candidate->root->getResult(0).replaceAllUsesWith(value);
        break;
      }
    }
  }
  deadCode(module);
}

} // namespace lathe
