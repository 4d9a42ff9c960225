#include "codegen/KernelTesting.h"

#include "support/Error.h"

#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace lathe {

LoadedKernel::LoadedKernel(mlir::ModuleOp module, const Target &target) {
  CodeImage image = linkImage({emitObject(module, target)}, target);
  size = image.bytes.size();
  memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(memory != MAP_FAILED, "no memory for {} bytes of code", size);
  std::memcpy(memory, image.bytes.data(), size);
  mprotect(memory, size, PROT_READ | PROT_EXEC);
  entry = reinterpret_cast<LatheKernel>(static_cast<char *>(memory) + image.entries.at(0));
}

LoadedKernel::~LoadedKernel() {
  if (memory)
    munmap(memory, size);
}

void LoadedKernel::call(void *const *buffers, const int64_t *dims, int64_t begin, int64_t end, void *scratch) const {
#ifdef __x86_64__
  unsigned mode = _mm_getcsr();
  _mm_setcsr(mode | 0x8040);
  entry(buffers, dims, begin, end, scratch);
  _mm_setcsr(mode);
#else
  entry(buffers, dims, begin, end, scratch);
#endif
}

GuardedBuffer::GuardedBuffer(size_t bytes, bool aligned) : length(bytes) {
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t inside = (bytes + 64 + page - 1) / page * page;
  mapped = inside + 2 * page;
  mapping = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(mapping != MAP_FAILED, "no memory for a buffer of {} bytes", bytes);
  char *first = static_cast<char *>(mapping) + page;
  mprotect(first, inside, PROT_READ | PROT_WRITE);
  std::memset(first, 0xff, inside);
  start = first + inside - (aligned ? (bytes + 63) / 64 * 64 : bytes);
}

GuardedBuffer::GuardedBuffer(GuardedBuffer &&other) noexcept
    : mapping(other.mapping), mapped(other.mapped), length(other.length), start(other.start) {
  other.mapping = nullptr;
}

GuardedBuffer::~GuardedBuffer() {
  if (mapping)
    munmap(mapping, mapped);
}

} // namespace lathe
