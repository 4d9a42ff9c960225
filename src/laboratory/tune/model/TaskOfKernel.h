// Kernels of models as tasks to tune.
#pragma once

#include "compile/KernelTasks.h"
#include "tune/Tuner.h"

namespace lathe::tune {

/// Makes the task of a kernel. Declines a kernel without a schedule. `kernel.facts` must outlive the result. `clockGhz`
/// converts predicted cycles to seconds.
Outcome<TaskToTune> taskToTune(const KernelTask &kernel, double clockGhz);

} // namespace lathe::tune
