// Machine code in executable memory, and calls of one kernel without a package.
#pragma once

#include "package/KernelAbi.h"
#include "runtime/ThreadPool.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace lathe::runtime {

/// A copy of position-independent machine code in memory that is readable and executable. Movable.
class ExecutableCode {
public:
  ExecutableCode() = default;
  /// Copies and maps machine code. Throws Error that begins with `what`.
  ExecutableCode(std::span<const char> code, const std::string &what);
  ExecutableCode(ExecutableCode &&other) noexcept;
  ExecutableCode &operator=(ExecutableCode &&other) noexcept;
  ~ExecutableCode();

  bool empty() const { return length == 0; }
  size_t bytes() const { return length; }
  const char *data() const { return memory; }
  /// The kernel at `offset` bytes in the code.
  LatheKernel kernelAt(uint64_t offset) const;

private:
  char *memory = nullptr;
  size_t length = 0;
};

/// One kernel of linked machine code (codegen/target/Emit.h) that can be called without a package, for tests and the
/// laboratory.
class MappedKernel {
public:
  /// Maps the machine code; the kernel is at `offset` bytes in it. Throws Error if there is no memory.
  MappedKernel(std::span<const char> code, uint64_t offset);

  /// Computes the kernel's work items [begin, end) on the calling thread, in the floating-point mode of kernels.
  void call(void *const *buffers, const int64_t *dims, int64_t begin, int64_t end, void *scratch) const;

  /// Arguments of a kernel call for all work items. The `units` work items divide into `stages` equal ranges that run
  /// one after the other.
  struct Work {
    void *const *buffers = nullptr;
    const int64_t *dims = nullptr;
    int64_t units = 0, stages = 1;
    // scratch memory of thread 0; that of thread i begins `i * scratchStride` bytes farther on
    char *scratch = nullptr;
    size_t scratchStride = 0;
  };
  /// Computes all work items of the kernel on the threads of `pool`, split as a context splits them.
  void run(ThreadPool &pool, const Work &work) const;
  /// Times what a context does in an image loop, where each thread computes whole images, one after the other. Where
  /// the threads do not divide `images`, all threads compute each of the last ones together. The work items are
  /// `images` equal ranges without stages between them. `imageBytes` has the bytes of one image for each buffer, 0 for
  /// constants. Thread i uses the memory of image i for all of its images, as image loops reuse memory.
  void runImages(ThreadPool &pool, const Work &work, int64_t images, std::span<const int64_t> imageBytes) const;

  size_t codeBytes() const { return code.bytes(); }

private:
  ExecutableCode code;
  LatheKernel kernel;
};

} // namespace lathe::runtime
