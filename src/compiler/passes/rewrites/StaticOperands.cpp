#include "ir/SymbolicShapes.h"
#include "ops/WindowPads.h"
#include "passes/Passes.h"
#include "passes/Rewrite.h"

namespace lathe {
namespace {

/// The reshape target `wanted` in the form of the attribute: numbers, 0 (x's extent at that position) and at most one
/// -1.
std::optional<std::vector<int64_t>> reshapeTarget(const Dims &wanted, const Dims &x) {
  std::vector<int64_t> target;
  bool inferred = llvm::is_contained(wanted, Dim(-1));
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].isConstant()) {
      target.push_back(wanted[i].constant());
    } else if (i < x.size() && wanted[i] == x[i]) {
      target.push_back(0);
    } else if (!inferred) {
      inferred = true;
      target.push_back(-1);
    } else {
      return std::nullopt;
    }
  }
  return target;
}

/// The same for expand, where 1 keeps x's extent.
std::optional<std::vector<int64_t>> expandTarget(const Dims &wanted, const Dims &x) {
  std::vector<int64_t> target;
  for (size_t i = 0; i < wanted.size(); ++i) {
    size_t fromEnd = wanted.size() - i;
    if (wanted[i].isConstant())
      target.push_back(wanted[i].constant());
    else if (fromEnd <= x.size() && wanted[i] == x[x.size() - fromEnd])
      target.push_back(1);
    else
      return std::nullopt;
  }
  return target;
}

/// The same for the sizes of resize, where -1 keeps x's extent.
std::optional<std::vector<int64_t>> resizeTarget(const Dims &wanted, const Dims &x) {
  std::vector<int64_t> target;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].isConstant())
      target.push_back(wanted[i].constant());
    else if (i < x.size() && wanted[i] == x[i])
      target.push_back(-1);
    else
      return std::nullopt;
  }
  return target;
}

/// An operator with an operand that states the result's extents. `values` converts them to an attribute, with 0 and -1
/// for open extents; empty where that is not possible.
struct SymbolicTarget {
  const char *op;
  int operand;
  const char *attribute;
  std::optional<std::vector<int64_t>> (*values)(const Dims &wanted, const Dims &x);
};
constexpr SymbolicTarget symbolicTargets[] = {
    {"reshape", 1, "shape", reshapeTarget}, {"expand", 1, "shape", expandTarget}, {"resize", 3, "sizes", resizeTarget}};

void makeStatic(mlir::Operation *op, const SymbolicTarget &target, const nn::SymbolicShapes &shapes) {
  mlir::Value operand = operandOf(op, target.operand);
  if (!operand)
    return;
  std::optional<std::vector<Dim>> wanted = shapes.of(operand).contents;
  // The target itself copies extents by 0 or infers one by -1: leave it; constant targets were handled before.
  if (!wanted || wanted->empty())
    return;
  for (const Dim &dim : *wanted)
    if (isUnknown(dim))
      return;
  if (isOp(op, "reshape") && nn::attrsAs<ReshapeAttrs>(op).allow_zero)
    return;
  auto values = target.values(*wanted, shapes.of(op->getOperand(0)).dims);
  if (!values)
    return;
  dropOperand(op, target.operand);
  op->setAttr(target.attribute, mlir::DenseI64ArrayAttr::get(op->getContext(), *values));
}

/// Replaces padding that follows from known extents by numbers.
void settlePads(mlir::Operation *op, const nn::SymbolicShapes &shapes) {
  if (!op->hasAttr("pads") || op->getNumOperands() == 0)
    return;
  auto attrs = nn::attrsOf(op);
  Dims second = op->getNumOperands() > 1 ? shapes.of(op->getOperand(1)).dims : Dims();
  if (settlePads(*attrs, shapes.of(op->getOperand(0)).dims, second))
    nn::setAttrs(op, *attrs);
}

} // namespace

void staticOperands(mlir::ModuleOp module) {
  mlir::func::FuncOp function = mainFunction(module);
  nn::SymbolicShapes shapes(function);
  for (mlir::Operation &op : function.getBody().front()) {
    const OpRecord *record = nn::recordOf(&op);
    if (!record)
      continue;
    for (size_t i = 0; i < record->operands.size(); ++i) {
      const OperandRecord &operand = record->operands[i];
      std::optional<Tensor> value = *operand.staticAttribute ? constantOf(operandOf(&op, i)) : std::nullopt;
      if (!value)
        continue;
      auto attrs = nn::attrsOf(&op);
      if (!setStaticAttribute(*attrs, operand.staticAttribute, *value))
        continue;
      dropOperand(&op, i);
      nn::setAttrs(&op, *attrs);
    }
    for (const SymbolicTarget &target : symbolicTargets)
      if (isOp(&op, target.op))
        makeStatic(&op, target, shapes);
    settlePads(&op, shapes);
  }
}

} // namespace lathe
