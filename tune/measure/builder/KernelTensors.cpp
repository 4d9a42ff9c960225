#include "tune/measure/builder/KernelTensors.h"

#include "codegen/Generate.h"
#include "ir/SymbolicShapes.h"
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
    for (const Dim &dim : dimsOf(function, number))
      stored.dims.push_back(valueOf(dim, extents));
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

/// Values of an operand: numbers from `low` up to `high`, whole ones with `high` itself.
struct Range {
  double low, high;
};

/// Number of positions along the axes that the operand `indices` of `op` names, the least if there are several.
int64_t positions(mlir::Operation *op, const Dims &dims, int64_t vectorLength, const Extents &extents) {
  auto number = [&](const char *name) {
    auto attribute = op->getAttrOfType<mlir::IntegerAttr>(name);
    return attribute ? attribute.getInt() : int64_t(0);
  };
  auto rank = int64_t(dims.size());
  bool vectors = nn::recordOf(op)->name == std::string_view("gather_nd") ||
                 nn::recordOf(op)->name == std::string_view("scatter_nd");
  int64_t first = vectors ? number("batch_dims") : (number("axis") + rank) % std::max<int64_t>(rank, 1);
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int64_t axis = first; axis < std::min(rank, first + (vectors ? vectorLength : 1)); ++axis)
    least = std::min(least, valueOf(dims[size_t(axis)], extents));
  return least;
}

/// The range that an operator asks of its operand `argument`; nothing if it takes any number.
std::optional<Range> requiredRange(mlir::Value argument, const lab::StoredForm &form, const nn::SymbolicShapes &shapes,
                                   const Extents &extents) {
  for (mlir::Operation *op : argument.getUsers()) {
    const OpRecord *record = nn::recordOf(op);
    if (!record)
      continue;
    auto operands = nn::operandsByRecord(op);
    for (size_t i = 0; i < std::min(operands.size(), record->operands.size()); ++i) {
      if (operands[i] != argument)
        continue;
      std::string_view name = record->operands[i].name;
      Dims x = shapes.of(operands[0]).dims;
      if (name == "sequence_lens")
        return Range{1, double(valueOf(x[0], extents))};
      if (name == "indices")
        return Range{0, double(positions(op, x, form.dims.empty() ? 1 : form.dims.back(), extents) - 1)};
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
    Range range =
        requiredRange(function.getArgument(unsigned(i)), form, shapes, extents).value_or(rangeOf(form.type, bound));
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
