// Kernel functions as text, and the facts of kernel functions given as text; for tests and benchmarks.
#pragma once

#include "codegen/Generate.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>

namespace lathe {

/// Text of the kernel function of a 3x3 convolution with a padding of 1 over `size` x `size` pixels, in blocks of 16
/// channels. `batch`: a number, or ? for a batch that is known at run time.
std::string conv3x3(int64_t channels, int64_t outputs, int64_t size, const std::string &batch = "1");
/// Text of the kernel function of a product of m x k inputs with k x n weights.
std::string product(int64_t m, int64_t n, int64_t k);
/// Text of the kernel function of one elementwise operator, such as "relu".
std::string elementwise(const std::string &op, int64_t elements);

/// The facts of a kernel function given as text, with the objects that the facts point to. Registers the lowerings.
struct TextFacts {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module; // facts of the kernel function; null: the family declines it
  std::unique_ptr<KernelFacts> facts;       // facts of the function; null: the family declines it
  std::string reason;                       // the reason why there are no facts

  TextFacts(const std::string &text, const Target &target, int threads = 1, bool exactMath = false);
};

/// Facts of a kernel function given as text, which must be readable. Throws Error for a text that cannot be read, and
/// for a kernel that no schedule computes.
struct TaskFacts : TextFacts {
  TaskFacts(const std::string &text, const Target &target, int threads = 1);
};

} // namespace lathe
