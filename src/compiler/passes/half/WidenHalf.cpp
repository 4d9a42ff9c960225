// Decides which float16 values are float32 in memory (docs/numerics.md, Range), and rewrites the operators around them.
#include "passes/Passes.h"
#include "passes/half/HalfRanges.h"

#include "llvm/ADT/DenseSet.h"

#include <algorithm>

namespace lathe {
namespace {

using Values = llvm::DenseSet<mlir::Value>;

bool isHalf(mlir::Value value) {
  TensorInfo info = nn::infoOf(value);
  return info.isTensor() && info.type == ElementType::f16;
}

/// Operators that must read float16 unchanged: they convert, look at bits, pass sequences on, or run bodies. Their
/// results stay float16, too.
bool isFixed(mlir::Operation *op) {
  const OpRecord *record = nn::recordOf(op);
  return !record || record->takesValues || isOp(op, "cast") || isOp(op, "bit_cast") || isOp(op, "constant_of_shape");
}

/// Products of matrices and convolutions whose kernels load constant weights of float16 beside values of float32.
bool takesHalfWeights(mlir::Operation *op) {
  if (!isOp(op, "conv"))
    return isOp(op, "matmul") || isOp(op, "gemm");
  auto spatial = [](mlir::Value value) {
    auto type = rankedType(value);
    return type && llvm::none_of(type.getShape().drop_front(2), mlir::ShapedType::isDynamic);
  };
  return nn::attrsAs<ConvAttrs>(op).group == 1 && spatial(op->getOperand(0)) && spatial(op->getOperand(1));
}

// ---- Which values --------------------------------------------------------------------------------------------------

/// True for an operand whose relative error reaches the result: a small one must not lose its digits, or become zero.
bool magnifies(mlir::Operation *op, size_t index) {
  if (isOp(op, "div"))
    return index == 1;
  if (isOp(op, "pow")) {
    std::optional<double> exponent = splatValue(op->getOperand(1));
    return index == 0 && !(exponent && *exponent > 0);
  }
  return isOp(op, "log") || isOp(op, "reciprocal") || isOp(op, "reduce_log_sum");
}

/// Operators whose results are small where their operands are.
bool passesSmall(mlir::Operation *op) {
  std::string_view name = nn::recordOf(op)->name;
  static constexpr std::string_view names[] = {
      "mul",       "div",    "max",   "min", "sqrt",  "abs",    "neg",    "relu", "clip", "where", "reshape",
      "transpose", "expand", "slice", "pow", "split", "gather", "concat", "tile", "pad",  "exp",   "reciprocal"};
  if (name == "add" || name == "sub") // of a number that keeps a divisor from being zero
    return llvm::any_of(op->getOperands(), [](mlir::Value v) { return v.getDefiningOp<nn::ConstantOp>() != nullptr; });
  return name.substr(0, 7) == "reduce_" || llvm::is_contained(names, name);
}

/// Operators whose results have the scale of their operands: small results have only the precision of float16 anyway.
bool keepsScale(mlir::Operation *op) {
  std::string_view name = nn::recordOf(op)->name;
  std::string_view lowering = nn::recordOf(op)->lowering;
  if (name == "matmul" || name == "gemm") // of two computed values: a product
    return llvm::any_of(op->getOperands(), [](mlir::Value v) { return v.getDefiningOp<nn::ConstantOp>() != nullptr; });
  return lowering == "contraction" || lowering == "normalize" || lowering == "pool" || lowering == "attention" ||
         name == "conv_transpose" || name == "resize";
}

/// Adds the values that `value`, a magnified operand, is computed from.
void addSmall(mlir::Value value, Values &wide) {
  mlir::Operation *op = value.getDefiningOp();
  if (!op || isFixed(op) || keepsScale(op) || !isHalf(value) || !wide.insert(value).second)
    return;
  if (passesSmall(op))
    for (mlir::Value operand : op->getOperands())
      addSmall(operand, wide);
}

Values wideValues(mlir::func::FuncOp main, bool trustLinear) {
  HalfRanges ranges(main, trustLinear);
  Values wide, small;
  for (mlir::Operation &op : main.getBody().front()) {
    if (isFixed(&op))
      continue;
    for (mlir::Value result : op.getResults())
      if (isHalf(result) && ranges.bound(result) > HalfRanges::greatest)
        wide.insert(result);
    for (size_t i = 0; i < op.getNumOperands(); ++i)
      if (magnifies(&op, i))
        addSmall(op.getOperand(static_cast<unsigned>(i)), small);
  }
  wide.insert(small.begin(), small.end());
  return wide;
}

/// All results, for interpreters.
Values allValues(mlir::func::FuncOp main) {
  Values wide;
  for (mlir::Operation &op : main.getBody().front())
    if (!isFixed(&op))
      for (mlir::Value result : op.getResults())
        if (isHalf(result))
          wide.insert(result);
  return wide;
}

/// True for an operator that computes in float32, because an operand or result is in `wide`.
bool computesWide(mlir::Operation *op, const Values &wide) {
  auto isWide = [&](mlir::Value value) { return wide.contains(value); };
  return !isFixed(op) && (llvm::any_of(op->getOperands(), isWide) || llvm::any_of(op->getResults(), isWide));
}

/// True if operand `index` of `op` is a constant that stays float16 although the operator computes in float32.
bool staysHalf(mlir::Operation *op, size_t index, mlir::Value operand) {
  return index == 1 && operand.getDefiningOp<nn::ConstantOp>() && takesHalfWeights(op);
}

// ---- What they cost ------------------------------------------------------------------------------------------------

/// Bytes of a tensor, symbols at 1.
int64_t bytesOf(const TensorInfo &info) {
  int64_t elements = product(info.dims).evaluate([](const std::string &) -> int64_t { return 1; });
  return byteSize(info.type, std::max<int64_t>(1, elements));
}

/// The additional memory of float32 beside float16: bytes of constants, and the peak of other values. A value that only
/// one element-wise operator reads counts as part of a kernel.
class ExtraMemory {
public:
  ExtraMemory(mlir::func::FuncOp main, const Values &wide) : shapes(main) {
    llvm::DenseMap<mlir::Operation *, int64_t> freed;
    int64_t held = 0, most = 0;
    for (mlir::Operation &op : main.getBody().front()) {
      if (llvm::isa<nn::ConstantOp>(op)) {
        constants += bytesOf(nn::infoOf(op.getResult(0)));
        continue;
      }
      if (computesWide(&op, wide))
        for (auto [i, operand] : llvm::enumerate(op.getOperands()))
          if (isHalf(operand) && operand.getDefiningOp<nn::ConstantOp>() && !staysHalf(&op, i, operand))
            widened += bytesOf(nn::infoOf(operand));
      for (mlir::Value result : op.getResults())
        if (wide.contains(result) && isStored(result))
          if (mlir::Operation *last = lastUser(result)) {
            int64_t bytes = bytesOf(shapes.of(result));
            held += bytes;
            freed[last] += bytes;
          }
      most = std::max(most, held);
      held -= freed.lookup(&op);
    }
    values = most;
  }

