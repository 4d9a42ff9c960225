/* Kernels of the runtime's tests: what codegen emits, written by hand. Linked into a flat image without imports. */
#include "package/KernelAbi.h"

enum { chunk = 16 };

/* add: out = a + b; dims[0] elements; a unit is 16 elements. */
void kernel_add(void *const *buffers, const int64_t *dims, int64_t begin, int64_t end, void *scratch) {
  const float *a = buffers[0], *b = buffers[1];
  float *out = buffers[2];
  int64_t last = end * chunk < dims[0] ? end * chunk : dims[0];
  for (int64_t i = begin * chunk; i < last; ++i)
    out[i] = a[i] + b[i];
}

/* half: out = x / 2; one unit an element. */
void kernel_half(void *const *buffers, const int64_t *dims, int64_t begin, int64_t end, void *scratch) {
  const float *x = buffers[0];
  float *out = buffers[1];
  for (int64_t i = begin; i < end; ++i)
    out[i] = x[i] * 0.5f;
}

/* rowsum: out[r] = sum of x[r, :], through the slot's scratch; dims[0] columns; one unit a row. */
void kernel_rowsum(void *const *buffers, const int64_t *dims, int64_t begin, int64_t end, void *scratch) {
  const float *x = buffers[0];
  float *out = buffers[1], *row = scratch;
  for (int64_t r = begin; r < end; ++r) {
    for (int64_t c = 0; c < dims[0]; ++c)
      ((volatile float *)row)[c] = x[r * dims[0] + c];
    float sum = 0;
    for (int64_t c = 0; c < dims[0]; ++c)
      sum += ((volatile float *)row)[c];
    out[r] = sum;
  }
}

/* units: out[u] = the first unit of the call that did unit u: shows how the range was split. */
void kernel_units(void *const *buffers, const int64_t *dims, int64_t begin, int64_t end, void *scratch) {
  int64_t *out = buffers[0];
  for (int64_t u = begin; u < end; ++u)
    out[u] = begin;
}

/* waves: stages of dims[0] units; out[i] = from[i + 1] * 3 + from[i - 1] of the stage before, modulo 10007, around the
   end; the numbers 0, 1, ... in the first stage. All slots share the scratch. */
void kernel_waves(void *const *buffers, const int64_t *dims, int64_t begin, int64_t end, void *scratch) {
  int64_t *out = buffers[0], *both = scratch, width = dims[0];
  for (int64_t unit = begin; unit < end; ++unit) {
    int64_t stage = unit / width, i = unit % width;
    int64_t *to = both + stage % 2 * width, *from = both + (stage + 1) % 2 * width;
    to[i] = stage == 0 ? i : (from[(i + 1) % width] * 3 + from[(i + width - 1) % width]) % 10007;
    out[i] = to[i];
  }
}

/* table: out = a constant table inside the code image, reached relative to the program counter. */
static const float table[4] = {1.5f, 2.5f, 3.5f, 4.5f};
void kernel_table(void *const *buffers, const int64_t *dims, int64_t begin, int64_t end, void *scratch) {
  float *out = buffers[0];
  for (int64_t i = begin; i < end; ++i)
    out[i] = table[i & 3];
}

/* relay: calls the kernel whose address buffers[0] holds, with the buffers after it: code of the test itself, which a
   sanitizer sees. */
void kernel_relay(void *const *buffers, const int64_t *dims, int64_t begin, int64_t end, void *scratch) {
  LatheKernel kernel = *(const LatheKernel *)buffers[0];
  kernel(buffers + 1, dims, begin, end, scratch);
}
