#include "tune/measure/builder/KernelTensors.h"

#include "codegen/Generate.h"
#include "ir/SymbolicShapes.h"
#include "ops/ElementBounds.h"
#include "ops/InputBound.h"

#include <cmath>
#include <limits>
#include <random>

namespace lathe::tune {

int64_t valueOf(const Dim &dim, const Extents &extents) {
  return dim.evaluate([&](const std::string &symbol) {
    auto found = extents.find(symbol);
    require(found != extents.end(), "the kernel has the symbol '{}', whose extent is not given", symbol);
    return found->second;
  });
}

KernelTensors kernelTensors(mlir::func::FuncOp function, const Extents &extents) {
  KernelTensors tensors;
  auto form = [&](mlir::Value value, unsigned number) {
    lab::StoredForm stored{nn::infoOf(value).type, {}, 0};
    for (const Dim &dim : dimsOf(function, number)) {
      int64_t extent = valueOf(dim, extents);
      require(extent > 0, "the kernel has an extent of {}, which is {}, expected at least 1", dim.str(), extent);
      stored.dims.push_back(extent);
    }
    if (nn::BlockedAttr layout = nn::layoutOf(value))
      stored.block = layout.getSize();
    return stored;
  };
  unsigned number = 0;
  for (mlir::Value argument : function.getArguments()) {
    tensors.constant.push_back(bool(function.getArgAttr(number, "nn.constant")));
    tensors.operands.push_back(form(argument, number++));
  }
  for (mlir::Value result : function.getBody().front().getTerminator()->getOperands())
    tensors.results.push_back(form(result, number++));
  return tensors;
}

namespace {

/// Values of an operand: numbers in [`low`, `high`); integers include `high`.
struct Range {
  double low, high;
};

/// The range that an operator requires of its operand `argument`; nothing if it accepts any number. If ranges differ
/// between elements, their intersection.
std::optional<Range> requiredRange(mlir::Value argument, const nn::SymbolicShapes &shapes, const Extents &extents) {
  for (mlir::Operation *op : argument.getUsers()) {
    const OpRecord *record = nn::recordOf(op);
    if (!record)
      continue;
    auto operands = nn::operandsByRecord(op);
    std::vector<TensorInfo> infos;
    for (mlir::Value operand : operands)
      infos.push_back(operand ? shapes.of(operand) : TensorInfo());
    InferInputs inputs;
    for (size_t i = 0; i < operands.size(); ++i)
      inputs.push_back(operands[i] ? &infos[i] : nullptr);
    for (const ElementBound &bound : elementBounds(*record, *nn::attrsOf(op), inputs)) {
      if (operands[bound.operand] != argument || isFloat(infos[bound.operand].type))
        continue;
      Range range{0, std::numeric_limits<double>::infinity()};
      for (const Dim &most : bound.most)
        range.high = std::min(range.high, double(valueOf(most, extents)));
      return range;
    }
  }
  return std::nullopt;
}

Range rangeOf(ElementType type, double bound) {
  if (isFloat(type))
    return {-bound, bound};
  if (type == ElementType::boolean)
    return {0, 1};
  if (bitWidth(type) <= 8)
    return isUnsignedInteger(type)
               ? Range{0, std::ldexp(1.0, int(bitWidth(type))) - 1}
               : Range{-std::ldexp(1.0, int(bitWidth(type)) - 1), std::ldexp(1.0, int(bitWidth(type)) - 1) - 1};
  return {0, 8}; // masks have zeros
}

} // namespace

std::vector<Tensor> randomOperands(mlir::func::FuncOp function, const KernelTensors &tensors, const Extents &extents,
                                   uint64_t seed) {
  auto family = function->getAttrOfType<mlir::StringAttr>("nn.family");
  double bound = inputBound(family ? std::string_view(family.getValue()) : std::string_view());
  nn::SymbolicShapes shapes(function);
  std::vector<Tensor> operands;
  for (size_t i = 0; i < tensors.operands.size(); ++i) {
    const lab::StoredForm &form = tensors.operands[i];
    std::mt19937_64 random(seed * 1000003 + i);
    Range range = requiredRange(function.getArgument(unsigned(i)), shapes, extents).value_or(rangeOf(form.type, bound));
    Tensor values(ElementType::f64, form.dims);
    for (int64_t j = 0; j < values.elements(); ++j) {
      double share = double(random() >> 11) * 0x1p-53;
      values.as<double>()[j] = isFloat(form.type) ? range.low + share * (range.high - range.low)
                                                  : range.low + std::floor(share * (range.high - range.low + 1));
    }
    operands.push_back(values.convertedTo(form.type));
  }
  return operands;
}

} // namespace lathe::tune
