#include "passes/Passes.h"
#include "passes/Rewrite.h"
#include "passes/rewrites/ChannelAffine.h"

#include <algorithm>

namespace lathe {
namespace {

struct Step {
  mlir::Value x; // the operand that is not constant
  ChannelAffine affine;
};

/// `op` as scale * x + shift for each channel.
std::optional<Step> stepOf(mlir::Operation *op) {
  bool mul = isOp(op, "mul"), div = isOp(op, "div"), add = isOp(op, "add"), sub = isOp(op, "sub");
  if (!mul && !div && !add && !sub)
    return std::nullopt;
  for (unsigned position : {0u, 1u}) {
    mlir::Value x = op->getOperand(position);
    if (x.getType() != op->getResult(0).getType())
      continue;
    auto constants = perChannelConstant(op->getOperand(1 - position), x);
    if (!constants)
      continue;
    Step step{x, {std::vector<double>(constants->size(), 1.0), std::vector<double>(constants->size(), 0.0)}};
    if (mul)
      step.affine.scale = *constants;
    else if (add)
      step.affine.shift = *constants;
    else if (div && position == 0) {
      if (std::count(constants->begin(), constants->end(), 0.0))
        continue; // 0 / 0 is NaN, which no factor gives
      for (size_t c = 0; c < constants->size(); ++c)
        step.affine.scale[c] = 1 / (*constants)[c];
    } else if (sub && position == 0)
      for (size_t c = 0; c < constants->size(); ++c)
        step.affine.shift[c] = -(*constants)[c];
    else if (sub) { // constant - x
      step.affine.scale.assign(constants->size(), -1.0);
      step.affine.shift = *constants;
    } else
      continue; // constant / x is not affine
    return step;
  }
  return std::nullopt;
}

} // namespace

void foldScale(mlir::ModuleOp module, bool exactMath) {
  if (exactMath)
    return;
  // In order, so that a whole chain of such operators disappears into one convolution.
  for (mlir::Operation &op : llvm::make_early_inc_range(mainFunction(module).getBody().front()))
    if (auto step = stepOf(&op))
      foldIntoProducer(step->x, step->affine, &op);
}

} // namespace lathe
