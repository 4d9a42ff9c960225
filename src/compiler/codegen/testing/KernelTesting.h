// For tests only: compiles kernels and runs them in the process of the test.
#pragma once

#include "codegen/Generate.h"
#include "codegen/target/Emit.h"
#include "package/KernelAbi.h"
#include "runtime/MappedKernel.h"
#include "runtime/Tensor.h"

#include <functional>
#include <memory>
#include <random>

namespace lathe {

/// A kernel as executable machine code, mapped while the object lives.
class LoadedKernel {
public:
  /// Compiles `module`, which has a function `kernel` with the signature of package/KernelAbi.h. Consumes the module.
  LoadedKernel(mlir::ModuleOp module, const Target &target);

  /// Calls the kernel with denormals flushed to zero, as the runtime does.
  void call(void *const *buffers, const int64_t *dims, int64_t begin, int64_t end, void *scratch) const {
    kernel->call(buffers, dims, begin, end, scratch);
  }
  /// Calls the kernel for all work items on the threads of `pool`.
  void run(runtime::ThreadPool &pool, const runtime::MappedKernel::Work &work) const { kernel->run(pool, work); }
  size_t codeBytes() const { return kernel->codeBytes(); }

private:
  std::unique_ptr<runtime::MappedKernel> kernel;
};

/// A buffer for tests between two unmapped pages, as close to both as alignment allows, so that an access outside
/// faults. At first it is filled with a pattern that is NaN in every float type.
class GuardedBuffer {
public:
  /// `aligned`: the buffer starts at a multiple of 64 bytes, so it may end up to 63 bytes before
  /// the unmapped page.
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

/// Runs a kernel function given as text: a module with one func.func with the attribute nn.family,
/// as passes/kernels/Partition.h makes it. Buffers are guarded, blocked tensors are packed (padding
/// lanes are NaN) and unpacked, and constants are packed as the kernel requires.
class KernelUnderTest {
public:
  /// `text` is the text of a module or of a kernel function. `seed` determines how the work items are divided over
  /// slots.
  KernelUnderTest(const std::string &text, const Target &target, uint64_t seed = 1, int threads = 1);
  ~KernelUnderTest();

  mlir::func::FuncOp function() const { return func; }
  KernelProblem problem() const {
    return {{.threads = threads, .precision = precision, .relaxedMath = relaxedMath}, func, target};
  }

  Precision precision = Precision::fp32; // precision for which the prior chooses schedules
  bool relaxedMath = false;
  // called with the generated kernel before it is compiled; may be empty
  std::function<void(mlir::ModuleOp)> change;

  /// Returns the reason why the family declines the kernel, with the prior's schedule or with `schedule`; "" if it
  /// does not.
  std::string declined(const std::string &schedule = "");
  /// Generates the kernel with the schedule of the prior, or with `schedule`, and runs it on
  /// row-major tensors. Returns row-major results. Throws Error if the kernel is declined.
  std::vector<Tensor> run(std::span<const Tensor> inputs, const std::string &schedule = "");
  /// Returns the results of the kernel function that the reference operators compute.
  std::vector<Tensor> expected(std::span<const Tensor> inputs) {
    return evaluated(inputs, [](Tensor x, size_t) { return x; }).results;
  }

  /// Results of the reference operators for changed operands, and the largest |value| of the anchor's result. `change`
  /// is applied to the operands of products: the first two of a contraction, the first three of attention; `operand`
  /// is their number.
  struct Evaluated {
    std::vector<Tensor> results;
    double largestAnchor = 0;
  };
  Evaluated evaluated(std::span<const Tensor> inputs, const std::function<Tensor(Tensor, size_t operand)> &change);
  /// Returns the largest sum of magnitudes of the products in the kernel's contraction (f32). Rounding errors are
  /// relative to this sum, not to the result, whose terms may cancel.
  double largestSum(std::span<const Tensor> inputs);
  /// Random arguments for the kernel: floats and integers in [lo, hi], with the given values of symbols.
  std::vector<Tensor> randomInputs(double lo, double hi, const std::map<std::string, int64_t> &symbols = {});

  /// Counts the cache lines of the results that `slots` equal shares of the work write: all lines, lines that several
  /// slots write, and lines of the slot that writes the most.
  struct Lines {
    int64_t written = 0, shared = 0, most = 0;
  };
  Lines lines(std::span<const Tensor> inputs, int slots);

private:
  struct Prepared;

public:
  /// The code of one schedule of the kernel with its operands. It can be checked and timed in turn with other
  /// schedules of the same kernel.
  class Trial {
  public:
    ~Trial();
    /// Computes all work items of the kernel on the threads of `pool`; `scratch` has at least scratchBytes(pool).
    void call(runtime::ThreadPool &pool, char *scratch) const;
    int64_t scratchBytes(const runtime::ThreadPool &pool) const;
    /// Evicts the packed operands from the caches (x86 only), as in a network whose other layers evict the weights.
    void evictPacked() const;
    void spoilResults() const;           // overwrites the results, so that a test notices results that are not computed
    std::vector<Tensor> results() const; // the results as row-major tensors

  private:
    friend KernelUnderTest;
    Trial(std::unique_ptr<Prepared> prepared);
    std::unique_ptr<Prepared> prepared;
  };
  /// Makes a trial whose buffers are aligned as in a program. `like`: another trial with the same inputs, whose
  /// buffers are used again except for packed operands; it must outlive the new trial.
  std::unique_ptr<Trial> trial(std::span<const Tensor> inputs, const std::string &schedule, const Trial *like);

private:
  /// `aligned`: buffers start at multiples of 64 bytes.
  std::unique_ptr<Prepared> prepare(std::span<const Tensor> inputs, const std::string &schedule, bool aligned = false,
                                    const Prepared *like = nullptr);

  Target target;
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp func;
  std::mt19937_64 random;
  int threads;
};

/// Describes the first difference between two tensors: shape, type, or an element with |got - expected| > tolerance *
/// (|expected| + max(largest |expected|, least)). Returns "" if there is none. NaN equals NaN.
std::string difference(const Tensor &got, const Tensor &expected, double tolerance, double least = 0);

/// Runs a kernel given as text on random inputs in [lo, hi] and compares the results with those of the reference
/// operators. Returns "" if they agree, else the reason for declining, or the difference.
std::string checkKernel(const std::string &text, const Target &target, uint64_t seed, double tolerance, double lo = -2,
                        double hi = 2, const std::string &schedule = "",
                        const std::map<std::string, int64_t> &symbols = {});

} // namespace lathe
