/* The signature of every compiled kernel. */
#ifndef LATHE_PACKAGE_KERNEL_ABI_H
#define LATHE_PACKAGE_KERNEL_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the signature, stored in every package. Raise it when the meaning of an argument changes. */
#define LATHE_KERNEL_ABI 2

/* Computes the work items [begin, end) of a kernel.

   buffers  base addresses of inputs, constants and outputs, in the order of the plan's
            CallKernel.buffers; aligned to 64 bytes, model inputs and outputs only to their elements
   dims     values of the run-time extents, in the order of the plan's CallKernel.dims
   begin    first work item of this call
   end      one past the last work item; work items are independent and no reduction crosses them,
            so results do not depend on the number of slots
   scratch  memory private to the slot, aligned to 64 bytes, of the size that the plan states

   If the plan's call has stages, the work items divide into that many equal ranges, which run one
   after the other. Work items of one stage are independent. All slots then share one scratch, which
   lives through all stages, and one call may compute several whole stages.
   Kernels run with denormals flushed to zero; the caller sets and restores that mode. */
typedef void (*LatheKernel)(void *const *buffers, const int64_t *dims, int64_t begin, int64_t end, void *scratch);

#ifdef __cplusplus
}
#endif
#endif
