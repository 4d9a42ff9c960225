// What the instructions of a plan need of each other: the order that any execution has to keep.
#pragma once

#include "package/plan_generated.h"

#include <cstdint>
#include <vector>

namespace lathe::package {

/// For each instruction of the plan's entry block: the positions, rising, of the instructions before it that must be
/// done before it begins, because they write bytes or bind symbols of extents that it uses. An instruction with bodies
/// uses what its bodies use. Two values use different bytes if they belong to different memory or if their ranges do
/// not meet for any extents; of ranges that depend on symbols this is not always known, and then they count as meeting.
/// Bytes have one writer: the first instruction that uses them. Requires a plan whose indices are in range; throws
/// Error for an extent that is no text of a Dim.
std::vector<std::vector<uint32_t>> dependences(const plan::Plan &plan);
std::vector<std::vector<uint32_t>> dependences(const plan::PlanT &plan);

/// Sets the waits of all instructions of the entry block, whose places are given, to what `dependences` asks for.
void setWaits(plan::PlanT &plan);

} // namespace lathe::package
