/* Kernels in the place of built ones, for MeasureTest: y = relu(x) of 1000 floats, right and wrong in every way. Linked
   into a flat image without imports. */
#include "package/KernelAbi.h"

enum { elements = 1000 };

static void relu(const float *x, float *y) {
  for (int64_t i = 0; i < elements; ++i)
    y[i] = x[i] > 0 ? x[i] : 0;
}

#define KERNEL(name) void name(void *const *buffers, const int64_t *dims, int64_t begin, int64_t end, void *scratch)

KERNEL(kernel_right) { relu(buffers[0], buffers[1]); }

KERNEL(kernel_crash) { *(volatile int *)8 = 1; }

KERNEL(kernel_hang) {
  for (;;)
    __asm__ volatile("" ::: "memory");
}

static long mapMemory(long bytes) {
  enum { readWrite = 3, privateAnonymous = 0x22 };
#if defined(__x86_64__)
  long result;
  register long flags __asm__("r10") = privateAnonymous;
  register long file __asm__("r8") = -1;
  register long offset __asm__("r9") = 0;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(9L), "D"(0L), "S"(bytes), "d"((long)readWrite), "r"(flags), "r"(file), "r"(offset)
                   : "rcx", "r11", "memory");
  return result;
#else
  register long number __asm__("x8") = 222;
  register long address __asm__("x0") = 0;
  register long size __asm__("x1") = bytes;
  register long protection __asm__("x2") = readWrite;
  register long flags __asm__("x3") = privateAnonymous;
  register long file __asm__("x4") = -1;
  register long offset __asm__("x5") = 0;
  __asm__ volatile("svc 0"
                   : "+r"(address)
                   : "r"(number), "r"(size), "r"(protection), "r"(flags), "r"(file), "r"(offset)
                   : "memory");
  return address;
#endif
}

/* Allocates and touches memory without end. */
KERNEL(kernel_eat) {
  enum { piece = 1 << 20, page = 4096 };
  for (;;) {
    long at = mapMemory(piece);
    for (long i = 0; at > 0 && i < piece; i += page)
      *(volatile char *)(at + i) = 1;
  }
}

KERNEL(kernel_wrong) {
  relu(buffers[0], buffers[1]);
  ((float *)buffers[1])[500] += 0.25f;
}

/* Right, but writes behind the result: within the page, and far. */
KERNEL(kernel_overrun) {
  relu(buffers[0], buffers[1]);
  ((volatile float *)buffers[1])[elements] = 1;
}
KERNEL(kernel_farOverrun) {
  relu(buffers[0], buffers[1]);
  ((volatile float *)buffers[1])[elements + 1024] = 1;
}

/* Right, but changes its operand. */
KERNEL(kernel_scribble) {
  relu(buffers[0], buffers[1]);
  ((volatile float *)buffers[0])[0] = 1;
}

/* Right the first time only. Scratch is spoiled with ones before. */
KERNEL(kernel_fickle) {
  volatile int *runs = scratch;
  relu(buffers[0], buffers[1]);
  if (*runs != -1)
    ((float *)buffers[1])[3] = 7;
  *runs = 0;
}

/* Computes nothing. */
KERNEL(kernel_idle) {}
