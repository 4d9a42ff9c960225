#include "ops/WindowPads.h"
#include "passes/Passes.h"
#include "passes/Rewrite.h"

#include <algorithm>

namespace lathe {
namespace {

/// The elements that a constant pad adds around the spatial axes (all begins, then all ends); empty for any other pad.
std::optional<std::vector<int64_t>> spatialPads(const PadAttrs &pad, int64_t rank) {
  if (pad.mode != "constant" || rank < 3 || static_cast<int64_t>(pad.pads.size()) != 2 * rank)
    return std::nullopt;
  for (int64_t axis : {int64_t(0), int64_t(1), rank, rank + 1})
    if (pad.pads[axis] != 0)
      return std::nullopt;
  if (std::any_of(pad.pads.begin(), pad.pads.end(), [](int64_t p) { return p < 0; }))
    return std::nullopt;
  std::vector<int64_t> result(pad.pads.begin() + 2, pad.pads.begin() + rank);
  result.insert(result.end(), pad.pads.begin() + rank + 2, pad.pads.end());
  return result;
}

/// True when no element of the value is negative.
bool nonNegative(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  if (isOp(op, "clip"))
    return !operandOf(op, 1) && nn::attrsAs<ClipAttrs>(op).min >= 0;
  return isOp(op, "relu") || isOp(op, "sigmoid") || isOp(op, "hard_sigmoid") || isOp(op, "abs");
}

template <class PoolAttrs>
std::optional<std::vector<int64_t>> poolPads(const PoolAttrs &pool, const std::vector<int64_t> &outer) {
  std::vector<int64_t> pads(outer);
  size_t spatial = pool.kernel.size();
  if (hasFollowingPads(pool.pads, spatial))
    return std::nullopt;
  for (size_t i = 0; i < pads.size(); ++i) {
    pads[i] += pool.pads.empty() ? 0 : pool.pads[i];
    int64_t dilation = pool.dilations.empty() ? 1 : pool.dilations[i % spatial];
    if (pads[i] > dilation * (pool.kernel[i % spatial] - 1))
      return std::nullopt; // a window of padding only: pool_c4
  }
  return pads;
}

void fold(mlir::Operation *op) {
  bool conv = isOp(op, "conv"), average = isOp(op, "average_pool"), maximum = isOp(op, "max_pool");
  mlir::Operation *padOp = conv || average || maximum ? op->getOperand(0).getDefiningOp() : nullptr;
  auto type = padOp ? rankedType(op->getOperand(0)) : mlir::RankedTensorType();
  if (!isOp(padOp, "pad") || !type || operandOf(padOp, 1) || operandOf(padOp, 2))
    return;
  auto pad = nn::attrsAs<PadAttrs>(padOp);
  auto outer = spatialPads(pad, type.getRank());
  if (!outer)
    return;
  if (conv) {
    auto attrs = nn::attrsAs<ConvAttrs>(op);
    if (pad.value != 0 || hasFollowingPads(attrs.pads, outer->size() / 2))
      return;
    for (size_t i = 0; i < outer->size(); ++i)
      attrs.pads[i] += (*outer)[i];
    nn::setAttrs(op, attrs);
  } else if (average) {
    auto attrs = nn::attrsAs<AveragePoolAttrs>(op);
    bool padded = std::any_of(attrs.pads.begin(), attrs.pads.end(), [](int64_t p) { return p != 0; });
    auto pads = poolPads(attrs, *outer);
    // The zeros count as elements; the pool's own padding must then count too, and nothing may reach beyond both.
    if (pad.value != 0 || !pads || (padded && !attrs.count_include_pad) || attrs.ceil_mode)
      return;
    attrs.pads = *pads;
    attrs.count_include_pad = true;
    nn::setAttrs(op, attrs);
  } else {
    auto attrs = nn::attrsAs<MaxPoolAttrs>(op);
    auto pads = poolPads(attrs, *outer);
    // Padding never wins in a max_pool. A pad of 0 among non-negative elements never changes the maximum.
    bool neverWins = pad.value <= -3.4028234e38 || (pad.value == 0 && nonNegative(padOp->getOperand(0)));
    if (!neverWins || !pads || attrs.ceil_mode)
      return;
    attrs.pads = *pads;
    nn::setAttrs(op, attrs);
  }
  op->setOperand(0, padOp->getOperand(0));
  op->setLoc(fuseLocations(padOp, op));
  if (padOp->use_empty())
    padOp->erase();
}

} // namespace

void foldPad(mlir::ModuleOp module) {
  for (mlir::Operation &op : mainFunction(module).getBody().front())
    fold(&op);
}

} // namespace lathe
