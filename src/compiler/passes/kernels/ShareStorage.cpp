#include "passes/kernels/ShareStorage.h"

#include "passes/Passes.h"
#include "passes/Rewrite.h"
#include "passes/kernels/Layout.h"

#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

namespace lathe {
namespace {

constexpr int64_t partAlignment = 64; // alignment that kernels rely on (package/KernelAbi.h)

bool isView(mlir::Operation *op) {
  if (auto convert = llvm::dyn_cast_if_present<nn::ConvertLayoutOp>(op))
    return movesNothing(convert);
  return op && loweringOf(op) == "view";
}

bool hasUnknown(const TensorInfo &info) { return llvm::any_of(info.dims, isUnknown); }

/// The axis along which parts follow one another, and the first part's offset along it (a slice's start).
struct Cut {
  size_t axis = 0;
  int64_t start = 0;
};

std::optional<Cut> cutOf(mlir::Operation *op, const nn::SymbolicShapes &shapes) {
  auto axisOf = [](int64_t axis, mlir::Value whole) {
    return static_cast<size_t>(axis < 0 ? axis + rankedType(whole).getRank() : axis);
  };
  if (isOp(op, "concat"))
    return Cut{axisOf(nn::attrsAs<ConcatAttrs>(op).axis, op->getResult(0)), 0};
  for (size_t i = 1; i < op->getNumOperands(); ++i)
    if (op->getOperand(i))
      return std::nullopt; // parameters that are computed
  if (isOp(op, "split"))
    return Cut{axisOf(nn::attrsAs<SplitAttrs>(op).axis, op->getOperand(0)), 0};
  auto attrs = nn::attrsAs<SliceAttrs>(op);
  Dims whole = shapes.of(op->getOperand(0)).dims, part = shapes.of(op->getResult(0)).dims;
  std::optional<Cut> cut;
  for (size_t i = 0; i < attrs.starts.size(); ++i) {
    size_t axis = attrs.axes.empty() ? i : axisOf(attrs.axes[i], op->getOperand(0));
    if (!attrs.steps.empty() && attrs.steps[i] != 1)
      return std::nullopt;
    if (whole[axis] == part[axis])
      continue;
    if (cut || !whole[axis].isConstant())
      return std::nullopt;
    int64_t extent = whole[axis].constant(), start = attrs.starts[i];
    start = std::clamp<int64_t>(start < 0 ? start + extent : start, 0, extent);
    cut = Cut{axis, start};
  }
  return cut;
}

class Sharing {
public:
  explicit Sharing(mlir::ModuleOp module) : symbols(module), main(mainFunction(module)), shapes(main) {
    for (mlir::Value result : main.getBody().front().getTerminator()->getOperands())
      for (returned.insert(result); isView(result.getDefiningOp());)
        returned.insert(result = result.getDefiningOp()->getOperand(0));
  }

  int run() {
    int removed = 0;
    for (auto call : llvm::make_early_inc_range(main.getBody().front().getOps<mlir::func::CallOp>())) {
      auto kernel = symbols.lookup<mlir::func::FuncOp>(call.getCallee());
      mlir::Operation *op = kernel ? soleMovement(kernel) : nullptr;
      if (op && (isOp(op, "concat") ? writeInPlace(call, kernel, op) : readInPlace(call, kernel, op)))
        ++removed;
    }
    return removed;
  }

private:
  mlir::SymbolTable symbols;
  mlir::func::FuncOp main;
  nn::SymbolicShapes shapes;
  llvm::DenseSet<mlir::Value> returned; // results of @main, and the values that they view
  llvm::DenseSet<mlir::Value> placed;   // values that lie inside another value
  struct Concat {
    mlir::Operation *op;
    llvm::SmallVector<mlir::Value> parts; // parts as written, before another concatenation replaced some of them
    int64_t axis;
  };
  std::vector<Concat> concats;

  /// The concat, split or slice that the kernel consists of; null if it has other operators or results.
  static mlir::Operation *soleMovement(mlir::func::FuncOp kernel) {
    mlir::Operation *sole = nullptr;
    for (mlir::Operation &op : kernel.getBody().front().without_terminator()) {
      if (sole || !(isOp(&op, "concat") || isOp(&op, "split") || isOp(&op, "slice")))
        return nullptr;
      sole = &op;
    }
    bool whole = sole && llvm::equal(kernel.getBody().front().getTerminator()->getOperands(), sole->getResults());
    return whole ? sole : nullptr;
  }

  /// Puts a copy of the kernel's operator in front of the call in @main, with the call's operands.
  mlir::Operation *inMain(mlir::func::CallOp call, mlir::Operation *op) {
    mlir::Operation *copy = op->clone();
    for (mlir::OpOperand &operand : copy->getOpOperands())
      operand.set(call.getOperand(llvm::cast<mlir::BlockArgument>(operand.get()).getArgNumber()));
    call->getBlock()->getOperations().insert(call->getIterator(), copy);
    copy->setLoc(call.getLoc());
    for (auto [result, called] : llvm::zip(copy->getResults(), call.getResults()))
      shapes.set(result, shapes.of(called));
    return copy;
  }

  bool accept(mlir::func::CallOp call, mlir::func::FuncOp kernel, mlir::Operation *op) {
    op->setAttr("nn.in_place", mlir::UnitAttr::get(op->getContext()));
    for (auto [result, called] : llvm::zip(op->getResults(), call.getResults()))
      if (returned.contains(called))
        returned.insert(result);
    call->replaceAllUsesWith(op);
    call.erase();
    symbols.erase(kernel);
    return true;
  }

