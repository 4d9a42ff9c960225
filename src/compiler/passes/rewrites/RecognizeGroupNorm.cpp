// group_norm as PyTorch exports it: reshape to one row per group, instance_norm, reshape back, then a scale and a bias
// per channel.
#include "passes/Match.h"
#include "passes/Passes.h"

namespace lathe {
namespace {

bool recognizeGroupNormAt(mlir::Operation *back) {
  mlir::Operation *norm = isOp(back, "reshape") ? producer(back->getOperand(0), "instance_norm") : nullptr;
  mlir::Operation *apart = norm ? producer(norm->getOperand(0), "reshape") : nullptr;
  if (!apart || operandOf(apart, 1) || operandOf(back, 1))
    return false;
  mlir::Value x = apart->getOperand(0);
  auto type = rankedType(x), rows = rankedType(apart->getResult(0));
  if (back->getResult(0).getType() != type || type.getRank() < 2 || rows.getRank() < 3 || type.isDynamicDim(1) ||
      rows.isDynamicDim(1) || type.getDimSize(0) != rows.getDimSize(0))
    return false;
  int64_t channels = type.getDimSize(1), groups = rows.getDimSize(1);
  if (groups == 0 || channels % groups != 0)
    return false;
  // The batch must be the same axis: by extent, or by the reshape that keeps it.
  if (type.isDynamicDim(0)) {
    auto shape = nn::attrsAs<ReshapeAttrs>(apart);
    if (shape.shape.empty() || shape.shape[0] != 0 || shape.allow_zero)
      return false;
  }
  auto scale = constantOf(norm->getOperand(1)), bias = constantOf(norm->getOperand(2));
  if (!scale || !bias)
    return false;
  std::vector<double> groupScale = toDoubles(*scale), groupBias = toDoubles(*bias), factors, offsets;
  for (int64_t c = 0; c < channels; ++c) {
    factors.push_back(groupScale[c / (channels / groups)]);
    offsets.push_back(groupBias[c / (channels / groups)]);
  }
  // A scale and a bias that follow.
  llvm::SmallVector<mlir::Operation *> ops = {apart, norm, back};
  auto next = [&](const char *mnemonic) -> std::optional<std::vector<double>> {
    mlir::Value value = ops.back()->getResult(0);
    mlir::Operation *user = value.hasOneUse() ? *value.getUsers().begin() : nullptr;
    if (!isOp(user, mnemonic) || user->getResult(0).getType() != value.getType())
      return std::nullopt;
    auto values = perChannelConstant(user->getOperand(user->getOperand(0) == value ? 1 : 0), x);
    if (values)
      ops.push_back(user);
    return values;
  };
  if (auto values = next("mul"))
    for (int64_t c = 0; c < channels; ++c) {
      factors[c] *= (*values)[c];
      offsets[c] *= (*values)[c];
    }
  if (auto values = next("add"))
    for (int64_t c = 0; c < channels; ++c)
      offsets[c] += (*values)[c];
  mlir::Operation *root = ops.back();
  mlir::OpBuilder b(root);
  mlir::Location loc = fuseLocations(ops);
  ElementType element = nn::toElementType(type.getElementType());
  GroupNormAttrs attrs;
  attrs.num_groups = groups;
  attrs.epsilon = nn::attrsAs<InstanceNormAttrs>(norm).epsilon;
  mlir::Value s = makeConstant(b, loc, element, {channels}, factors, constantName(root, ".scale"));
  mlir::Value o = makeConstant(b, loc, element, {channels}, offsets, constantName(root, ".bias"));
  root->getResult(0).replaceAllUsesWith(nn::buildValue(b, loc, "group_norm", {x, s, o}, std::move(attrs)));
  return true;
}

} // namespace

void recognizeGroupNorm(mlir::ModuleOp module) {
  llvm::SmallVector<mlir::Operation *> roots;
  for (mlir::Operation &op : mainFunction(module).getBody().front())
    if (isOp(&op, "reshape"))
      roots.push_back(&op);
  for (mlir::Operation *op : roots)
    recognizeGroupNormAt(op);
  deadCode(module);
}

} // namespace lathe
