#include "passes/Passes.h"
#include "passes/Rewrite.h"

#include <vector>

namespace lathe {
namespace {

/// Number of groups when `last` ends reshape(N,C,... -> N,g,C/g,...), transpose of axes 1 and 2, reshape back; 0
/// otherwise.
int64_t shuffledGroups(mlir::Operation *last) {
  mlir::Operation *transpose = isOp(last, "reshape") ? last->getOperand(0).getDefiningOp() : nullptr;
  mlir::Operation *first = isOp(transpose, "transpose") ? transpose->getOperand(0).getDefiningOp() : nullptr;
  if (!isOp(first, "reshape"))
    return 0;
  auto x = rankedType(first->getOperand(0)), apart = rankedType(first->getResult(0)),
       y = rankedType(last->getResult(0));
  if (!x || !apart || !y || x != y || x.getRank() < 3 || apart.getRank() < 4 || x.isDynamicDim(1) ||
      apart.isDynamicDim(1) || apart.isDynamicDim(2) || apart.getDimSize(0) != x.getDimSize(0) ||
      apart.getDimSize(1) * apart.getDimSize(2) != x.getDimSize(1))
    return 0;
  // Spatial extents may be merged on the way, but all must be there: static ones, or one open extent that is left over.
  int64_t before = 1, between = 1;
  for (int64_t extent : x.getShape().drop_front(2))
    before *= mlir::ShapedType::isDynamic(extent) ? 0 : extent;
  for (int64_t extent : apart.getShape().drop_front(3))
    between *= mlir::ShapedType::isDynamic(extent) ? 0 : extent;
  if (before == 0 || before != between)
    return 0;
  std::vector<int64_t> perm = nn::attrsAs<TransposeAttrs>(transpose).perm;
  if (perm.size() != static_cast<size_t>(apart.getRank()))
    return 0;
  for (size_t axis = 0; axis < perm.size(); ++axis)
    if (perm[axis] != (axis == 1 ? 2 : axis == 2 ? 1 : static_cast<int64_t>(axis)))
      return 0;
  return apart.getDimSize(1);
}

} // namespace

void channelShuffle(mlir::ModuleOp module) {
  for (mlir::Operation &op : llvm::make_early_inc_range(mainFunction(module).getBody().front())) {
    int64_t groups = shuffledGroups(&op);
    if (groups == 0)
      continue;
    mlir::Operation *transpose = op.getOperand(0).getDefiningOp(), *first = transpose->getOperand(0).getDefiningOp();
    mlir::Value x = first->getOperand(0);
    int64_t channels = rankedType(x).getDimSize(1), inGroup = channels / groups;
    std::vector<int64_t> from; // channel c of the result is channel from[c] of x
    for (int64_t i = 0; i < inGroup; ++i)
      for (int64_t g = 0; g < groups; ++g)
        from.push_back(g * inGroup + i);
    mlir::OpBuilder b(&op);
    mlir::Location loc = mlir::FusedLoc::get(op.getContext(), {first->getLoc(), transpose->getLoc(), op.getLoc()});
    mlir::Value indices = makeConstant(b, loc, Tensor::of<int64_t>({channels}, from), constantName(&op, ".channels"));
    GatherAttrs attrs;
    attrs.axis = 1;
    replaceWith(&op, nn::buildValue(b, loc, "gather", {x, indices}, std::move(attrs)));
  }
  deadCode(module);
}

} // namespace lathe