  static bool reject(mlir::Operation *op) {
    op->erase();
    return false;
  }

  /// Handles a concatenation of results of kernels: these kernels then write directly into the result.
  bool writeInPlace(mlir::func::CallOp call, mlir::func::FuncOp kernel, mlir::Operation *op) {
    mlir::Operation *concat = inMain(call, op);
    llvm::SmallVector<mlir::Value> written(concat->getOperands());
    auto attrs = nn::attrsAs<ConcatAttrs>(concat);
    int64_t axis = attrs.axis < 0 ? attrs.axis + rankedType(concat->getResult(0)).getRank() : attrs.axis;
    startWithEarlier(concat, axis);
    llvm::DenseSet<mlir::Value> sources;
    for (mlir::Value part : concat->getOperands()) {
      mlir::Value source = behindViews(part, shapes);
      mlir::Operation *maker = source.getDefiningOp();
      bool movable = maker && (llvm::isa<mlir::func::CallOp>(maker) || (isInPlace(maker) && isOp(maker, "concat")));
      if (!movable || returned.contains(source) || placed.contains(source) || !sources.insert(source).second)
        return reject(concat);
    }
    if (!placesInWhole(concat, shapes))
      return reject(concat);
    placed.insert(sources.begin(), sources.end());
    concats.push_back({concat, written, axis});
    return accept(call, kernel, concat);
  }

  /// Rewrites concat(a, b, c) after concat(a, b) as concat(concat(a, b), c). DenseNet spells every list out.
  void startWithEarlier(mlir::Operation *concat, int64_t axis) {
    const Concat *longest = nullptr;
    llvm::SmallVector<mlir::Value> parts(concat->getOperands());
    for (const Concat &earlier : concats) {
      size_t count = earlier.parts.size();
      if (count < parts.size() && (!longest || count > longest->parts.size()) && earlier.axis == axis &&
          !placed.contains(earlier.op->getResult(0)) &&
          llvm::equal(earlier.parts, llvm::ArrayRef(parts).take_front(count)))
        longest = &earlier;
    }
    if (!longest)
      return;
    llvm::SmallVector<mlir::Value> fewer{longest->op->getResult(0)};
    fewer.append(parts.begin() + longest->parts.size(), parts.end());
    concat->setOperands(fewer);
  }

  /// Handles a slice or split that needs no copy, because its users read the parts in place.
  bool readInPlace(mlir::func::CallOp call, mlir::func::FuncOp kernel, mlir::Operation *op) {
    mlir::Operation *parts = inMain(call, op);
    auto isReturned = [&](mlir::Value value) { return returned.contains(value); };
    if (parts->getOperand(0).getDefiningOp<nn::ConstantOp>() || llvm::any_of(call.getResults(), isReturned) ||
        !placesInWhole(parts, shapes))
      return reject(parts);
    return accept(call, kernel, parts);
  }
};

} // namespace

bool isInPlace(mlir::Operation *op) { return op && op->hasAttr("nn.in_place"); }

mlir::Value behindViews(mlir::Value value, const nn::SymbolicShapes &shapes) {
  while (isView(value.getDefiningOp()) && !hasUnknown(shapes.of(value)))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

std::optional<Dims> placesInWhole(mlir::Operation *op, const nn::SymbolicShapes &shapes) {
  bool joins = isOp(op, "concat");
  if (!joins && !isOp(op, "split") && !isOp(op, "slice"))
    return std::nullopt;
  mlir::Value whole = joins ? op->getResult(0) : op->getOperand(0);
  llvm::SmallVector<mlir::Value> parts;
  if (joins)
    parts.assign(op->operand_begin(), op->operand_end());
  else
    parts.assign(op->result_begin(), op->result_end());
  TensorInfo info = shapes.of(whole);
  nn::BlockedAttr layout = nn::layoutOf(whole);
  int64_t block = layout ? layout.getSize() : 1;
  auto blockAxis = layout ? static_cast<size_t>(layout.getAxis()) : info.dims.size();
  if (!rankedType(whole) || bitWidth(info.type) < 8 || hasUnknown(info))
    return std::nullopt;
  for (mlir::Value part : parts)
    if (!rankedType(part) || nn::layoutOf(part) != layout || hasUnknown(shapes.of(part)))
      return std::nullopt;
  std::optional<Cut> cut = cutOf(op, shapes);
  if (!cut)
    return std::nullopt;

  auto stored = [&](size_t axis) { return axis == blockAxis ? ceilDiv(info.dims[axis], block) : info.dims[axis]; };
  Dim before = 1, bytesOfStep = static_cast<int64_t>(bitWidth(info.type) / 8) *
                                block; // of one index, or block of indices, along the axis
  for (size_t axis = 0; axis < info.dims.size(); ++axis)
    if (axis < cut->axis)
      before = before * stored(axis);
    else if (axis > cut->axis)
      bytesOfStep = bytesOfStep * stored(axis);
  if (!(before == Dim(1)))
    return std::nullopt;
  Dims places;
  Dim at = cut->start;
  for (mlir::Value part : parts) {
    std::optional<Dim> steps = cut->axis == blockAxis ? at.dividedExactlyBy(block) : at;
    if (!steps || !(*steps * bytesOfStep).dividedExactlyBy(partAlignment))
      return std::nullopt;
    places.push_back(*steps * bytesOfStep);
    at = at + shapes.of(part).dims[cut->axis];
  }
  return places;
}

int shareStorage(mlir::ModuleOp module) { return Sharing(module).run(); }

} // namespace lathe
