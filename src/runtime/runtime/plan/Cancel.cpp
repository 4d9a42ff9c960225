// The early end of runs.
#include "runtime/plan/Execution.h"

namespace lathe::runtime {

void Context::State::meetCancel() {
  cancelAsked.store(false, std::memory_order_relaxed);
  if (!cancelCheck || cancelCheck(cancelData) != 0)
    throw Cancelled(file + ": the run was cancelled");
}

} // namespace lathe::runtime
