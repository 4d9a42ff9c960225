#include "passes/rewrites/ChannelAffine.h"

#include "passes/Rewrite.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lathe {
namespace {

/// False if a value would be NaN or infinite as an element of `type`.
bool allFinite(const std::vector<double> &values, ElementType type) {
  double greatest = type == ElementType::f64   ? std::numeric_limits<double>::max()
                    : type == ElementType::f16 ? 65504
                                               : 0x1.fep127; // limit of bf16, close to the limit of float32
  return std::all_of(values.begin(), values.end(), [&](double v) { return std::abs(v) <= greatest; });
}

/// Replaces `op` by one of the same kind with other weights and a bias, at the position of `at`.
mlir::Value rebuild(mlir::Operation *op, mlir::Operation *at, mlir::Value weights, mlir::Value bias, Attrs &attrs) {
  mlir::OpBuilder builder(at);
  auto inner = mlir::FusedLoc::get(op->getContext(), {op->getLoc(), at->getLoc()});
  mlir::Operation *result =
      nn::build(builder, inner, op->getName().stripDialect(), {op->getOperand(0), weights, bias}, attrs);
  result->getResult(0).setType(at->getResult(0).getType());
  return result->getResult(0);
}

bool foldIntoConv(mlir::Operation *conv, const ChannelAffine &affine, mlir::Operation *consumer) {
  std::optional<Tensor> weights = constantOf(operandOf(conv, 1));
  mlir::Value biasValue = operandOf(conv, 2);
  std::optional<Tensor> bias = constantOf(biasValue);
  if (!weights || (biasValue && !bias))
    return false;
  // A transposed convolution's weights are channels in x channels out (of a group) x taps.
  bool transposed = isOp(conv, "conv_transpose");
  int64_t groups = transposed ? nn::attrsAs<ConvTransposeAttrs>(conv).group : 1;
  int64_t outGroup = weights->dim(transposed ? 1 : 0), outChannels = outGroup * groups;
  int64_t inGroup = transposed ? weights->dim(0) / groups : 1; // ordinary: one row of weights per output channel
  int64_t rest = weights->elements() / std::max<int64_t>(outChannels * inGroup, 1);
  std::vector<double> w = toDoubles(*weights);
  std::vector<double> b = bias ? toDoubles(*bias) : std::vector<double>(outChannels, 0.0);
  for (int64_t c = 0; c < groups * inGroup; ++c)
    for (int64_t o = 0; o < outGroup; ++o)
      for (int64_t i = 0; i < rest; ++i)
        w[(c * outGroup + o) * rest + i] *= affine.scale[c / inGroup * outGroup + o];
  for (int64_t o = 0; o < outChannels; ++o)
    b[o] = b[o] * affine.scale[o] + affine.shift[o];
  if (!allFinite(w, weights->type()) || !allFinite(b, weights->type()))
    return false;
  mlir::OpBuilder builder(consumer);
  mlir::Value newWeights =
      makeConstant(builder, conv->getLoc(), weights->type(), weights->dims(), w, constantName(conv, ".weights"));
  mlir::Value newBias =
      makeConstant(builder, conv->getLoc(), weights->type(), {outChannels}, b, constantName(conv, ".bias"));
  replaceWith(consumer, rebuild(conv, consumer, newWeights, newBias, *nn::attrsOf(conv)));
  conv->erase();
  return true;
}

bool foldIntoGemm(mlir::Operation *gemm, const ChannelAffine &affine, mlir::Operation *consumer) {
  std::optional<Tensor> weights = constantOf(operandOf(gemm, 1));
  mlir::Value biasValue = operandOf(gemm, 2);
  if (!weights)
    return false;
  auto attrs = nn::attrsAs<GemmAttrs>(gemm);
  int64_t columns = weights->dim(attrs.trans_b ? 0 : 1), rows = weights->dim(attrs.trans_b ? 1 : 0);
  std::vector<double> b(columns, 0.0);
  if (biasValue) {
    auto bias = perChannelConstant(biasValue, gemm->getResult(0));
    if (!bias)
      return false;
    b = *bias;
  }
  std::vector<double> w = toDoubles(*weights);
  for (int64_t n = 0; n < columns; ++n) {
    for (int64_t k = 0; k < rows; ++k)
      w[attrs.trans_b ? n * rows + k : k * columns + n] *= affine.scale[n];
    b[n] = attrs.beta * b[n] * affine.scale[n] + affine.shift[n];
  }
  if (!allFinite(w, weights->type()) || !allFinite(b, weights->type()))
    return false;
  attrs.beta = 1;
  mlir::OpBuilder builder(consumer);
  mlir::Value newWeights =
      makeConstant(builder, gemm->getLoc(), weights->type(), weights->dims(), w, constantName(gemm, ".weights"));
  mlir::Value newBias =
      makeConstant(builder, gemm->getLoc(), weights->type(), {columns}, b, constantName(gemm, ".bias"));
  replaceWith(consumer, rebuild(gemm, consumer, newWeights, newBias, attrs));
  gemm->erase();
  return true;
}

} // namespace

