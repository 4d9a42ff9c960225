#include "runtime/MappedKernel.h"

#include "runtime/Cpu.h"
#include "support/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <utility>
#include <vector>

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

void MappedKernel::runImages(ThreadPool &pool, const Work &work, int64_t images,
                             std::span<const int64_t> imageBytes) const {
  struct Job {
    const MappedKernel &kernel;
    const Work &work;
    std::span<const int64_t> imageBytes;
    int64_t units, firstShared; // work items of an image; the first image that all threads share

    void pass(int slot, int64_t image, int64_t place, int64_t begin, int64_t end) const {
      std::vector<void *> buffers(work.buffers, work.buffers + imageBytes.size());
      for (size_t i = 0; i < buffers.size(); ++i)
        buffers[i] = reinterpret_cast<void *>(reinterpret_cast<intptr_t>(buffers[i]) + (place - image) * imageBytes[i]);
      char *scratch = work.scratch ? work.scratch + static_cast<size_t>(slot) * work.scratchStride : nullptr;
      kernel.call(buffers.data(), work.dims, image * units + begin, image * units + end, scratch);
    }
  } job{*this, work, imageBytes, work.units / images, images / pool.slots() * pool.slots()};
  pool.run(
      job.firstShared,
      [](void *context, int slot, int64_t begin, int64_t end) {
        const Job &job = *static_cast<Job *>(context);
        for (int64_t image = begin; image < end; ++image)
          job.pass(slot, image, slot, 0, job.units);
      },
      &job);
  pool.run((images - job.firstShared) * job.units,
           [](void *context, int slot, int64_t begin, int64_t end) {
             const Job &job = *static_cast<Job *>(context);
             for (int64_t at = begin; at < end;) {
               int64_t place = at / job.units, stop = std::min(end, (place + 1) * job.units);
               job.pass(slot, job.firstShared + place, place, at - place * job.units, stop - place * job.units);
               at = stop;
             }
           },
           &job);
}

} // namespace lathe::runtime