  /// At most a tenth of the network's memory. A megabyte never counts, since the program itself needs more.
  bool isLittle() const { return widened + values <= std::max<int64_t>(1 << 20, constants / 10); }

private:
  nn::SymbolicShapes shapes;
  int64_t constants = 0, widened = 0, values = 0;

  static bool isStored(mlir::Value value) {
    return !value.hasOneUse() || loweringOf(*value.getUsers().begin()) != "elementwise";
  }
  static mlir::Operation *lastUser(mlir::Value value) {
    mlir::Operation *last = nullptr;
    for (mlir::Operation *user : value.getUsers())
      if (!last || last->isBeforeInBlock(user))
        last = user;
    return last;
  }
};

// ---- Rewriting -----------------------------------------------------------------------------------------------------

class Widener {
public:
  Widener(mlir::func::FuncOp main, const Values &wide) : main(main), wide(wide) {}

  void run() {
    llvm::SmallVector<mlir::Operation *> widened;
    for (mlir::Operation &op : main.getBody().front())
      if (computesWide(&op, wide))
        widened.push_back(&op);
    computing.insert(widened.begin(), widened.end());
    for (mlir::Operation *op : widened) {
      widenOperands(op);
      for (mlir::Value result : op->getResults())
        if (isHalf(result))
          widenResult(result);
    }
  }

private:
  mlir::func::FuncOp main;
  const Values &wide;
  llvm::DenseSet<mlir::Operation *> computing;      // in float32
  llvm::DenseMap<mlir::Value, mlir::Value> singles; // float32 forms of float16 values