bool foldIntoProducer(mlir::Value x, const ChannelAffine &affine, mlir::Operation *consumer) {
  mlir::Operation *producer = x.getDefiningOp();
  if (!producer || !x.hasOneUse() || x.getType() != consumer->getResult(0).getType())
    return false;
  if (isOp(producer, "conv") || isOp(producer, "conv_transpose"))
    return foldIntoConv(producer, affine, consumer);
  if (isOp(producer, "gemm"))
    return foldIntoGemm(producer, affine, consumer);
  return false;
}

bool foldIntoConsumer(mlir::Value x, const ChannelAffine &affine, mlir::Operation *producer) {
  mlir::Value scaled = producer->getResult(0);
  if (!scaled.hasOneUse() || x.getType() != scaled.getType())
    return false;
  mlir::Operation *conv = *scaled.getUsers().begin();
  if (!isOp(conv, "conv") || conv->getOperand(0) != scaled)
    return false;
  std::optional<Tensor> weights = constantOf(operandOf(conv, 1));
  mlir::Value biasValue = operandOf(conv, 2);
  std::optional<Tensor> bias = constantOf(biasValue);
  auto attrs = nn::attrsAs<ConvAttrs>(conv);
  bool padded = std::any_of(attrs.pads.begin(), attrs.pads.end(), [](int64_t pad) { return pad != 0; });
  bool shifted = std::any_of(affine.shift.begin(), affine.shift.end(), [](double s) { return s != 0; });
  if (!weights || (biasValue && !bias) || (padded && shifted)) // padding is zero after the shift, not before
    return false;
  int64_t outChannels = weights->dim(0), inGroup = weights->dim(1);
  int64_t taps = weights->elements() / std::max<int64_t>(outChannels * inGroup, 1);
  int64_t outGroup = outChannels / attrs.group;
  std::vector<double> w = toDoubles(*weights);
  std::vector<double> b = bias ? toDoubles(*bias) : std::vector<double>(outChannels, 0.0);
  for (int64_t o = 0; o < outChannels; ++o)
    for (int64_t c = 0; c < inGroup; ++c) {
      int64_t channel = o / outGroup * inGroup + c;
      for (int64_t t = 0; t < taps; ++t) {
        double &weight = w[(o * inGroup + c) * taps + t];
        b[o] += weight * affine.shift[channel];
        weight *= affine.scale[channel];
      }
    }
  if (!allFinite(w, weights->type()) || !allFinite(b, weights->type()))
    return false;
  mlir::OpBuilder builder(conv);
  conv->setOperand(0, x);
  mlir::Value newWeights =
      makeConstant(builder, conv->getLoc(), weights->type(), weights->dims(), w, constantName(conv, ".weights"));
  mlir::Value newBias =
      makeConstant(builder, conv->getLoc(), weights->type(), {outChannels}, b, constantName(conv, ".bias"));
  mlir::Location loc = fuseLocations(producer, conv);
  mlir::Operation *result = nn::build(builder, loc, "conv", {x, newWeights, newBias}, attrs);
  result->getResult(0).setType(conv->getResult(0).getType());
  conv->getResult(0).replaceAllUsesWith(result->getResult(0));
  conv->erase();
  producer->erase();
  return true;
}

} // namespace lathe
