// Kernels of family "indexed": operators that read or write at positions from other tensors or from windows.
//
// Positions are in range: the runtime checks given positions before the kernel starts (runtime/plan/ElementRanges.h).
#pragma once

#include "codegen/builder/KernelHarness.h"
#include "codegen/space/LoopFacts.h"

namespace lathe {

/// One operator that forms a whole kernel. Constructors throw Declined.
class IndexedKernel {
public:
  explicit IndexedKernel(const KernelProblem &problem);
  virtual ~IndexedKernel() = default;
  virtual void describe(GrainFacts &facts) const = 0;
  virtual GeneratedKernel generate(const Schedule &schedule) = 0;

protected:
  const KernelProblem &problem;
  KernelTensors tensors;
  mlir::Operation *op;
  std::vector<KernelTensor> operands;
  KernelTensor y;

  const KernelTensor &x() const { return operands[0]; }
  void requireRowMajor() const;
  /// Treats elements of `moved`, which are copied but not computed with, as bits.
  void moveBits(std::initializer_list<KernelTensor *> moved) const;
  /// `index`, an element of `indices` or a vector of elements, as a non-negative i64.
  static mlir::Value fromFront(KernelHarness &h, const KernelTensor &indices, mlir::Value index, const Dim &extent);
  /// The offset in `tensor` that index vector `number` selects. It has `count` coordinates, the first for axis `batch`.
  static mlir::Value offsetOf(KernelHarness &h, const KernelTensor &tensor, const KernelTensor &indices,
                              mlir::Value number, size_t batch, int64_t count);
  /// Lanes for runs of `length` elements of y.
  int64_t lanesFor(const Dim &length) const;
};

std::unique_ptr<IndexedKernel> makeGridSample(const KernelProblem &problem);
std::unique_ptr<IndexedKernel> makeRoiAlign(const KernelProblem &problem);
std::unique_ptr<IndexedKernel> makeMaxPoolIndices(const KernelProblem &problem);
std::unique_ptr<IndexedKernel> makeCol2Im(const KernelProblem &problem);
std::unique_ptr<IndexedKernel> makeScatter(const KernelProblem &problem);

/// Adds the extents, strides and number of elements of a tensor to the run-time extents of the code.
void addTensor(Dims &extents, const KernelTensor &tensor);
/// The product of dims[first], dims[first + 1], ...
Dim productFrom(const Dims &dims, size_t first);

/// Number of channel blocks that are computed together: a divisor of `blocks`, so that no blocks remain.
int64_t blocksTogether(int64_t blocks);

} // namespace lathe
