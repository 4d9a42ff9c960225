// Makes tuning tasks from the kernels of models.
#pragma once

#include "compile/KernelTasks.h"
#include "tune/Tuner.h"

namespace lathe::tune {

/// Makes the tuning task of a kernel. Declines a kernel without a schedule. `kernel.facts` must outlive the result.
/// `clockGhz` (clock rate) converts predicted cycles to seconds.
Outcome<TaskToTune> taskToTune(const KernelTask &kernel, double clockGhz);

} // namespace lathe::tune
