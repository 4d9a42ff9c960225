// Operands and expected results of a task, as files that later runs reuse.
#pragma once

#include "tune/measure/builder/KernelTensors.h"

#include <nlohmann/json.hpp>

namespace lathe::tune {

/// Makes the files whose names begin with `prefix`, if they are missing or damaged: every operand in stored form (lanes
/// beyond the last channel are NaN), and every result of the references in float64 on `threads` threads. Returns
/// {"operands", "results"} of the message "task" (docs/notes/tuning-measurement.md). Declines if the references cannot
/// compute the kernel, or if the results are constant and so no evidence. `kernel` is the text of the function.
Outcome<nlohmann::json> taskData(mlir::func::FuncOp function, const std::string &kernel, const Extents &extents,
                                 uint64_t seed, const std::string &prefix, int threads);

/// The end of the name of the file that holds operand `number`.
std::string operandFile(size_t number);
/// Reads a file with an operand that taskData has written, as a row-major tensor.
Tensor operandOf(const lab::StoredForm &form, const std::string &file);

} // namespace lathe::tune
