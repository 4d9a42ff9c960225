#include "verify/Mistrust.h"

#include "lab/judging/OutputSummary.h"
#include "passes/interpret/Evaluate.h"
#include "support/Text.h"

#include <cstring>

namespace lathe::verify {

using lab::OutputSummary, lab::summarizeOutput;

namespace {

/// Number of weights with more than one element, and of weights whose elements are all equal.
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

/// The reference's values in float64, searched for the place where an output lost the information of the inputs.
class Trace {
public:
  Trace(mlir::ModuleOp module, std::span<const Value> inputs, size_t output, int threads)
      : main(mainFunction(module)), result(main.getBody().front().getTerminator()->getOperand(output)) {
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
    last = summaries.lookup(result);
  }

  std::string text() const {
    mlir::Value value = result;
    while (mlir::Value earlier = before(value))
      value = earlier;
    std::string why = reason(value);
    mlir::Operation *op = value.getDefiningOp();
    if (!op)
      return last.nan || last.infinite ? fmt::format("an input holds {}", why) : "so is an input";
    std::vector<std::string> nodes = nn::nodeNames(op->getLoc());
    std::string text =
        fmt::format("first {} in node '{}' ({})", why.empty() ? "so" : why, nodes.empty() ? "?" : nodes.back(),
                    nn::recordOf(op) ? nn::recordOf(op)->name : op->getName().getStringRef().str());
    if (last.nan && llvm::any_of(op->getOperands(), holdsNan))
      text += ", which has a constant operand with NaN";
    return text;
  }

private:
  mlir::func::FuncOp main;
  mlir::Value result;
  OutputSummary last;
  llvm::DenseMap<mlir::Value, OutputSummary> summaries;

  void keep(mlir::Value value, const Value &computed) {
    if (computed.isTensor())
      summaries[value] = summarizeOutput(computed.tensor());
  }

  /// A single NaN may be the origin of all NaN in the output.
  std::string reason(mlir::Value of) const {
    OutputSummary summary = summaries.lookup(of);
    if (last.nan)
      return summary.nan ? "NaN" : "";
    if (last.infinite)
      return summary.infinite ? "infinity" : "";
    return summary.mistrust;
  }

  /// An operand of the operator that computes `value` which is as uninformative as `value`; null if there is none.
  mlir::Value before(mlir::Value value) const {
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
  }
};

} // namespace

std::string traceMistrust(mlir::ModuleOp module, std::span<const Value> inputs, size_t output, int threads) {
  std::string text = Trace(module, inputs, output, threads).text();
  Weights weights = weightsOf(mainFunction(module));
  if (weights.all && weights.equal == weights.all)
    text += fmt::format("; each of the {} holds one value only, so no inputs could make it vary",
                        counted(int64_t(weights.all), "weight tensor"));
  else if (weights.equal)
    text += fmt::format("; {} of {} weights hold one value each", weights.equal, weights.all);
  return text;
}

} // namespace lathe::verify