  static mlir::Value cast(mlir::OpBuilder &b, mlir::Value value, ElementType to, mlir::Location loc) {
    CastAttrs attrs;
    attrs.to = to;
    mlir::Value result = nn::buildValue(b, loc, "cast", {value}, std::move(attrs));
    result.setType(llvm::cast<mlir::TensorType>(value.getType()).clone(nn::toMlir(b.getContext(), to)));
    return result;
  }

  mlir::Value widened(mlir::Operation *op, mlir::Value value) {
    mlir::Value &made = singles[value]; // `op` is the first that asks
    if (made)
      return made;
    if (std::optional<Tensor> constant = constantOf(value)) {
      mlir::OpBuilder b(value.getDefiningOp());
      made = makeConstant(b, value.getLoc(), constant->convertedTo(ElementType::f32),
                          constantName(value.getDefiningOp(), ".f32"));
    } else {
      mlir::OpBuilder b(op);
      made = cast(b, value, ElementType::f32, value.getDefiningOp() ? value.getLoc() : op->getLoc());
    }
    return made;
  }

  void widenOperands(mlir::Operation *op) {
    for (mlir::OpOperand &operand : op->getOpOperands())
      if (isHalf(operand.get()) && !staysHalf(op, operand.getOperandNumber(), operand.get()))
        operand.set(widened(op, operand.get()));
  }

  /// A result in float32. Where a reader takes float16, the result is rounded once. All readers share the rounded value
  /// unless the result belongs to `wide`.
  void widenResult(mlir::Value result) {
    auto readsHalf = [&](mlir::OpOperand &use) {
      mlir::Operation *user = use.getOwner();
      return isOp(user, "cast") ? false : !computing.contains(user);
    };
    bool isWide = wide.contains(result);
    result.setType(
        llvm::cast<mlir::TensorType>(result.getType()).clone(nn::toMlir(main.getContext(), ElementType::f32)));
    if (llvm::none_of(result.getUses(), readsHalf))
      return;
    mlir::OpBuilder b(main.getContext());
    b.setInsertionPointAfterValue(result);
    mlir::Value rounded = cast(b, result, ElementType::f16, result.getLoc());
    result.replaceUsesWithIf(rounded, [&](mlir::OpOperand &use) {
      return use.getOwner() != rounded.getDefiningOp() && (!isWide || readsHalf(use));
    });
  }
};

bool holdsHalves(mlir::func::FuncOp main) {
  for (mlir::Operation &op : main.getBody().front())
    if (!isFixed(&op) && llvm::any_of(op.getResults(), [](mlir::Value value) { return isHalf(value); }))
      return true;
  return false;
}

} // namespace

void widenHalf(mlir::ModuleOp module) {
  mlir::func::FuncOp main = mainFunction(module);
  if (!holdsHalves(main))
    return;
  Values wide = wideValues(main, /*trustLinear=*/false);
  if (!ExtraMemory(main, wide).isLittle())
    wide = wideValues(main, /*trustLinear=*/true);
  Widener(main, wide).run();
  deadCode(module);
}

void widenEveryHalf(mlir::ModuleOp module) {
  mlir::func::FuncOp main = mainFunction(module);
  if (holdsHalves(main))
    Widener(main, allValues(main)).run();
  for (auto body : module.getOps<mlir::ModuleOp>())
    widenEveryHalf(body);
}

} // namespace lathe
