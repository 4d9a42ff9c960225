/* Runs a kernel of another architecture inside an emulator: what codegen/testing/KernelEmulation.cpp writes to its standard
 * input, the buffers as the kernel leaves them to its standard output. Everything is 64-bit words, little endian:
 *
 *   code bytes, entry, buffers, dims, slots, scratch bytes; the code; each buffer's bytes, 1 where it is aligned to a
 * cache line, its contents; the dims; each slot's begin and end.
 *
 * Buffers end right before a page that is not mapped: a kernel that touches what is not its own ends the program.
 */
#include "package/KernelAbi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const size_t page = 4096;

static void get(void *to, size_t bytes) {
  if (fread(to, 1, bytes, stdin) != bytes)
    exit(3);
}

static int64_t word(void) {
  int64_t value;
  get(&value, sizeof value);
  return value;
}

/* `bytes` of memory before an unmapped page, filled with ones: NaN in every float type. */
static char *guarded(size_t bytes, int aligned) {
  size_t inside = (bytes + 64 + page - 1) / page * page;
  char *mapping = mmap(0, inside + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED || mprotect(mapping + page, inside, PROT_READ | PROT_WRITE))
    exit(4);
  memset(mapping + page, 0xff, inside);
  return mapping + page + inside - (aligned ? (bytes + 63) / 64 * 64 : bytes);
}

int main(void) {
  size_t codeBytes = (size_t)word();
  int64_t entry = word(), bufferCount = word(), dimCount = word(), slotCount = word(), scratchBytes = word();
  char *code = mmap(0, codeBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED)
    return 4;
  get(code, codeBytes);
  if (mprotect(code, codeBytes, PROT_READ | PROT_EXEC))
    return 4;
  __builtin___clear_cache(code, code + codeBytes);

  char **buffers = calloc((size_t)bufferCount + 1, sizeof *buffers);
  size_t *sizes = calloc((size_t)bufferCount + 1, sizeof *sizes);
  for (int64_t i = 0; i < bufferCount; ++i) {
    sizes[i] = (size_t)word();
    int aligned = (int)word();
    buffers[i] = guarded(sizes[i], aligned);
    get(buffers[i], sizes[i]);
  }
  int64_t *dims = calloc((size_t)dimCount + 1, sizeof *dims);
  get(dims, (size_t)dimCount * sizeof *dims);

#if defined(__aarch64__)
  unsigned long mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  __asm__ volatile("msr fpcr, %0"
                   :
                   : "r"(mode | 1ul << 24 | 1ul << 19)); /* denormals are flushed, as the runtime does */
#endif
  for (int64_t i = 0; i < slotCount; ++i) {
    int64_t begin = word(), end = word();
    char *scratch = guarded((size_t)scratchBytes, 1);
    ((LatheKernel)(void *)(code + entry))((void *const *)buffers, dims, begin, end, scratch);
  }
  for (int64_t i = 0; i < bufferCount; ++i)
    if (fwrite(buffers[i], 1, sizes[i], stdout) != sizes[i])
      return 5;
  return fclose(stdout) ? 5 : 0;
}
