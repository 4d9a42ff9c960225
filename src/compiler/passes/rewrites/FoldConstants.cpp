#include "ir/PackedWeights.h"
#include "passes/Passes.h"
#include "passes/Rewrite.h"

#include <algorithm>
#include <cmath>

namespace lathe {
namespace {

// Folding trades package size and compile time for run time. A larger result that is not one repeated element is
// computed again in every run. That is cheap for copies of small constants (expand, tile, resize). Masks and position
// biases, which exporters compute from a few integers, would need a kernel for each operator.
constexpr int64_t copiesFolded = 64 << 10; // bytes of results
constexpr int64_t alwaysFolded = 4 << 20;
constexpr int64_t growthAllowed = 2;          // times the operands
constexpr int64_t neverEvaluated = 256 << 20; // bytes of results

std::optional<int64_t> resultBytes(mlir::Operation &op) {
  int64_t bytes = 0;
  for (mlir::Value result : op.getResults()) {
    auto type = rankedType(result);
    if (!type || !type.hasStaticShape())
      return std::nullopt;
    bytes += byteSize(nn::toElementType(type.getElementType()), type.getNumElements());
  }
  return bytes;
}

/// True if f16 cannot represent an element that float32 holds: the operator must run with wider results
/// (passes/half/WidenHalf.cpp).
bool overflowsHalf(const OpRecord &record, const Attrs &attrs, const std::vector<const Value *> &operands,
                   const std::vector<Value> &results) {
  auto endless = [](const Value &value) {
    if (value.tensor().type() != ElementType::f16)
      return false;
    for (int64_t i = 0, n = value.tensor().elements(); i < n; ++i)
      if (!std::isfinite(value.tensor().asDouble(i)))
        return true;
    return false;
  };
  if (std::string_view(record.name) == "cast" || std::none_of(results.begin(), results.end(), endless))
    return false;
  std::vector<Value> wide(operands.size());
  std::vector<const Value *> inputs(operands.size(), nullptr);
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i]) {
      bool half = operands[i]->tensor().type() == ElementType::f16;
      wide[i] = half ? Value(operands[i]->tensor().convertedTo(ElementType::f32)) : *operands[i];
      inputs[i] = &wide[i];
    }
  std::vector<Value> again = evaluateOperator(record, attrs, inputs);
  for (size_t r = 0; r < results.size(); ++r)
    if (results[r].tensor().type() == ElementType::f16)
      for (int64_t i = 0, n = results[r].tensor().elements(); i < n; ++i)
        if (std::isfinite(again[r].tensor().asDouble(i)) && !std::isfinite(results[r].tensor().asDouble(i)))
          return true;
  return false;
}

void fold(mlir::Operation &op, const OpRecord &record) {
  for (mlir::Value result : op.getResults()) // constants hold numbers
    if (TensorInfo info = nn::infoOf(result); !info.isTensor() || info.type == ElementType::string)
      return;
  std::vector<Value> tensors;
  std::vector<bool> present;
  int64_t operandBytes = 0;
  for (mlir::Value operand : nn::operandsByRecord(&op)) {
    std::optional<Tensor> constant = constantOf(operand);
    if (operand && !constant)
      return;
    if (constant && constant->type() == ElementType::string)
      return;
    present.push_back(operand != nullptr);
    tensors.push_back(constant ? Value(*constant) : Value());
    operandBytes += constant ? constant->bytes() : 0;
  }
  std::optional<int64_t> bytes = resultBytes(op);
  if ((bytes && *bytes > neverEvaluated) || !findReference(record.name))
    return;
  std::vector<const Value *> operands;
  for (size_t i = 0; i < tensors.size(); ++i)
    operands.push_back(present[i] ? &tensors[i] : nullptr);

  std::vector<Value> results;
  try {
    results = evaluateOperator(record, *nn::attrsOf(&op), operands);
  } catch (const Error &error) {
    fail("{}: {}", nn::describe(op.getLoc()), error.what());
  }
  if (overflowsHalf(record, *nn::attrsOf(&op), operands, results))
    return;
  std::vector<mlir::ElementsAttr> folded;
  int64_t stored = 0;
  for (const Value &result : results) {
    folded.push_back(toConstant(op.getContext(), result.tensor(), constantName(&op, "")));
    if (!nn::constantData(folded.back()).splat)
      stored += result.tensor().bytes();
  }
  bool copies = isOp(&op, "expand") || isOp(&op, "tile") || isOp(&op, "resize");
  if (stored > (copies ? copiesFolded : alwaysFolded) && stored > growthAllowed * operandBytes)
    return;
  mlir::OpBuilder builder(&op);
  for (auto [result, attr] : llvm::zip(op.getResults(), folded))
    result.replaceAllUsesWith(builder.create<nn::ConstantOp>(op.getLoc(), attr.getType(), attr));
  op.erase();
}

/// True for the cast of integers that a product reads as packed weights. The operator after the cast has an operand
/// that is not constant, so it is not folded either.
bool beginsPackedWeights(mlir::Operation *op) {
  constexpr int64_t least = 4096; // elements: fewer cost nothing as numbers
  constexpr int mostOperators = 4;
  if (!isOp(op, "cast") || !rankedType(op->getOperand(0)) || rankedType(op->getOperand(0)).getNumElements() < least)
    return false;
  mlir::Operation *user = op;
  for (int i = 0; i < mostOperators && user->getNumResults() == 1 && user->hasOneUse(); ++i) {
    user = *user->getUsers().begin();
    if (std::optional<nn::PackedWeights> weights = nn::packedWeightsOf(user))
      return weights->ops.front() == op;
  }
  return false;
}

} // namespace

void foldConstants(mlir::ModuleOp module) {
  for (mlir::Operation &op : llvm::make_early_inc_range(mainFunction(module).getBody().front()))
    if (const OpRecord *record = nn::recordOf(&op))
      fold(op, *record);
}

void foldUnpacked(mlir::ModuleOp module) {
  for (mlir::Operation &op : llvm::make_early_inc_range(mainFunction(module).getBody().front()))
    if (const OpRecord *record = nn::recordOf(&op); record && !beginsPackedWeights(&op))
      fold(op, *record);
}

} // namespace lathe
