#include "quantize/Points.h"

#include "llvm/ADT/EquivalenceClasses.h"

namespace lathe::quantize {
namespace {

bool isConstant(mlir::Value value) { return value && value.getDefiningOp<nn::ConstantOp>(); }
bool isFloat32(mlir::Value value) { return nn::infoOf(value).type == ElementType::f32; }

/// True for operators whose results contain elements of their operands unchanged, so that one scale serves both.
bool movesElements(mlir::Operation *op) {
  for (const char *mnemonic :
       {"max_pool", "reshape", "transpose", "concat", "slice", "split", "gather", "depth_to_space", "space_to_depth"})
    if (isOp(op, mnemonic))
      return true;
  return false;
}

/// The operands of `op` that provide the elements of its results.
llvm::SmallVector<mlir::Value> movedOperands(mlir::Operation *op) {
  if (isOp(op, "concat"))
    return llvm::SmallVector<mlir::Value>(op->getOperands());
  return {op->getOperand(0)};
}

class Finder {
public:
  Finder(mlir::func::FuncOp main, const std::set<std::string> &excluded) : main(main), excluded(excluded) {}

  Points run() {
    for (mlir::Operation &op : main.getBody().front())
      if (std::optional<Layer> layer = layerAt(&op))
        add(*layer);
    for (mlir::Operation &op : main.getBody().front())
      if (isResidual(&op))
        addResidual(&op);
    while (spread())
      ;
    settle();
    return std::move(points);
  }

private:
  mlir::func::FuncOp main;
  const std::set<std::string> &excluded;
  Points points;
  llvm::SetVector<mlir::Value> wanted;
  llvm::EquivalenceClasses<void *> classes;

  bool isResult(mlir::Value value) const {
    return llvm::any_of(value.getUsers(),
                        [](mlir::Operation *user) { return user->hasTrait<mlir::OpTrait::IsTerminator>(); });
  }

  bool want(mlir::Value value) {
    if (!isFloat32(value) || isConstant(value) || !rankedType(value))
      return false;
    classes.insert(value.getAsOpaquePointer());
    return wanted.insert(value);
  }

  bool unite(mlir::Value a, mlir::Value b) {
    void *x = a.getAsOpaquePointer(), *y = b.getAsOpaquePointer();
    if (classes.isEquivalent(x, y))
      return false;
    classes.unionSets(x, y);
    return true;
  }

  /// The value that is stored: the result of the activation of `value`, if it has one, otherwise `value`.
  static mlir::Value behind(mlir::Value value) {
    mlir::Operation *activation = activationBehind(value);
    return activation ? activation->getResult(0) : value;
  }

  void add(const Layer &layer) {
    if (excluded.contains(layer.node)) {
      points.left.push_back(layer.node);
      return;
    }
    points.layers.push_back(layer);
    want(layer.op->getOperand(0));
    mlir::Value result = behind(layer.op->getResult(0));
    if (isOp(layer.op, "conv") && !isResult(result))
      want(result);
  }

  /// True for a sum of two computed tensors of one shape that a layer reads, or that only operators like it read.
  bool isResidual(mlir::Operation *op) const {
    if (!isOp(op, "add") || op->getOperand(0).getType() != op->getOperand(1).getType() ||
        isConstant(op->getOperand(0)) || isConstant(op->getOperand(1)))
      return false;
    mlir::Value result = behind(op->getResult(0));
    return llvm::any_of(result.getUsers(), [&](mlir::Operation *user) {
      return wanted.contains(result) || isOp(user, "max_pool") || isOp(user, "concat");
    });
  }

  void addResidual(mlir::Operation *op) {
    want(op->getOperand(0));
    want(op->getOperand(1));
    want(behind(op->getResult(0)));
  }

