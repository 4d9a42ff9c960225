// Tables of constants inside a kernel's code, and code that reads their elements.
#pragma once

#include "codegen/builder/KernelBuilder.h"

namespace lathe {

/// Puts `values` into the kernel's module, aligned to 64 bytes, and returns their address.
mlir::Value constantTable(KernelBuilder &k, mlir::DenseElementsAttr values);

/// Returns table[index]. `index`: one i32 or a vector of them, not negative.
mlir::Value tableEntry(KernelBuilder &k, mlir::Value table, mlir::Value index, mlir::Type element);

/// Returns the element at `index` of a table of 256 integers with `width` bits each (8, 16 or 32). `index`: i8 or a
/// vector of i8, taken as unsigned.
mlir::Value byteTableEntry(KernelBuilder &k, llvm::ArrayRef<int64_t> values, unsigned width, mlir::Value index);

/// Returns `values` as integers of `width` bits in a vector with one lane for each.
mlir::DenseElementsAttr integerTable(KernelBuilder &k, llvm::ArrayRef<int64_t> values, unsigned width);

} // namespace lathe
