#include "passes/rewrites/MovedElements.h"

#include <numeric>

namespace lathe {
namespace {

using Elements = std::vector<MovedElement>;

/// Operators whose results hold elements of their first operand, or of all (concat).
bool moves(mlir::Operation *op) {
  return isOp(op, "concat") || isOp(op, "reshape") || isOp(op, "slice") || isOp(op, "transpose") ||
         isOp(op, "gather") || isOp(op, "expand");
}

bool widens(mlir::Operation *op) {
  auto type = [](mlir::Value value) { return nn::infoOf(value).type; };
  return isOp(op, "cast") && type(op->getOperand(0)) == ElementType::i32 && type(op->getResult(0)) == ElementType::i64;
}

std::optional<int64_t> fewElements(mlir::Value value) {
  auto shape = staticShape(value);
  int64_t count = 1;
  for (int64_t extent : shape.value_or(std::vector<int64_t>()))
    count *= extent;
  return shape && count <= static_cast<int64_t>(maxContents) ? std::optional(count) : std::nullopt;
}

std::optional<Elements> elementsOf(mlir::Value value);

/// Moves numbers of elements instead of the elements themselves.
std::optional<Elements> throughMovement(mlir::Operation *op) {
  const OpRecord *record = nn::recordOf(op);
  size_t moved = isOp(op, "concat") ? op->getNumOperands() : 1;
  Elements all;
  auto operands = nn::operandsByRecord(op);
  std::vector<Value> values(operands.size());
  std::vector<const Value *> given(operands.size(), nullptr);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i])
      continue;
    if (i < moved) {
      std::optional<Elements> own = elementsOf(operands[i]);
      if (!own)
        return std::nullopt;
      Tensor numbers(ElementType::i64, *staticShape(operands[i]));
      std::iota(numbers.as<int64_t>(), numbers.as<int64_t>() + own->size(), static_cast<int64_t>(all.size()));
      all.insert(all.end(), own->begin(), own->end());
      values[i] = std::move(numbers);
    } else {
      std::optional<Tensor> constant = constantOf(operands[i]);
      if (!constant)
        return std::nullopt;
      values[i] = std::move(*constant);
    }
    given[i] = &values[i];
  }
  Tensor result = evaluateOperator(*record, *nn::attrsOf(op), given).front().tensor();
  Elements elements;
  for (int64_t i = 0; i < result.elements(); ++i)
    elements.push_back(all.at(static_cast<size_t>(result.as<int64_t>()[i])));
  return elements;
}

std::optional<Elements> elementsOf(mlir::Value value) {
  std::optional<int64_t> count = fewElements(value);
  if (!count)
    return std::nullopt;
  mlir::Operation *op = value.getDefiningOp();
  if (op && widens(op))
    return elementsOf(op->getOperand(0));
  if (op && moves(op))
    if (std::optional<Elements> through = throughMovement(op); through)
      return through;
  Elements own;
  for (int64_t i = 0; i < *count; ++i)
    own.push_back({value, i});
  return own;
}

} // namespace

std::optional<std::vector<MovedElement>> movedElements(mlir::Value value) { return elementsOf(value); }

std::optional<Dim> contentOf(const MovedElement &element, const nn::SymbolicShapes &shapes) {
  auto at = static_cast<size_t>(element.index);
  std::optional<std::vector<Dim>> contents = shapes.of(element.source).contents;
  if (contents && at < contents->size() && !isUnknown((*contents)[at]))
    return (*contents)[at];
  if (std::optional<Tensor> constant = constantOf(element.source); constant && isInteger(constant->type()))
    return Dim(constant->asInteger(element.index));
  return std::nullopt;
}

std::optional<double> constantOf(const MovedElement &element) {
  std::optional<Tensor> constant = constantOf(element.source);
  return constant ? std::optional(constant->asDouble(element.index)) : std::nullopt;
}

} // namespace lathe