  /// Adds values that operators only move from or to values to quantise. Returns true if anything changed.
  bool spread() {
    bool changed = false;
    for (mlir::Operation &op : main.getBody().front()) {
      if (!movesElements(&op) || isResult(op.getResult(0)))
        continue;
      auto operands = movedOperands(&op);
      if (!llvm::all_of(operands, [&](mlir::Value v) { return isFloat32(v) && !isConstant(v) && rankedType(v); }))
        continue;
      bool resultWanted = llvm::any_of(op.getResults(), [&](mlir::Value v) { return wanted.contains(v); });
      bool allWanted = llvm::all_of(operands, [&](mlir::Value v) { return wanted.contains(v); });
      // Selections and joins of quantised values stay quantised; a view alone is no reason to quantise.
      bool forward = allWanted && (isOp(&op, "concat") || isOp(&op, "max_pool"));
      if (!resultWanted && !forward)
        continue;
      for (mlir::Value operand : operands)
        changed |= want(operand);
      for (mlir::Value result : op.getResults())
        changed |= want(result);
      for (mlir::Value operand : operands)
        for (mlir::Value result : op.getResults())
          changed |= unite(operand, result);
    }
    return changed;
  }

  void settle() {
    llvm::DenseMap<void *, size_t> numbers;
    auto take = [&](mlir::Value value) {
      if (!wanted.contains(value))
        return;
      void *leader = classes.getLeaderValue(value.getAsOpaquePointer());
      auto [found, isNew] = numbers.try_emplace(leader, points.groups);
      points.groups += isNew;
      points.groupOf.insert({value, found->second});
    };
    for (mlir::BlockArgument argument : main.getArguments())
      take(argument);
    for (mlir::Operation &op : main.getBody().front())
      for (mlir::Value result : op.getResults())
        take(result);
  }
};

} // namespace

mlir::Operation *activationBehind(mlir::Value value) {
  if (!value.hasOneUse())
    return nullptr;
  mlir::Operation *user = *value.getUsers().begin();
  if (isOp(user, "relu"))
    return user;
  return isOp(user, "clip") && !operandOf(user, 1) && !operandOf(user, 2) ? user : nullptr;
}

std::optional<Layer> layerAt(mlir::Operation *op) {
  bool conv = isOp(op, "conv"), gemm = isOp(op, "gemm"), matmul = isOp(op, "matmul");
  if ((!conv && !gemm && !matmul) || !isConstant(op->getOperand(1)) || isConstant(op->getOperand(0)) ||
      !isFloat32(op->getOperand(0)))
    return std::nullopt;
  auto weights = rankedType(op->getOperand(1)), input = rankedType(op->getOperand(0));
  if (!weights || !input)
    return std::nullopt;
  Layer layer;
  layer.op = op;
  std::vector<std::string> nodes = nn::nodeNames(op->getLoc());
  layer.node = nodes.empty() ? op->getName().stripDialect().str() : nodes.front();
  if (mlir::Value bias = operandOf(op, 2); bias && !isConstant(bias))
    return std::nullopt;
  if (conv) {
    layer.inputAxis = layer.resultAxis = 1;
    layer.depthwise = weights.getDimSize(1) == 1 && nn::attrsAs<ConvAttrs>(op).group > 1;
  } else if (gemm) {
    auto attrs = nn::attrsAs<GemmAttrs>(op);
    mlir::Value bias = operandOf(op, 2);
    if (attrs.alpha != 1 || (bias && attrs.beta != 1) || attrs.trans_a)
      return std::nullopt;
    layer.inputAxis = layer.resultAxis = 1;
    layer.weightAxis = attrs.trans_b ? 0 : 1;
    // A bias with one value per column.
    if (bias &&
        (rankedType(bias).getRank() > 2 || rankedType(bias).getNumElements() != weights.getDimSize(layer.weightAxis)))
      return std::nullopt;
  } else {
    if (weights.getRank() != 2)
      return std::nullopt;
    layer.weightAxis = 1;
    layer.inputAxis = layer.resultAxis = input.getRank() - 1;
  }
  return layer;
}

Points findPoints(mlir::func::FuncOp main, const std::set<std::string> &excluded) {
  return Finder(main, excluded).run();
}

} // namespace lathe::quantize
