#include "import/Known.h"

#include "ops/Reference.h"

#include <cstring>

namespace lathe::source {

const TensorInfo &KnownValues::info(mlir::Value value) {
  auto at = infos.find(value.getAsOpaquePointer());
  return at != infos.end() ? at->second : infos.emplace(value.getAsOpaquePointer(), nn::infoOf(value)).first->second;
}

const Tensor *KnownValues::contents(mlir::Value value, int level) {
  auto found = tensors.find(value.getAsOpaquePointer());
  if (found == tensors.end())
    found = tensors.emplace(value.getAsOpaquePointer(), evaluate(value, level)).first;
  return found->second ? &*found->second : nullptr;
}

namespace {
std::optional<Tensor> tensorOf(nn::ConstantOp constant) {
  nn::ConstantData data = nn::constantData(constant.getValue());
  if (bitWidth(data.type) < 8)
    return std::nullopt;
  Tensor tensor(data.type, data.dims);
  auto *bytes = static_cast<char *>(tensor.data());
  for (size_t at = 0, size = data.bytes.size(); at < static_cast<size_t>(tensor.bytes()); at += size)
    std::memcpy(bytes + at, data.bytes.data(), data.bytes.size());
  return tensor;
}
} // namespace

std::optional<Tensor> KnownValues::evaluate(mlir::Value value, int level) {
  constexpr int64_t mostElements = 1 << 16;
  constexpr int mostLevels = 200; // levels that were not computed before; chains of shape arithmetic are far shorter
  const TensorInfo &what = info(value);
  if (what.contents && allConstant(*what.contents) && allConstant(what.dims)) {
    Tensor tensor = Tensor::of<int64_t>(constants(what.dims), constants(*what.contents));
    return what.type == ElementType::i64 ? tensor : tensor.convertedTo(what.type);
  }
  mlir::Operation *op = value.getDefiningOp();
  if (!what.isTensor() || what.type == ElementType::string)
    return std::nullopt;
  if (!op || level > mostLevels || product(what.dims).constantOr(mostElements + 1) > mostElements)
    return std::nullopt;
  if (auto constant = llvm::dyn_cast<nn::ConstantOp>(op))
    return tensorOf(constant);
  const OpRecord *record = nn::recordOf(op);
  if (!record || !findReference(record->name))
    return std::nullopt;
  std::vector<lathe::Value> operands;
  std::vector<bool> present;
  for (mlir::Value operand : nn::operandsByRecord(op)) {
    const Tensor *tensor = operand ? contents(operand, level + 1) : nullptr;
    if (operand && !tensor)
      return std::nullopt;
    present.push_back(operand != nullptr);
    operands.push_back(tensor ? lathe::Value(*tensor) : lathe::Value());
  }
  std::vector<const lathe::Value *> pointers;
  for (size_t i = 0; i < operands.size(); ++i)
    pointers.push_back(present[i] ? &operands[i] : nullptr);
  try {
    std::vector<lathe::Value> results = evaluateReference(record->name, *nn::attrsOf(op), pointers);
    return results[llvm::cast<mlir::OpResult>(value).getResultNumber()].tensor();
  } catch (const Error &) { // the error appears when the values are computed
    return std::nullopt;
  }
}

} // namespace lathe::source
