// The nn dialect in C++: its structural operations, and the operators generated from their records.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ir/NnDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "ir/NnTypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/NnAttrs.h.inc"

namespace lathe::nn {

/// Verifies an nn operator: runs its shape function on the operand types and compares the results with the result
/// types.
mlir::LogicalResult verifyByShapeFunction(mlir::Operation *op);

template <class ConcreteOp> class ShapeVerified : public mlir::OpTrait::TraitBase<ConcreteOp, ShapeVerified> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) { return verifyByShapeFunction(op); }
};

} // namespace lathe::nn

namespace lathe::nn {
// Defined by the shards of the generated operator code (ir/NnOps*.cpp).
void registerNnDialectOperations(NnDialect *dialect);
void registerNnDialectOperations0(NnDialect *dialect);
void registerNnDialectOperations1(NnDialect *dialect);
void registerNnDialectOperations2(NnDialect *dialect);
void registerNnDialectOperations3(NnDialect *dialect);
} // namespace lathe::nn

#define GET_OP_CLASSES
#include "ir/NnOps.h.inc"
