// For tests only: kernels compiled and run inside the test's own process.
#pragma once

#include "codegen/Generate.h"
#include "codegen/target/Emit.h"
#include "package/KernelAbi.h"
#include "runtime/Tensor.h"

#include <functional>
#include <memory>
#include <random>

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

/// Memory that ends right before an unmapped page and starts right after one, as far as alignment allows: a kernel that
/// touches what is not its own faults. Filled with a pattern that is NaN in every float type.
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
  bool aligned() const { return toLine; }

private:
  void *mapping = nullptr;
  size_t mapped = 0, length = 0;
  char *start = nullptr;
  bool toLine = false;
};

/// A kernel function from text, as passes/Partition would leave it: a module with one func.func that has the attribute
/// nn.family. Buffers are guarded, blocked tensors packed (padding lanes are NaN) and unpacked, constants packed as the
/// kernel asks.
class KernelUnderTest {
public:
  /// `text`: the module, or only the function. `seed` decides how the units are cut into slots.
  KernelUnderTest(const std::string &text, const Target &target, uint64_t seed = 1, int threads = 1);
  ~KernelUnderTest();

  mlir::func::FuncOp function() const { return func; }
  KernelProblem problem() const { return {func, target, threads, false, false, precision}; }

  Precision precision = Precision::fp32; // the prior chooses for

  /// Why the family declines, or "".
  std::string declined(const std::string &schedule = "");
  /// Generates by the prior's schedule or the given one, runs on row-major tensors, returns row-major results. Throws
  /// Error when the kernel is declined.
  std::vector<Tensor> run(std::span<const Tensor> inputs, const std::string &schedule = "");
  /// What the references give, operator by operator.
  std::vector<Tensor> expected(std::span<const Tensor> inputs) {
    return evaluated(inputs, [](Tensor x, size_t) { return x; }).results;
  }

  /// What the references give with `change` applied to the operands of products - the contraction's first two,
  /// attention's first three; it is told their number - and the largest |value| of what the anchor gives.
  struct Evaluated {
    std::vector<Tensor> results;
    double largestAnchor = 0;
  };
  Evaluated evaluated(std::span<const Tensor> inputs, const std::function<Tensor(Tensor, size_t operand)> &change);
  /// The largest sum of magnitudes of products (f32) of the contraction: roundings of its sums are relative to that,
  /// neither to its result, which may cancel, nor to what an epilogue lets through of it.
  double largestSum(std::span<const Tensor> inputs);
  /// Random tensors for the arguments: floats and integers of [lo, hi]; symbolic extents as given.
  std::vector<Tensor> randomInputs(double lo, double hi, const std::map<std::string, int64_t> &symbols = {});

  /// Cache lines of the results that `slots` equal shares of the units write to: all, those that more than one writes
  /// to, and those of the busiest slot.
  struct Lines {
    int64_t written = 0, shared = 0, most = 0;
  };
  Lines lines(std::span<const Tensor> inputs, int slots);

  /// Seconds a run takes (best of `repetitions`), by the same kernel and inputs; for benchmarks.
  double seconds(std::span<const Tensor> inputs, int repetitions, const std::string &schedule = "");

private:
  struct Prepared;
  std::unique_ptr<Prepared> prepare(std::span<const Tensor> inputs, const std::string &schedule);

  Target target;
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp func;
  std::mt19937_64 random;
  int threads;
};

/// "" or where two tensors differ: shape, type, or elements beyond |x - y| <= tolerance * (|y| + largest |y|). NaN
/// equals NaN. The largest is at least `least`.
std::string difference(const Tensor &got, const Tensor &expected, double tolerance, double least = 0);

/// Runs the kernel on random inputs of [lo, hi] and returns "" or what went wrong (declined, or a difference from the
/// references).
std::string checkKernel(const std::string &text, const Target &target, uint64_t seed, double tolerance, double lo = -2,
                        double hi = 2, const std::string &schedule = "",
                        const std::map<std::string, int64_t> &symbols = {});

} // namespace lathe
