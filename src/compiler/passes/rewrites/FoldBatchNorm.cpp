#include "passes/Passes.h"
#include "passes/Rewrite.h"
#include "passes/rewrites/ChannelAffine.h"

#include <cmath>

namespace lathe {
namespace {

/// scale / sqrt(var + epsilon) = s, and bias - mean * s, in float64; empty unless all four parameters are constant.
std::optional<ChannelAffine> affineOf(mlir::Operation *batchNorm) {
  std::vector<double> parameters[4];
  for (unsigned i = 0; i < 4; ++i) {
    std::optional<Tensor> constant = constantOf(batchNorm->getOperand(1 + i));
    if (!constant)
      return std::nullopt;
    parameters[i] = toDoubles(*constant);
  }
  auto &[scale, bias, mean, var] = parameters;
  double epsilon = nn::attrsAs<BatchNormAttrs>(batchNorm).epsilon;
  ChannelAffine affine;
  for (size_t c = 0; c < scale.size(); ++c) {
    affine.scale.push_back(scale[c] / std::sqrt(var[c] + epsilon));
    affine.shift.push_back(bias[c] - mean[c] * affine.scale.back());
  }
  return affine;
}

/// x * scale + shift, both operators at the batch norm's place in the source, so that they are one kernel at every
/// level.
void decompose(mlir::Operation *batchNorm, const ChannelAffine &affine) {
  mlir::OpBuilder b(batchNorm);
  mlir::Location loc = batchNorm->getLoc();
  mlir::Value x = batchNorm->getOperand(0);
  ElementType type = nn::toElementType(rankedType(x).getElementType());
  mlir::Value scale = makeConstant(b, loc, type, channelDims(x), affine.scale, constantName(batchNorm, ".scale"));
  mlir::Value shift = makeConstant(b, loc, type, channelDims(x), affine.shift, constantName(batchNorm, ".shift"));
  mlir::Value scaled = nn::buildValue(b, loc, "mul", {x, scale}, MulAttrs());
  replaceWith(batchNorm, nn::buildValue(b, loc, "add", {scaled, shift}, AddAttrs()));
}

/// The definition itself, (x - mean) * (scale / sqrt(var + epsilon)) + bias: for exact math and for computed
/// parameters. Its constant parts fold.
void spellOut(mlir::Operation *batchNorm) {
  mlir::OpBuilder b(batchNorm);
  mlir::Location loc = batchNorm->getLoc();
  mlir::Value x = batchNorm->getOperand(0);
  auto type = rankedType(x);
  ReshapeAttrs reshape;
  reshape.shape.assign(type.getRank() - 1, 1);
  reshape.shape[0] = -1;
  mlir::Value parameters[4];
  for (unsigned i = 0; i < 4; ++i)
    parameters[i] = nn::buildValue(b, loc, "reshape", {batchNorm->getOperand(1 + i), {}}, ReshapeAttrs(reshape));
  auto &[scale, bias, mean, var] = parameters;
  ElementType varType = nn::toElementType(rankedType(var).getElementType());
  mlir::Value epsilon = makeConstant(b, loc, varType, {}, {nn::attrsAs<BatchNormAttrs>(batchNorm).epsilon},
                                     constantName(batchNorm, ".epsilon"));
  mlir::Value deviation =
      nn::buildValue(b, loc, "sqrt", {nn::buildValue(b, loc, "add", {var, epsilon}, AddAttrs())}, SqrtAttrs());
  mlir::Value factor = nn::buildValue(b, loc, "div", {scale, deviation}, DivAttrs());
  mlir::Value centred = nn::buildValue(b, loc, "sub", {x, mean}, SubAttrs());
  mlir::Value scaled = nn::buildValue(b, loc, "mul", {centred, factor}, MulAttrs());
  replaceWith(batchNorm, nn::buildValue(b, loc, "add", {scaled, bias}, AddAttrs()));
}

} // namespace

void foldBatchNorm(mlir::ModuleOp module, bool decomposeOnly, bool exactMath) {
  // Not an early-increment walk: folding into a later convolution erases operators ahead.
  std::vector<mlir::Operation *> batchNorms;
  for (mlir::Operation &op : mainFunction(module).getBody().front())
    if (isOp(&op, "batch_norm"))
      batchNorms.push_back(&op);
  for (mlir::Operation *op : batchNorms) {
    mlir::Value x = op->getOperand(0);
    auto type = rankedType(x);
    if (!type || type.getRank() < 2)
      continue; // the rank is unknown; the reference runs it
    std::optional<ChannelAffine> affine = exactMath || type.isDynamicDim(1) ? std::nullopt : affineOf(op);
    if (!affine)
      spellOut(op);
    else if (decomposeOnly || (!foldIntoProducer(x, *affine, op) && !foldIntoConsumer(x, *affine, op)))
      decompose(op, *affine);
  }
}

} // namespace lathe
