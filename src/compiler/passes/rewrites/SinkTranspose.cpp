#include "passes/Passes.h"
#include "passes/Rewrite.h"

#include "llvm/ADT/DenseSet.h"

#include <algorithm>
#include <numeric>

namespace lathe {
namespace {

using Axes = std::vector<int64_t>;

/// True for operators with the channels at axis 1: their results are images.
bool makesImage(mlir::Operation *op) {
  static constexpr const char *names[] = {
      "average_pool",  "batch_norm", "conv",     "conv_integer", "conv_transpose", "depth_to_space",
      "instance_norm", "lrn",        "max_pool", "resize",       "space_to_depth", "grid_sample",
  };
  return llvm::any_of(names, [&](const char *name) { return isOp(op, name); });
}

/// True for a permutation that puts the channels of an image last.
bool putsChannelsLast(const Axes &perm) {
  auto rank = static_cast<int64_t>(perm.size());
  if (rank < 4 || perm.front() != 0 || perm.back() != 1)
    return false;
  for (int64_t i = 1; i + 1 < rank; ++i)
    if (perm[static_cast<size_t>(i)] != i + 1)
      return false;
  return true;
}

Axes inverse(const Axes &perm) {
  Axes result(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    result[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return result;
}

bool isOrder(const Axes &axes) { return std::is_sorted(axes.begin(), axes.end()); }

mlir::Value transposed(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, const Axes &perm) {
  if (isOrder(perm))
    return x;
  TransposeAttrs attrs;
  attrs.perm = perm;
  return nn::buildValue(b, loc, "transpose", {x}, std::move(attrs));
}

class Sinker {
public:
  explicit Sinker(mlir::Block &block) : block(block) {}

  /// Moves transposes after the operators that read them, one operator after the other.
  void run() {
    for (mlir::Operation &op : llvm::make_early_inc_range(block)) {
      if (!nn::recordOf(&op))
        continue;
      if (makesImage(&op) || keepsImage(&op))
        images.insert(op.getResult(0));
      else
        sink(&op);
    }
  }

private:
  mlir::Block &block;
  llvm::DenseSet<mlir::Value> images; // with the channels at axis 1
  Axes perm; // of the transposes that `op` reads: axis i of their result is axis perm[i] before

  /// True for operators whose result has the axes of the image that they read: sums of a convolution on their way to
  /// bytes, rows and columns of an image.
  bool keepsImage(mlir::Operation *op) const {
    if (op->getNumResults() != 1 || op->getNumOperands() == 0)
      return false;
    auto type = rankedType(op->getResult(0));
    if (isOp(op, "gather")) {
      auto indices = rankedType(op->getOperand(1));
      return images.contains(op->getOperand(0)) && indices && indices.getRank() == 1 &&
             nn::attrsAs<GatherAttrs>(op).axis >= 2;
    }
    return loweringOf(op) == "elementwise" && type && llvm::any_of(op->getOperands(), [&](mlir::Value operand) {
             auto own = rankedType(operand);
             return images.contains(operand) && own && own.getShape() == type.getShape();
           });
  }

  /// The image that `value` transposes.
  mlir::Value imageOf(mlir::Value value) const {
    mlir::Operation *op = value ? value.getDefiningOp() : nullptr;
    if (!isOp(op, "transpose") || !images.contains(op->getOperand(0)))
      return {};
    Axes own = nn::attrsAs<TransposeAttrs>(op).perm;
    return own == perm || (perm.empty() && putsChannelsLast(own)) ? op->getOperand(0) : mlir::Value();
  }

  bool readsTranspose(mlir::Operation *op) {
    perm.clear();
    for (mlir::Value operand : op->getOperands())
      if (imageOf(operand)) {
        perm = nn::attrsAs<TransposeAttrs>(operand.getDefiningOp()).perm;
        return true;
      }
    return false;
  }

  bool sink(mlir::Operation *op) {
    if (!readsTranspose(op))
      return false;
    if (loweringOf(op) == "elementwise" && op->getNumResults() == 1)
      return sinkElementwise(op);
    if (isOp(op, "concat"))
      return sinkConcat(op);
    if (op->getNumOperands() != 1) // some parameters are computed at run time
      return false;
    if (isOp(op, "reshape"))
      return sinkFlatten(op);
    if (isOp(op, "pad"))
      return sinkPad(op);
    if (isOp(op, "slice"))
      return sinkSlice(op);
    if (isOp(op, "split"))
      return sinkSplit(op);
    if (op->getName().stripDialect().starts_with("reduce_"))
      return sinkReduction(op);
    if (isOp(op, "arg_max") || isOp(op, "arg_min"))
      return sinkAlongAxis(op, /*usual=*/0, /*reduces=*/true);
    if (isOp(op, "softmax") || isOp(op, "log_softmax"))
      return sinkAlongAxis(op, /*usual=*/-1, /*reduces=*/false);
    return false;
  }

  int64_t axisBefore(int64_t axis) const {
    auto rank = static_cast<int64_t>(perm.size());
    return perm[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
  }

  /// `type` with the axes as they were before the transpose.
  mlir::RankedTensorType before(mlir::RankedTensorType type) const {
    llvm::SmallVector<int64_t> shape(perm.size());
    for (size_t i = 0; i < perm.size(); ++i)
      shape[static_cast<size_t>(perm[i])] = type.getDimSize(static_cast<unsigned>(i));
    return mlir::RankedTensorType::get(shape, type.getElementType());
  }

  mlir::Value build(mlir::OpBuilder &b, mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands, Attrs &attrs) {
    return nn::build(b, op->getLoc(), op->getName().stripDialect(), operands, attrs)->getResult(0);
  }

  /// Puts the transpose after `inner`, which has the place of `op`.
  bool finish(mlir::OpBuilder &b, mlir::Operation *op, mlir::Value inner) {
    auto type = rankedType(op->getResult(0));
    inner.setType(before(type));
    images.insert(inner);
    mlir::Value outer = transposed(b, op->getLoc(), inner, perm);
    outer.setType(type);
    replaceWith(op, outer);
    return true;
  }

  /// An element-wise operator's `operand` before the transpose; null if a tensor would have to be moved for it.
  mlir::Value elementwiseOperand(mlir::OpBuilder &b, mlir::Operation *op, mlir::Value operand) {
    if (mlir::Value image = imageOf(operand))
      return image;
    auto type = rankedType(operand);
    if (!type || type.getRank() > static_cast<int64_t>(perm.size()))
      return {};
    if (type.hasStaticShape() && type.getNumElements() == 1)
      return operand;
    // The original image of this transpose may exist already.
    for (mlir::Operation *user : operand.getUsers())
      if (isOp(user, "transpose") && user->getBlock() == &block && user->isBeforeInBlock(op) &&
          nn::attrsAs<TransposeAttrs>(user).perm == inverse(perm))
        return user->getResult(0);
    Axes shape(perm.size() - static_cast<size_t>(type.getRank()), 1);
    shape.insert(shape.end(), type.getShape().begin(), type.getShape().end());
    Axes moved = inverse(perm), target, order;
    for (int64_t axis : moved) {
      target.push_back(shape[static_cast<size_t>(axis)]);
      if (target.back() != 1)
        order.push_back(axis);
    }
    bool constant = operand.getDefiningOp<nn::ConstantOp>() != nullptr;
    if (llvm::is_contained(target, 0) || llvm::count(target, mlir::ShapedType::kDynamic) > 1 ||
        (!constant && !isOrder(order)))
      return {};
    if (!isOrder(order))
      return transposed(b, op->getLoc(), reshaped(b, op, operand, shape), moved);
    return reshaped(b, op, operand, target);
  }

  static mlir::Value reshaped(mlir::OpBuilder &b, mlir::Operation *op, mlir::Value value, const Axes &shape) {
    auto type = rankedType(value);
    if (llvm::equal(type.getShape(), shape))
      return value;
    ReshapeAttrs attrs;
    for (int64_t extent : shape)
      attrs.shape.push_back(mlir::ShapedType::isDynamic(extent) ? -1 : extent);
    mlir::Value result = nn::buildValue(b, op->getLoc(), "reshape", {value, {}}, std::move(attrs));
    result.setType(mlir::RankedTensorType::get(shape, type.getElementType()));
    return result;
  }

  bool sinkElementwise(mlir::Operation *op) {
    auto type = rankedType(op->getResult(0));
    if (!type || type.getRank() != static_cast<int64_t>(perm.size()))
      return false;
    mlir::OpBuilder b(op);
    llvm::SmallVector<mlir::Value> operands;
    for (mlir::Value operand : nn::operandsByRecord(op)) {
      operands.push_back(operand ? elementwiseOperand(b, op, operand) : mlir::Value());
      if (operand && !operands.back())
        return false;
    }
    return finish(b, op, build(b, op, operands, *nn::attrsOf(op)));
  }

  bool sinkConcat(mlir::Operation *op) {
    mlir::OpBuilder b(op);
    llvm::SmallVector<mlir::Value> operands;
    for (mlir::Value operand : op->getOperands()) {
      operands.push_back(imageOf(operand));
      if (!operands.back())
        return false;
    }
    auto attrs = nn::attrsAs<ConcatAttrs>(op);
    attrs.axis = axisBefore(attrs.axis);
    return finish(b, op, build(b, op, operands, attrs));
  }

  /// A product whose left operand is `value`, a matrix, and whose right operand is constant.
  static bool hasConstantWeights(mlir::OpOperand &use) {
    mlir::Operation *op = use.getOwner();
    if (use.getOperandNumber() != 0 || !(isOp(op, "gemm") || isOp(op, "matmul") || isOp(op, "matmul_integer")))
      return false;
    mlir::Value weights = op->getOperand(1);
    bool turned = isOp(op, "gemm") && nn::attrsAs<GemmAttrs>(op).trans_a;
    return !turned && weights.getDefiningOp<nn::ConstantOp>() && rankedType(weights).getRank() == 2;
  }

  /// Sinks a transpose below the flattening for a matrix product, whose weights get the order before the transpose.
  bool sinkFlatten(mlir::Operation *op) {
    auto type = rankedType(op->getResult(0)), whole = rankedType(op->getOperand(0));
    if (!type || type.getRank() != 2 || type.isDynamicDim(1) || type.getDimSize(1) == 0)
      return false;
    Axes parts(whole.getShape().begin() + 1, whole.getShape().end()); // extents of a row, channels last
    int64_t elements = 1;
    for (int64_t extent : parts)
      elements *= mlir::ShapedType::isDynamic(extent) ? 0 : extent;
    if (elements != type.getDimSize(1) || !llvm::all_of(op->getResult(0).getUses(), hasConstantWeights))
      return false;
    for (mlir::Operation *product : op->getResult(0).getUsers()) {
      mlir::OpBuilder b(product);
      bool outputsFirst = isOp(product, "gemm") && nn::attrsAs<GemmAttrs>(product).trans_b;
      mlir::Value weights = product->getOperand(1);
      Axes flat(rankedType(weights).getShape().begin(), rankedType(weights).getShape().end()), split = parts, order;
      Axes moved = inverse(perm); // of the image; the batch is axis 0
      for (size_t i = 1; i < moved.size(); ++i)
        order.push_back(moved[i] - (outputsFirst ? 0 : 1));
      order.insert(outputsFirst ? order.begin() : order.end(), outputsFirst ? 0 : static_cast<int64_t>(parts.size()));
      split.insert(outputsFirst ? split.begin() : split.end(), flat[outputsFirst ? 0 : 1]);
      mlir::Value turned = transposed(b, product->getLoc(), reshaped(b, product, weights, split), order);
      product->setOperand(1, reshaped(b, product, turned, flat));
    }
    mlir::OpBuilder b(op);
    replaceWith(op, reshaped(b, op, imageOf(op->getOperand(0)), {type.getDimSize(0), elements}));
    return true;
  }

  bool sinkPad(mlir::Operation *op) {
    auto attrs = nn::attrsAs<PadAttrs>(op);
    Axes pads(attrs.pads.size());
    if (pads.size() != 2 * perm.size())
      return false;
    for (size_t i = 0; i < perm.size(); ++i) {
      auto axis = static_cast<size_t>(perm[i]);
      pads[axis] = attrs.pads[i];
      pads[perm.size() + axis] = attrs.pads[perm.size() + i];
    }
    attrs.pads = pads;
    mlir::OpBuilder b(op);
    return finish(b, op, build(b, op, {imageOf(op->getOperand(0)), {}, {}}, attrs));
  }

  bool sinkSlice(mlir::Operation *op) {
    auto attrs = nn::attrsAs<SliceAttrs>(op);
    if (attrs.axes.empty())
      for (size_t i = 0; i < attrs.starts.size(); ++i)
        attrs.axes.push_back(static_cast<int64_t>(i));
    for (int64_t &axis : attrs.axes)
      axis = axisBefore(axis);
    mlir::OpBuilder b(op);
    return finish(b, op, build(b, op, {imageOf(op->getOperand(0)), {}, {}, {}, {}}, attrs));
  }

  bool sinkSplit(mlir::Operation *op) {
    auto attrs = nn::attrsAs<SplitAttrs>(op);
    attrs.axis = axisBefore(attrs.axis);
    mlir::OpBuilder b(op);
    mlir::Operation *inner = nn::build(b, op->getLoc(), "split", {imageOf(op->getOperand(0))}, attrs);
    for (auto [old, piece] : llvm::zip(op->getResults(), inner->getResults())) {
      images.insert(piece);
      mlir::Value outer = transposed(b, op->getLoc(), piece, perm);
      outer.setType(old.getType());
      old.replaceAllUsesWith(outer);
    }
    op->erase();
    return true;
  }

  /// A copy of `op` that reads the image, with another attribute; it keeps the result type of `op`.
  mlir::Value onImage(mlir::OpBuilder &b, mlir::Operation *op, llvm::StringRef name, mlir::Attribute value) {
    mlir::Operation *copy = b.clone(*op);
    copy->setOperand(0, imageOf(op->getOperand(0)));
    copy->setAttr(name, value);
    return copy->getResult(0);
  }

  /// Puts the rest of the transpose after `inner`, which lacks the axes `dropped` of the image.
  bool finishReduced(mlir::OpBuilder &b, mlir::Operation *op, mlir::Value inner, const Axes &dropped) {
    Axes kept;
    for (int64_t axis : perm)
      if (!llvm::is_contained(dropped, axis))
        kept.push_back(axis - llvm::count_if(dropped, [&](int64_t other) { return other < axis; }));
    auto type = rankedType(op->getResult(0));
    llvm::SmallVector<int64_t> shape(kept.size());
    for (size_t i = 0; i < kept.size(); ++i)
      shape[static_cast<size_t>(kept[i])] = type.getDimSize(static_cast<unsigned>(i));
    inner.setType(mlir::RankedTensorType::get(shape, type.getElementType()));
    mlir::Value outer = transposed(b, op->getLoc(), inner, kept);
    outer.setType(type);
    replaceWith(op, outer);
    return true;
  }

  bool finishReduction(mlir::OpBuilder &b, mlir::Operation *op, mlir::Value inner, const Axes &dropped) {
    auto keepdims = op->getAttrOfType<mlir::BoolAttr>("keepdims");
    return !keepdims || keepdims.getValue() ? finish(b, op, inner) : finishReduced(b, op, inner, dropped);
  }

  bool sinkReduction(mlir::Operation *op) {
    auto given = op->getAttrOfType<mlir::DenseI64ArrayAttr>("axes");
    if (!given || given.empty() || !rankedType(op->getResult(0)))
      return false;
    Axes axes;
    for (int64_t axis : given.asArrayRef())
      axes.push_back(axisBefore(axis));
    std::sort(axes.begin(), axes.end());
    mlir::OpBuilder b(op);
    return finishReduction(b, op, onImage(b, op, "axes", b.getDenseI64ArrayAttr(axes)), axes);
  }

  bool sinkAlongAxis(mlir::Operation *op, int64_t usual, bool reduces) {
    auto given = op->getAttrOfType<mlir::IntegerAttr>("axis");
    if (!rankedType(op->getResult(0)))
      return false;
    int64_t axis = axisBefore(given ? given.getInt() : usual);
    mlir::OpBuilder b(op);
    mlir::Value inner = onImage(b, op, "axis", b.getI64IntegerAttr(axis));
    return reduces ? finishReduction(b, op, inner, {axis}) : finish(b, op, inner);
  }
};

} // namespace

void sinkTranspose(mlir::ModuleOp module) {
  Sinker(mainFunction(module).getBody().front()).run();
  deadCode(module);
}

} // namespace lathe
