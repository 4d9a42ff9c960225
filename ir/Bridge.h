// Between MLIR operations and the plain side of the operator records.
#pragma once

#include "ir/Nn.h"
#include "ops/Registry.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/SmallVector.h"

#include <memory>

namespace lathe::nn {

/// The record of an nn operator; null for structural and foreign operations.
const OpRecord *recordOf(mlir::Operation *op);

/// The operator's attributes as its struct (dynamic type <Camel>Attrs).
std::unique_ptr<Attrs> attrsOf(mlir::Operation *op);
template <class T> T attrsAs(mlir::Operation *op) { return static_cast<const T &>(*attrsOf(op)); }
/// Sets the MLIR attributes of `op` from the struct.
void setAttrs(mlir::Operation *op, Attrs &attrs);

/// Operands by position in the record, null where an optional one is absent; a variadic operand's values come last.
llvm::SmallVector<mlir::Value> operandsByRecord(mlir::Operation *op);

/// Creates `mnemonic` with operands by position in the record (null: absent) and result types from its shape function.
/// Throws Error (without place) when a constraint is violated; the location is the caller's to add.
mlir::Operation *build(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef mnemonic,
                       llvm::ArrayRef<mlir::Value> operands, Attrs &attrs);
/// Likewise for an operator with one result and the attributes given by a struct.
mlir::Value buildValue(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef mnemonic,
                       llvm::ArrayRef<mlir::Value> operands, Attrs &&attrs);

mlir::Type toMlir(mlir::MLIRContext *context, ElementType type);
/// `invalid` for types nn does not know.
ElementType toElementType(mlir::Type type);

/// What the IR knows of a value: its type, and contents when a constant makes it. `?` extents become unknown Dims.
TensorInfo infoOf(mlir::Value value);
/// Symbolic extents become `?`.
mlir::TensorType toMlirType(mlir::MLIRContext *context, const TensorInfo &info, mlir::Attribute encoding = {});

/// The layout encoding, or null for row-major.
BlockedAttr layoutOf(mlir::Value value);

/// Elements of a constant's attribute, whatever its storage (dense, splat or resource); throws Error for resources
/// without data. The span lives as long as the context; splats are not expanded: see `isSplat`.
struct ConstantData {
  ElementType type;
  std::vector<int64_t> dims;
  llvm::ArrayRef<char> bytes; // one element when splat
  bool splat;
};
ConstantData constantData(mlir::ElementsAttr attr);
/// A constant over `bytes` (row-major, native order), copied; at 1 KiB or more a dense resource named after `name`.
mlir::ElementsAttr makeConstant(mlir::MLIRContext *context, ElementType type, llvm::ArrayRef<int64_t> dims,
                                llvm::ArrayRef<char> bytes, llvm::StringRef name);

/// "model.onnx: node 12 'conv1' (Conv)" from a location as importers make them (FusedLoc/NameLoc/FileLineColLoc).
std::string describe(mlir::Location loc);
/// Names of the source nodes behind an operation ("conv1", "relu1" after fusion), without duplicates.
std::vector<std::string> nodeNames(mlir::Location loc);

} // namespace lathe::nn
