// Conversions between MLIR operations and the plain data of operator records.
#pragma once

#include "ir/Nn.h"
#include "ops/Registry.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <string_view>

namespace lathe {

/// True if `op` is the operator `mnemonic` of the nn dialect; false if `op` is null.
bool isOp(mlir::Operation *op, std::string_view mnemonic);
inline bool isOp(mlir::Value value, std::string_view mnemonic) { return isOp(value.getDefiningOp(), mnemonic); }

} // namespace lathe

namespace lathe::nn {

/// Returns the record of an nn operator; null for structural and foreign operations.
const OpRecord *recordOf(mlir::Operation *op);

/// Returns the attributes of an nn operator as its attribute struct (dynamic type <Camel>Attrs).
std::unique_ptr<Attrs> attrsOf(mlir::Operation *op);
template <class T> T attrsAs(mlir::Operation *op) { return static_cast<const T &>(*attrsOf(op)); }
/// Sets the MLIR attributes of `op` from the operator's attribute struct.
void setAttrs(mlir::Operation *op, Attrs &attrs);

/// The operands of an operator by position in its record; null: absent optional operand. Values of a variadic operand
/// come last.
llvm::SmallVector<mlir::Value> operandsByRecord(mlir::Operation *op);

/// Creates the operator `mnemonic` with operands by position in the record (null: absent) and
/// result types from its shape function. Throws Error without a location if a constraint is
/// violated; the caller adds the location.
mlir::Operation *build(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef mnemonic,
                       llvm::ArrayRef<mlir::Value> operands, Attrs &attrs);
/// Creates an operator like `build` and returns its only result.
mlir::Value buildValue(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef mnemonic,
                       llvm::ArrayRef<mlir::Value> operands, Attrs &&attrs);

mlir::Type toMlir(mlir::MLIRContext *context, ElementType type);
/// The element type of an MLIR type; `invalid` for types that nn does not have.
ElementType toElementType(mlir::Type type);

/// Describes a value for shape functions: its type, with its contents if it is a constant. `?` extents become unknown
/// Dims. A sequence or optional has the type of a scalar whose element type describes it (ir/Nn.td).
TensorInfo infoOf(mlir::Value value);
/// MLIR type of the value that `info` describes; open extents become `?`.
mlir::TensorType toMlirType(mlir::MLIRContext *context, const TensorInfo &info, mlir::Attribute encoding = {});

/// The layout encoding of a value's type; null: row-major.
BlockedAttr layoutOf(mlir::Value value);

/// Elements of a constant's attribute with any storage (dense, splat or resource). The bytes live as long as the
/// context. Splats are not expanded. constantData throws Error for a resource without data.
struct ConstantData {
  ElementType type;
  std::vector<int64_t> dims;
  llvm::ArrayRef<char> bytes; // bytes of the elements; of one element if `splat`
  bool splat;
};
ConstantData constantData(mlir::ElementsAttr attr);
/// Makes the attribute of a constant with a copy of `bytes` (row-major, native byte order). Constants of 1 KiB and
/// more are dense resources named after `name`.
mlir::ElementsAttr makeConstant(mlir::MLIRContext *context, ElementType type, llvm::ArrayRef<int64_t> dims,
                                llvm::ArrayRef<char> bytes, llvm::StringRef name);

/// Text of a location that an importer made (FusedLoc, NameLoc, FileLineColLoc): "model.onnx: node
/// 12 'conv1' (Conv)".
std::string describe(mlir::Location loc);
/// Names of the source nodes of an operation, without duplicates ("conv1", "relu1" after fusion).
std::vector<std::string> nodeNames(mlir::Location loc);

} // namespace lathe::nn
