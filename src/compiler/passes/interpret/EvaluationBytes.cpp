#include "passes/interpret/EvaluationBytes.h"

#include "ir/SymbolicShapes.h"

#include <algorithm>

namespace lathe {
namespace {

uint64_t add(uint64_t a, uint64_t b) {
  uint64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/// Bytes of a value; 0 if its extents are unknown.
uint64_t bytesOf(const TensorInfo &info, bool judge) {
  uint64_t bits = judge && isFloat(info.type) ? 64 : bitWidth(info.type);
  for (const Dim &dim : info.dims)
    if (!dim.isConstant() || dim.constant() < 0)
      return 0;
    else if (__builtin_mul_overflow(bits, static_cast<uint64_t>(dim.constant()), &bits))
      return UINT64_MAX;
  return bits / 8;
}

} // namespace

uint64_t evaluationBytes(mlir::ModuleOp module, std::span<const Value> inputs, const EvaluateOptions &options) {
  mlir::func::FuncOp function = mainFunction(module);
  std::vector<TensorInfo> arguments;
  for (auto [argument, input] : llvm::zip(function.getArguments(), inputs))
    if (input.isTensor())
      arguments.push_back({input.tensor().type(), toDims(input.tensor().dims()), std::nullopt});
    else
      arguments.push_back(nn::infoOf(argument));
  nn::SymbolicShapes shapes(function, arguments);
  auto bytes = [&](mlir::Value value) { return bytesOf(shapes.of(value), options.judge); };

  llvm::DenseMap<mlir::Value, int64_t> usesLeft;
  for (mlir::Operation &op : function.getBody().front())
    for (mlir::Value operand : op.getOperands())
      ++usesLeft[operand];
  llvm::DenseSet<mlir::Value> held(function.getArguments().begin(), function.getArguments().end());
  uint64_t now = 0;
  for (mlir::Value argument : function.getArguments())
    now = add(now, bytes(argument));
  uint64_t most = now;
  for (mlir::Operation &op : function.getBody().front()) {
    if (llvm::isa<nn::ConstantOp>(op))
      continue; // counted from its first use on
    for (mlir::Value value : op.getOperands())
      now = held.insert(value).second ? add(now, bytes(value)) : now;
    for (mlir::Value value : op.getResults())
      now = held.insert(value).second ? add(now, bytes(value)) : now;
    most = std::max(most, now);
    if (most == UINT64_MAX)
      return most;
    auto release = [&](mlir::Value value) { now -= held.erase(value) ? bytes(value) : 0; };
    for (mlir::Value value : op.getOperands())
      if (--usesLeft[value] == 0)
        release(value);
    for (mlir::Value value : op.getResults())
      if (value.use_empty())
        release(value);
  }
  return most;
}

} // namespace lathe
