#include "cli/Mistrust.h"

#include "cli/CompilerVerbs.h"
#include "passes/interpret/Evaluate.h"
#include "support/Text.h"

#include <cstring>

namespace lathe::cli {
namespace {

/// Weights with more than one element, and those whose elements are all equal.
struct Weights {
  size_t all = 0, equal = 0;
};

bool allEqual(const nn::ConstantData &data) {
  size_t width = static_cast<size_t>(bitWidth(data.type)) / 8, bytes = data.bytes.size();
  return data.splat || bytes <= width || std::memcmp(data.bytes.data(), data.bytes.data() + width, bytes - width) == 0;
}

bool holdsNan(mlir::Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  return constant && summarizeOutput(toTensor(constant.getValue())).nan > 0;
}

Weights weightsOf(mlir::func::FuncOp main) {
  Weights weights;
  for (mlir::Operation &op : main.getBody().front()) {
    if (op.getNumResults() != 1)
      continue;
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(op.getResult(0).getType());
    if (!type || !llvm::isa<mlir::FloatType>(type.getElementType()) || !type.hasStaticShape() ||
        type.getNumElements() < 2)
      continue;
    if (auto constant = llvm::dyn_cast<nn::ConstantOp>(op)) {
      ++weights.all;
      weights.equal += allEqual(nn::constantData(constant.getValue()));
    } else if (llvm::isa<nn::ConstantOfShapeOp>(op)) {
      ++weights.all;
      ++weights.equal;
    }
  }
  return weights;
}

} // namespace

std::string traceMistrust(mlir::ModuleOp module, std::span<const Value> inputs, size_t output, int threads) {
  mlir::func::FuncOp main = mainOf(module);
  llvm::DenseMap<mlir::Value, OutputSummary> summaries;
  auto keep = [&](mlir::Value value, const Value &computed) {
    if (computed.isTensor())
      summaries[value] = summarizeOutput(computed.tensor());
  };
  for (auto [argument, input] : llvm::zip(main.getArguments(), inputs))
    keep(argument, input);
  EvaluateOptions options;
  options.judge = true;
  options.threads = threads;
  options.observe = [&](mlir::Operation *op, std::span<const Value> results) {
    for (size_t i = 0; i < results.size(); ++i)
      keep(op->getResult(i), results[i]);
  };
  evaluate(module, inputs, options);

  mlir::Value value = main.getBody().front().getTerminator()->getOperand(output);
  const OutputSummary last = summaries.lookup(value);
  // One NaN is where all of them began.
  auto reason = [&](mlir::Value of) -> std::string {
    OutputSummary summary = summaries.lookup(of);
    if (last.nan)
      return summary.nan ? "NaN" : "";
    if (last.infinite)
      return summary.infinite ? "infinity" : "";
    return summary.mistrust;
  };
  auto next = [&]() -> mlir::Value {
    mlir::Operation *op = value.getDefiningOp();
    if (!op)
      return {};
    for (mlir::Value operand : op->getOperands()) {
      mlir::Operation *producer = operand.getDefiningOp();
      bool constant = producer && (llvm::isa<nn::ConstantOp>(producer) || producer->getNumOperands() == 0 ||
                                   llvm::isa<nn::ConstantOfShapeOp>(producer));
      if (!constant && !reason(operand).empty())
        return operand;
    }
    return {};
  };
  while (mlir::Value earlier = next())
    value = earlier;

  std::string text;
  mlir::Operation *op = value.getDefiningOp();
  if (!op) {
    text = last.nan || last.infinite ? fmt::format("an input holds {}", reason(value)) : "so is an input";
  } else {
    std::vector<std::string> nodes = nn::nodeNames(op->getLoc());
    text = fmt::format("first {} in node '{}' ({})", reason(value).empty() ? "so" : reason(value),
                       nodes.empty() ? "?" : nodes.back(),
                       nn::recordOf(op) ? nn::recordOf(op)->name : op->getName().getStringRef().str());
    if (last.nan && llvm::any_of(op->getOperands(), holdsNan))
      text += ", which has a constant operand with NaN";
  }
  Weights weights = weightsOf(main);
  if (weights.all && weights.equal == weights.all)
    text += fmt::format("; each of the {} holds one value only, so no inputs could make it vary",
                        counted(int64_t(weights.all), "weight tensor"));
  else if (weights.equal)
    text += fmt::format("; {} of {} weights hold one value each", weights.equal, weights.all);
  return text;
}

} // namespace lathe::cli
