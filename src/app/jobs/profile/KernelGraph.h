// The kernels of a plan as a graph: which kernel reads what another one has written.
#pragma once

#include "runtime/Context.h"

#include <nlohmann/json.hpp>

namespace lathe::jobs {

/// The first `count` instructions of the plan in use and the values between them; constants are left out. An object:
///
///   values   name, type, dims ("1x64x56x56", "?" where it depends on data), layout ("" row-major, "NCHW16c"), bytes;
///            `inside`: the value whose memory it lies in, by name, for values in place
///   edges    [from, to, value]: instruction that writes, instruction that reads, index into `values`. From -1: an input
///            of the model. To -1: an output. Value -1: `to` is inside of `from`, and nothing else leads to it
///   parents  [instruction, parent]: instructions inside of a branch or a loop
///
/// What an iteration of a loop passes on to the next one is no edge, so the graph has no cycle. What the runs of a loop
/// leave comes from the instructions of its body that compute it.
nlohmann::json kernelGraph(const runtime::Context &context, size_t count);

/// Type of the factors of a kernel's products, which determines its ceiling. All products of bytes have the type i8: the
/// fastest instruction for them is the limit of the machine, also of schedules that widen them.
ElementType factorsOf(const runtime::InstructionInfo &info);

} // namespace lathe::jobs
