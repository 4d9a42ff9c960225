// What each slot (thread) of a run did: how long it computed, waited for its team, and had no work.
#pragma once

#include "runtime/Context.h"

#include <vector>

namespace lathe::jobs {

/// Seconds of one run for one slot. The three add up to the run.
struct SlotUse {
  double busy = 0;    // it computed its share of an instruction
  double waiting = 0; // an instruction of its team ran, of which it had no share or had finished it
  double idle = 0;    // no instruction ran on its team
};

/// What each slot did in a traced run, by slot. An instruction that divides no work over its team is a share of the
/// team's first slot. Empty if the trace left events out.
std::vector<SlotUse> slotUse(const runtime::RunTrace &trace, const runtime::RunProfile &profile);

} // namespace lathe::jobs
