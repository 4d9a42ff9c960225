// Arguments and results of a kernel function for given extents, and random values for the arguments.
#pragma once

#include "lab/StoredForm.h"
#include "support/Dim.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lathe::tune {

using Extents = std::map<std::string, int64_t>; // values of open extents, by symbol

struct KernelTensors {
  std::vector<lab::StoredForm> operands, results;
  std::vector<bool> constant; // for each operand: true if it is constant
};

/// Returns the types and extents of a kernel's arguments and results. Throws Error for a symbol without a value in
/// `extents`.
KernelTensors kernelTensors(mlir::func::FuncOp function, const Extents &extents);

/// Makes random row-major operands for a kernel: floats within the bound of the kernel family (inputBound), indices
/// inside their axes, lengths of sequences up to the time axis, 8-bit integers over the whole range, other integers
/// from 0 to 8. Equal seeds give equal operands.
std::vector<Tensor> randomOperands(mlir::func::FuncOp function, const KernelTensors &tensors, const Extents &extents,
                                   uint64_t seed);

/// Returns the value of the formula `dim` if the symbols have the values `extents`. Throws Error for a symbol without
/// a value.
int64_t valueOf(const Dim &dim, const Extents &extents);

} // namespace lathe::tune
