// Emits the conversion of operands to units and the products of units (codegen/space/ContractionFormat.h).
#pragma once

#include "codegen/builder/KernelBuilder.h"
#include "codegen/space/ContractionFormat.h"

namespace lathe::units {

/// Emits the widening of an 8-bit integer of `type`, or a vector of them, to i32.
mlir::Value widened(KernelBuilder &k, mlir::Value value, ElementType type);
/// Emits a constant i32; with several lanes a vector of it.
mlir::Value integer(KernelBuilder &k, int64_t value, int64_t lanes = 1);
/// Emits the load of the zero point in argument `buffer`, one value of `type`, in all lanes and in the form that
/// operand() subtracts. Null if there is no buffer.
mlir::Value zeroPoint(KernelBuilder &k, std::optional<unsigned> buffer, ElementType type, int64_t lanes);
/// Emits, for formats that correct sums, the number that is multiplied by the sum of the weights and added to a sum,
/// in all lanes. It is minus the excess of the operands of `type`: their zero point, in `buffer`, plus addedTo(). Null
/// if the excess is 0.
mlir::Value correction(KernelBuilder &k, std::optional<unsigned> buffer, ElementType type, int64_t lanes);
/// Emits the first step of the conversion of a vector of operands of `type`, before the functions below: 8-bit
/// integers become i32 minus their zero point, other types are unchanged. For formats that correct sums, 8-bit
/// integers stay bytes, to which addedTo() is added.
mlir::Value operand(KernelBuilder &k, const ContractionFormat &format, mlir::Value vector, ElementType type,
                    mlir::Value zeroPoint);

/// Emits the conversion of a vector of operands to elements of units. Adjacent lanes become adjacent elements.
mlir::Value elements(KernelBuilder &k, const ContractionFormat &format, mlir::Value vector);
/// Emits code that combines up to `group` consecutive vectors, lane after lane, to one vector of units. Missing
/// vectors count as zeros. Only for formats that convert.
mlir::Value joined(KernelBuilder &k, const ContractionFormat &format, llvm::ArrayRef<mlir::Value> vectors);
/// Emits the conversion of `vector` to lanes / group units, in which adjacent lanes share a unit, and their stores
/// from unit `offset` of `base` on.
void storeNeighbours(KernelBuilder &k, const ContractionFormat &format, mlir::Value vector, mlir::Value base,
                     mlir::Value offset);
/// Emits one unit per lane: step i of each unit comes from `steps[i]`, which elements() has converted; missing steps
/// are zero.
mlir::Value interleaved(KernelBuilder &k, const ContractionFormat &format, llvm::ArrayRef<mlir::Value> steps);
/// Emits the stores of one unit per lane from unit `offset` of `base` on: step i of each unit comes from `steps[i]`;
/// missing steps are zero.
void storeInterleaved(KernelBuilder &k, const ContractionFormat &format, llvm::ArrayRef<mlir::Value> steps,
                      mlir::Value base, mlir::Value offset);

/// Emits sum + the products of the units in `a` and `b`.
mlir::Value multiplyAdd(KernelBuilder &k, const ContractionFormat &format, mlir::Value a, mlir::Value b,
                        mlir::Value sum);

} // namespace lathe::units
