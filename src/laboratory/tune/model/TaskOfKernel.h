// Kernels of models as tasks to tune.
#pragma once

#include "compile/KernelTasks.h"
#include "tune/Tuner.h"

namespace lathe::tune {

/// Declines a kernel that has no schedule. `kernel.facts` outlive the result. `clockGhz` turns predicted cycles into seconds.
Outcome<TaskToTune> taskToTune(const KernelTask &kernel, double clockGhz);

} // namespace lathe::tune
