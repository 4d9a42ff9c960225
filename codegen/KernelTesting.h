// For tests only: kernels compiled and run inside the test's own process.
#pragma once

#include "codegen/Emit.h"
#include "codegen/Generate.h"
#include "package/KernelAbi.h"

#include <memory>

namespace lathe {

/// Machine code mapped executable for the life of the object.
class LoadedKernel {
public:
  /// `module` holds a function `kernel` in the signature of package/KernelAbi.h; it is consumed.
  LoadedKernel(mlir::ModuleOp module, const Target &target);
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel &) = delete;
  LoadedKernel &operator=(const LoadedKernel &) = delete;

  /// Calls the kernel with denormals flushed, as the runtime does.
  void call(void *const *buffers, const int64_t *dims, int64_t begin, int64_t end, void *scratch) const;
  size_t codeBytes() const { return size; }

private:
  void *memory = nullptr;
  size_t size = 0;
  LatheKernel entry = nullptr;
};

/// Memory that ends right before an unmapped page and starts right after one, as far as alignment allows: a kernel that touches
/// what is not its own faults. Filled with a pattern that is NaN in every float type.
class GuardedBuffer {
public:
  /// `aligned`: starts at a multiple of 64 bytes (and so may end up to 63 before the page).
  explicit GuardedBuffer(size_t bytes, bool aligned = false);
  ~GuardedBuffer();
  GuardedBuffer(GuardedBuffer &&other) noexcept;
  GuardedBuffer(const GuardedBuffer &) = delete;
  GuardedBuffer &operator=(const GuardedBuffer &) = delete;
  char *data() const { return start; }
  size_t bytes() const { return length; }

private:
  void *mapping = nullptr;
  size_t mapped = 0, length = 0;
  char *start = nullptr;
};

} // namespace lathe
