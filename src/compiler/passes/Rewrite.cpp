#include "passes/Rewrite.h"

namespace lathe {

std::string_view loweringOf(mlir::Operation *op) {
  const OpRecord *record = nn::recordOf(op);
  return !record ? "" : bindsExtents(op) ? "reference" : record->lowering;
}

bool bindsExtents(mlir::Operation *op) {
  for (mlir::OpResult result : op->getResults())
    if (auto type = rankedType(result))
      for (int64_t axis = 0; axis < type.getRank(); ++axis)
        if (type.isDynamicDim(static_cast<unsigned>(axis)) &&
            !nn::nameOfExtent(op, result.getResultNumber(), static_cast<size_t>(axis)).empty())
          return true;
  return false;
}

mlir::Value operandOf(mlir::Operation *op, size_t index) {
  auto operands = nn::operandsByRecord(op);
  return index < operands.size() ? operands[index] : mlir::Value();
}

void dropOperand(mlir::Operation *op, size_t index) {
  auto operands = nn::operandsByRecord(op);
  if (index >= operands.size() || !operands[index])
    return;
  unsigned flat = 0;
  for (size_t i = 0; i < index; ++i)
    flat += operands[i] ? 1 : 0;
  op->eraseOperand(flat);
  if (auto segments = op->getAttrOfType<mlir::DenseI32ArrayAttr>("operandSegmentSizes")) {
    llvm::SmallVector<int32_t> sizes(segments.asArrayRef());
    sizes[index] = 0;
    op->setAttr("operandSegmentSizes", mlir::DenseI32ArrayAttr::get(op->getContext(), sizes));
  }
}

void settleResultTypes(mlir::func::FuncOp function) {
  mlir::Operation *terminator = function.getBody().front().getTerminator();
  function.setType(
      mlir::FunctionType::get(function.getContext(), function.getArgumentTypes(), terminator->getOperandTypes()));
}

std::optional<Tensor> constantOf(mlir::Value value) {
  auto constant = value ? value.getDefiningOp<nn::ConstantOp>() : nn::ConstantOp();
  if (!constant)
    return std::nullopt;
  return toTensor(constant.getValue());
}

mlir::Value makeConstant(mlir::OpBuilder &builder, mlir::Location loc, const Tensor &tensor, llvm::StringRef name) {
  mlir::ElementsAttr attr = toConstant(builder.getContext(), tensor, name);
  return builder.create<nn::ConstantOp>(loc, attr.getType(), attr);
}

mlir::Value makeConstant(mlir::OpBuilder &builder, mlir::Location loc, ElementType type, std::vector<int64_t> dims,
                         const std::vector<double> &values, llvm::StringRef name) {
  Tensor tensor = Tensor::of<double>(std::move(dims), values);
  return makeConstant(builder, loc, type == ElementType::f64 ? tensor : tensor.convertedTo(type), name);
}

std::vector<double> toDoubles(const Tensor &tensor) {
  Tensor wide = tensor.type() == ElementType::f64 ? tensor : tensor.convertedTo(ElementType::f64);
  return std::vector<double>(wide.as<double>(), wide.as<double>() + wide.elements());
}

std::optional<double> splatValue(mlir::Value value) {
  auto constant = value ? value.getDefiningOp<nn::ConstantOp>() : nn::ConstantOp();
  if (!constant)
    return std::nullopt;
  nn::ConstantData data = nn::constantData(constant.getValue());
  if (!isFloat(data.type) && !isInteger(data.type))
    return std::nullopt;
  if (data.splat || rankedType(value).getNumElements() == 1)
    return Tensor::borrow(data.type, {}, const_cast<char *>(data.bytes.data())).asDouble(0);
  return std::nullopt; // equal elements become splats when a constant is made
}

mlir::RankedTensorType rankedType(mlir::Value value) { return llvm::dyn_cast<mlir::RankedTensorType>(value.getType()); }

std::optional<std::vector<int64_t>> staticShape(mlir::Value value) {
  auto type = rankedType(value);
  if (!type || !type.hasStaticShape())
    return std::nullopt;
  return std::vector<int64_t>(type.getShape().begin(), type.getShape().end());
}

bool hasNoElements(const TensorInfo &info) {
  return llvm::any_of(info.dims, [](const Dim &dim) { return dim.isConstant() && dim.constant() == 0; });
}

bool computesNothing(mlir::Operation *op, const nn::SymbolicShapes &shapes) {
  if (op->hasAttr(nn::extentsAttribute)) // it binds extents
    return false;
  auto isNothing = [&](mlir::Value value) {
    TensorInfo info = shapes.of(value);
    return hasNoElements(info) && llvm::none_of(info.dims, isUnknown);
  };
  return op->getNumResults() > 0 && llvm::all_of(op->getResults(), isNothing);
}

void replaceWith(mlir::Operation *op, mlir::Value value) {
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
}

bool isPerChannelConstant(mlir::Value value, mlir::Value like) {
  auto likeType = rankedType(like);
  auto type = rankedType(value);
  if (!likeType || !type || likeType.getRank() < 2 || type.getRank() > likeType.getRank() || likeType.isDynamicDim(1) ||
      !value.getDefiningOp<nn::ConstantOp>())
    return false;
  int64_t channels = likeType.getDimSize(1), missing = likeType.getRank() - type.getRank();
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    if (type.getDimSize(axis) != 1 && !(axis + missing == 1 && type.getDimSize(axis) == channels))
      return false;
  return true;
}

std::optional<std::vector<double>> perChannelConstant(mlir::Value value, mlir::Value like) {
  if (!isPerChannelConstant(value, like) || !isFloat(nn::toElementType(rankedType(value).getElementType())))
    return std::nullopt;
  std::vector<double> values = toDoubles(*constantOf(value));
  if (values.size() == 1)
    values.resize(rankedType(like).getDimSize(1), values[0]);
  return values;
}

std::vector<int64_t> channelDims(mlir::Value like) {
  auto type = rankedType(like);
  std::vector<int64_t> dims(type.getRank() - 1, 1);
  dims[0] = type.getDimSize(1);
  return dims;
}

mlir::Value reshapeTo(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::RankedTensorType type) {
  ReshapeAttrs attrs;
  attrs.allow_zero = llvm::is_contained(type.getShape(), 0);
  for (int64_t extent : type.getShape())
    attrs.shape.push_back(mlir::ShapedType::isDynamic(extent) ? -1 : extent);
  mlir::Value result = nn::buildValue(b, loc, "reshape", {x, {}}, std::move(attrs));
  result.setType(type);
  return result;
}

mlir::Location fuseLocations(mlir::Operation *a, mlir::Operation *b) {
  return mlir::FusedLoc::get(a->getContext(), {a->getLoc(), b->getLoc()});
}

std::string constantName(mlir::Operation *op, llvm::StringRef suffix) {
  std::vector<std::string> names = nn::nodeNames(op->getLoc());
  return (names.empty() ? op->getName().stripDialect().str() : names.front()) + suffix.str();
}

} // namespace lathe
