// What a kernel has to do, as a text that outlives the code: the key of tuning records (store/Records.h). Equal tasks
// may use each other's schedules; kernels of different models, of different builds and from the laboratory meet here.
#pragma once

#include "codegen/Generate.h"

namespace lathe {

/// "task/2 | conv pads=[1, 1, 1, 1] | f32 1x64x56x56 blocked 1,16; f32 64x64x3x3 constant; f32 64 constant -> f32
/// 1x64x56x56 blocked 1,16 | relu | 1 thread | znver5 x86_64 avx2 ...": a version, then
///
/// - the anchor operator with the attributes that are not at their default,
/// - types, extents (`?`: known at run time) and layouts of arguments and results, in order,
/// - the epilogue's class: its operators' names, without their attributes,
/// - threads, the target's CPU, features, cache sizes and sharing (Target::key), and a precision other than fp32.
///
/// exactMath and smallMemory are not in it: they restrict which schedules of the task may be chosen. The version grows
/// when a part changes its meaning, and old records are then found no more.
std::string taskOf(const KernelProblem &problem);

} // namespace lathe
