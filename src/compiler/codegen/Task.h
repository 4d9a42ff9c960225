// Tasks: texts that describe the work of a kernel independently of its code. They are the keys of tuning records
// (store/Records.h). Kernels with equal tasks can use each other's schedules, also across models, builds and the
// laboratory.
#pragma once

#include "codegen/Generate.h"

namespace lathe {

/// Returns the task of a kernel as a text, such as
///
///   task/2 | conv pads=[1, 1, 1, 1] | f32 1x64x56x56 blocked 1,16; f32 64x64x3x3 constant; f32 64 constant -> f32
///   1x64x56x56 blocked 1,16 | relu | 1 thread | znver5 x86_64 avx2 ...
///
/// It has a version, then
///
/// - the anchor operator with its attributes, without default values,
/// - types, extents (`?`: known at run time; `?56`: the height or width of a convolution, of which schedules assume 56)
///   and layouts of arguments and results, in order,
/// - the operators of the epilogue by name, without attributes,
/// - threads, the target's CPU, features, cache sizes and sharing (Target::key), a precision other than fp32, and
///   relaxed math.
///
/// exactMath and smallMemory are not in the text, because they only restrict the choice of schedules. The version is
/// raised when a part changes its meaning; older records are then no longer found.
std::string taskOf(const KernelProblem &problem);

/// The parts of a task's text.
struct TaskParts {
  std::string kernel; // all parts before the threads: "task/2 | conv ... | relu"
  int threads = 1;
  std::string target; // the target in the form of Target::key
  Precision precision = Precision::fp32;
  bool relaxedMath = false;
};
/// Divides the text of a task into its parts. Returns nothing for a damaged text, or for a text of another version or
/// program.
std::optional<TaskParts> partsOfTask(const std::string &task);

/// Returns the anchor of a kernel: the operator that determines its family; null for a kernel of element-wise
/// operators only.
mlir::Operation *anchorOf(mlir::func::FuncOp kernel);

} // namespace lathe
