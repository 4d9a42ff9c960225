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

using Extents = std::map<std::string, int64_t>; // extents by symbol

struct KernelTensors {
  std::vector<lab::StoredForm> operands, results;
  std::vector<bool> constant; // for each operand: true if it is constant
};

/// Types and extents of a kernel's arguments and results. Throws Error for a symbol without an extent.
KernelTensors kernelTensors(mlir::func::FuncOp function, const Extents &extents);

/// Random operands, row-major: floats within inputBound of the family, indices inside their axes, lengths of sequences
/// up to the time axis, 8-bit integers over the whole range, other integers from 0 to 8. Equal for equal seeds.
std::vector<Tensor> randomOperands(mlir::func::FuncOp function, const KernelTensors &tensors, const Extents &extents,
                                   uint64_t seed);

/// The value of the formula `dim` for these extents of symbols. Throws Error for a symbol without an extent.
int64_t valueOf(const Dim &dim, const Extents &extents);

} // namespace lathe::tune
