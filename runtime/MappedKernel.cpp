#include "runtime/MappedKernel.h"

#include "runtime/Cpu.h"
#include "support/Error.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <utility>

namespace lathe::runtime {

ExecutableCode::ExecutableCode(std::span<const char> code, const std::string &what) {
  if (code.empty())
    return;
  void *address = ::mmap(nullptr, code.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(address != MAP_FAILED, "{}: no memory for {} bytes of code", what, code.size());
  memory = static_cast<char *>(address);
  length = code.size();
  std::memcpy(memory, code.data(), length);
  if (::mprotect(memory, length, PROT_READ | PROT_EXEC) != 0) {
    int error = errno;
    ::munmap(std::exchange(memory, nullptr), length);
    fail("{}: cannot make its code executable: {}", what, std::strerror(error));
  }
  __builtin___clear_cache(memory, memory + length);
}

ExecutableCode::ExecutableCode(ExecutableCode &&other) noexcept
    : memory(std::exchange(other.memory, nullptr)), length(std::exchange(other.length, 0)) {}

ExecutableCode &ExecutableCode::operator=(ExecutableCode &&other) noexcept {
  std::swap(memory, other.memory);
  std::swap(length, other.length);
  return *this;
}

ExecutableCode::~ExecutableCode() {
  if (memory)
    ::munmap(memory, length);
}

LatheKernel ExecutableCode::kernelAt(uint64_t offset) const { return reinterpret_cast<LatheKernel>(memory + offset); }

MappedKernel::MappedKernel(std::span<const char> image, uint64_t offset)
    : code(image, "kernel"), kernel(code.kernelAt(offset)) {
  cpuFeatures(); // asks the system for tile registers where the CPU has them
}

void MappedKernel::call(void *const *buffers, const int64_t *dims, int64_t begin, int64_t end, void *scratch) const {
  KernelFloatMode mode;
  kernel(buffers, dims, begin, end, scratch);
}

void MappedKernel::run(ThreadPool &pool, const Work &work) const {
  struct Job {
    const MappedKernel *kernel;
    const Work *work;
  } job{this, &work};
  pool.runStages(
      work.stages, work.units / work.stages,
      [](void *context, int slot, int64_t begin, int64_t end) {
        auto [kernel, work] = *static_cast<Job *>(context);
        char *scratch = work->scratch ? work->scratch + static_cast<size_t>(slot) * work->scratchStride : nullptr;
        kernel->call(work->buffers, work->dims, begin, end, scratch);
      },
      &job);
}

} // namespace lathe::runtime
