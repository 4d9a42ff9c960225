// The verifier of every operator: runs its shape function on the operands' types.
#include "ir/Bridge.h"

namespace lathe::nn {

mlir::LogicalResult verifyByShapeFunction(mlir::Operation *op) {
  const OpRecord *record = recordOf(op);
  if (!record)
    return op->emitOpError("has no operator record");
  auto operands = operandsByRecord(op);
  std::vector<TensorInfo> infos(operands.size());
  InferInputs in(std::max(operands.size(), record->operands.size()), nullptr);
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i]) {
      if (!llvm::cast<mlir::TensorType>(operands[i].getType()).hasRank())
        return mlir::success(); // nothing to check yet
      infos[i] = infoOf(operands[i]);
      in[i] = &infos[i];
    }
  try {
    InferResult expected = record->infer(*attrsOf(op), in);
    if (expected.size() != op->getNumResults())
      return op->emitOpError() << "has " << op->getNumResults() << " results, expected " << expected.size();
    for (auto [result, info] : llvm::zip(op->getResults(), expected)) {
      auto type = llvm::dyn_cast<mlir::RankedTensorType>(result.getType());
      if (!type)
        continue;
      if (!info.isTensor()) { // information about its tensors may differ
        TensorInfo stated = infoOf(result);
        if (stated.kind != info.kind || stated.type != info.type)
          return op->emitOpError() << "result is " << type << ", expected " << toMlirType(op->getContext(), info);
        continue;
      }
      auto wanted = toMlirType(op->getContext(), info, type.getEncoding());
      if (type.getElementType() != wanted.getElementType() || type.getRank() != wanted.getRank() ||
          mlir::failed(mlir::verifyCompatibleShape(type, wanted)))
        return op->emitOpError() << "result is " << type << ", expected " << wanted;
    }
  } catch (const std::exception &error) {
    return op->emitOpError(error.what());
  }
  return mlir::success();
}

} // namespace lathe::nn
