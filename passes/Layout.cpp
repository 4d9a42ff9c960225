#include "passes/Layout.h"

#include "passes/Rewrite.h"

namespace lathe {

static mlir::RankedTensorType withLayout(mlir::RankedTensorType type, nn::BlockedAttr layout) {
  return mlir::RankedTensorType::get(type.getShape(), type.getElementType(), layout);
}

mlir::Value convertTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, nn::BlockedAttr layout) {
  return builder.create<nn::ConvertLayoutOp>(loc, withLayout(rankedType(value), layout), value);
}

void setLayout(mlir::Value value, nn::BlockedAttr layout) { value.setType(withLayout(rankedType(value), layout)); }

bool sameBytes(mlir::RankedTensorType type, nn::BlockedAttr layout) {
  if (!layout)
    return true;
  int64_t axis = layout.getAxis();
  if (type.isDynamicDim(axis) || type.getDimSize(axis) % layout.getSize() != 0)
    return false;
  for (int64_t extent : type.getShape().drop_front(axis + 1))
    if (extent != 1)
      return false;
  return true;
}

bool movesNothing(nn::ConvertLayoutOp convert) {
  nn::BlockedAttr from = nn::layoutOf(convert.getInput()), to = nn::layoutOf(convert.getOutput());
  auto type = rankedType(convert.getInput());
  return from == to || (sameBytes(type, from) && sameBytes(type, to));
}

} // namespace lathe
