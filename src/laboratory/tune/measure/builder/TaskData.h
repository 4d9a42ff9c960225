// Operands and expected results of a tuning task, in files that later runs reuse.
#pragma once

#include "tune/measure/builder/KernelTensors.h"

#include <nlohmann/json.hpp>

namespace lathe::tune {

/// Makes the data files of a task, whose names begin with `prefix`, if they are missing or damaged: every operand in
/// stored form (lanes beyond the last channel are NaN), and every result, computed by the reference functions in
/// float64 on `threads` threads. Returns {"operands", "results"} of the message "task"
/// (docs/notes/tuning-measurement.md). Declines if the reference functions cannot compute the kernel, or if the
/// results are constant, because they then prove nothing. `kernel`: text of the function.
Outcome<nlohmann::json> taskData(mlir::func::FuncOp function, const std::string &kernel, const Extents &extents,
                                 uint64_t seed, const std::string &prefix, int threads);

/// Returns how the name of the file with operand `number` ends.
std::string operandFile(size_t number);
/// Reads the file of an operand, written by taskData, as a row-major tensor.
Tensor operandOf(const lab::StoredForm &form, const std::string &file);

} // namespace lathe::tune
