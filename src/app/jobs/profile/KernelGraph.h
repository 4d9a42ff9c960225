// The kernels of a plan as a graph: each kernel with the kernels whose results it reads.
#pragma once

#include "runtime/Context.h"

#include <nlohmann/json.hpp>

namespace lathe::jobs {

/// Returns the first `count` instructions of the plan that `context` uses and the values between them, without
/// constants, as a JSON object:
///
///   values   name, type, dims ("1x64x56x56", "?" if it depends on data), layout ("" row-major, "NCHW16c"), bytes;
///            `inside`: for a value in place, the name of the value that contains its memory
///   edges    [from, to, value]: instruction that writes, instruction that reads, index into `values`. From -1: an
///            input of the model. To -1: an output. Value -1: `to` is inside `from`, and no other edge leads to it
///   parents  [instruction, parent]: instructions inside a branch or a loop
///
/// Values that an iteration of a loop passes to the next one are not edges, so the graph has no cycle. Results of a
/// loop come from the instructions of its body that compute them.
nlohmann::json kernelGraph(const runtime::Context &context, size_t count);

/// Returns the type of the numbers that a kernel multiplies, which determines the limit that its speed is compared
/// with. For all products of 8-bit integers this is i8, also if the schedule widens them: the fastest instruction for
/// them is the limit of the machine.
ElementType factorsOf(const runtime::InstructionInfo &info);

} // namespace lathe::jobs
