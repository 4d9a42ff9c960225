// Makes candidates fail, for tests of whole tuning runs (docs/notes/tuning-measurement.md, "Faults for tests").
#pragma once

#include <span>
#include <string>

namespace lathe::tune {

/// What every run of a candidate kernel does: run normally, end by a signal, never end, allocate without end, or
/// compute wrong results.
enum class Fault { none, crash, hang, allocate, wrong };

/// Returns the fault for a schedule from the environment variable LATHE_INJECT_FAULTS, a list "crash SCHEDULE; hang
/// SCHEDULE; ...". Throws Error for an unknown kind of fault.
Fault injectedFault(const std::string &schedule);

/// Executes the fault after a run of the kernel. `result` is a result of the kernel.
void inject(Fault fault, std::span<char> result);

} // namespace lathe::tune
