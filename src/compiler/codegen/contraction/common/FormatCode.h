// Emits the conversion of operands to units and the products of units (codegen/space/ContractionFormat.h).
#pragma once

#include "codegen/builder/KernelBuilder.h"
#include "codegen/space/ContractionFormat.h"

namespace lathe::units {

/// An 8-bit integer of `type` as i32, or a vector of them.
mlir::Value widened(KernelBuilder &k, mlir::Value value, ElementType type);
/// An i32, for all lanes if there are several.
mlir::Value integer(KernelBuilder &k, int64_t value, int64_t lanes = 1);
/// The zero point in argument `buffer`, one value of `type`, for all lanes as operand() subtracts it; null without one.
mlir::Value zeroPoint(KernelBuilder &k, std::optional<unsigned> buffer, ElementType type, int64_t lanes);
/// For formats that correct sums: the number to add to a sum for each unit of the sum of its weights, in all lanes. It
/// is minus the excess of each operand of `type`: its zero point in `buffer` and addedTo(). Null if the excess is 0.
mlir::Value correction(KernelBuilder &k, std::optional<unsigned> buffer, ElementType type, int64_t lanes);
/// Returns a vector of operands of `type` in the form that the functions below convert: 8-bit integers as i32 minus
/// their zero point, others unchanged. Formats that correct sums get bytes, with addedTo() added.
mlir::Value operand(KernelBuilder &k, const ContractionFormat &format, mlir::Value vector, ElementType type,
                    mlir::Value zeroPoint);

/// Converts a vector of operands to elements of units, adjacent lanes to adjacent elements.
mlir::Value elements(KernelBuilder &k, const ContractionFormat &format, mlir::Value vector);
/// Combines the lanes of up to `group` consecutive vectors to one vector of units; missing vectors are zeros. Only for
/// formats that convert.
mlir::Value joined(KernelBuilder &k, const ContractionFormat &format, llvm::ArrayRef<mlir::Value> vectors);
/// Stores `vector` as lanes / group units from unit `offset` of `base` on; adjacent lanes share a unit.
void storeNeighbours(KernelBuilder &k, const ContractionFormat &format, mlir::Value vector, mlir::Value base,
                     mlir::Value offset);
/// One unit per lane: step i of each unit comes from `steps[i]`, as elements() makes them; missing steps are zero.
mlir::Value interleaved(KernelBuilder &k, const ContractionFormat &format, llvm::ArrayRef<mlir::Value> steps);
/// Stores one unit per lane from unit `offset` of `base` on: step i of each unit comes from `steps[i]`; missing steps
/// are zero.
void storeInterleaved(KernelBuilder &k, const ContractionFormat &format, llvm::ArrayRef<mlir::Value> steps,
                      mlir::Value base, mlir::Value offset);

/// Returns sum + the products of the units in `a` and `b`.
mlir::Value multiplyAdd(KernelBuilder &k, const ContractionFormat &format, mlir::Value a, mlir::Value b,
                        mlir::Value sum);

} // namespace lathe::units
