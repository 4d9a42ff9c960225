#include "ir/Nn.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#include "llvm/ADT/TypeSwitch.h"

#include "ir/NnDialect.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/NnTypes.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/NnAttrs.cpp.inc"

namespace lathe::nn {

void NnDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/NnTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/NnAttrs.cpp.inc"
      >();
  registerNnDialectOperations(this);
}

mlir::Operation *NnDialect::materializeConstant(mlir::OpBuilder &builder, mlir::Attribute value, mlir::Type type,
                                                mlir::Location loc) {
  if (auto elements = llvm::dyn_cast<mlir::ElementsAttr>(value))
    return builder.create<ConstantOp>(loc, type, elements);
  return nullptr;
}

mlir::OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

} // namespace lathe::nn
