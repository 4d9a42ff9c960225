// Tables of constants inside a kernel's code, and code that reads their elements.
#pragma once

#include "codegen/builder/KernelBuilder.h"

namespace lathe {

/// Puts the table `values` into the kernel's module, aligned to 64 bytes, and returns its address.
mlir::Value constantTable(KernelBuilder &k, mlir::DenseElementsAttr values);

/// Emits the load of table[index]. `index`: an i32 or a vector of i32, not negative.
mlir::Value tableEntry(KernelBuilder &k, mlir::Value table, mlir::Value index, mlir::Type element);

/// Emits the load of the element at `index` of a table of 256 integers with `width` bits each (8, 16 or 32). `index`:
/// i8 or a vector of i8, taken as unsigned.
mlir::Value byteTableEntry(KernelBuilder &k, llvm::ArrayRef<int64_t> values, unsigned width, mlir::Value index);

/// Returns the table `values` as integers of `width` bits in a vector with one lane for each.
mlir::DenseElementsAttr integerTable(KernelBuilder &k, llvm::ArrayRef<int64_t> values, unsigned width);

} // namespace lathe
