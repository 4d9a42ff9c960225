// Makes candidates go wrong, for tests of whole tuning runs (docs/notes/tuning-measurement.md, "Faults for tests").
#pragma once

#include <span>
#include <string>

namespace lathe::tune {

/// What every run of a candidate does: no harm, end by a signal, never end, allocate without end, compute wrong results.
enum class Fault { none, crash, hang, allocate, wrong };

/// The fault that $LATHE_INJECT_FAULTS gives a schedule. The variable is a list "crash SCHEDULE; hang SCHEDULE; ...". Throws
/// Error for an unknown kind.
Fault injectedFault(const std::string &schedule);

/// Does what the fault says, behind a run of the kernel. `result`: a result of the kernel.
void inject(Fault fault, std::span<char> result);

} // namespace lathe::tune
