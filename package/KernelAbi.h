/* The signature of every compiled kernel, settled once. */
#ifndef LATHE_PACKAGE_KERNEL_ABI_H
#define LATHE_PACKAGE_KERNEL_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever the meaning of an argument changes; stored in every package. */
#define LATHE_KERNEL_ABI 2

/* buffers  base addresses of inputs, constants and outputs, each aligned to 64 bytes unless the caller bound an
            unaligned one (kernels assume element alignment only for model inputs and outputs)
   dims     run-time extents the kernel was generated for, in the order of the plan's CallKernel.dims
   begin    first work unit of this slot
   end      one past the last; units are independent and no reduction crosses them, so results do not depend on
            the number of slots
   scratch  memory private to the slot, aligned to 64 bytes, of the size the plan states
   Where the plan's call has stages, units are as many equal runs; those of a stage are independent, a stage begins when
   the one before is done, and the scratch is one for all slots and lives through all stages. One call may take several
   whole stages.
   Kernels run with denormals flushed; the caller sets and restores the mode. */
typedef void (*LatheKernel)(void *const *buffers, const int64_t *dims, int64_t begin, int64_t end, void *scratch);

#ifdef __cplusplus
}
#endif
#endif
