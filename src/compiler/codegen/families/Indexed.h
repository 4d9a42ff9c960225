// Kernels of family "indexed": operators that read or write at positions which other tensors hold, or which windows give.
//
// Positions are in range: the runtime checks those that must be before the kernel starts (runtime/plan/ElementRanges.h).
#pragma once

#include "codegen/builder/KernelHarness.h"
#include "codegen/space/LoopFacts.h"

namespace lathe {

/// One operator that is a kernel of its own. Constructors throw Declined.
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
  /// Lets elements of `tensors`, with which nothing is computed, be bits.
  void moveBits(std::initializer_list<KernelTensor *> moved) const;
  /// `index`, an element of `indices` or a vector of them, as an i64 that counts from the front.
  static mlir::Value fromFront(KernelHarness &h, const KernelTensor &indices, mlir::Value index, const Dim &extent);
  /// The offset in `tensor` that index vector `number` of `count` coordinates names, the first for axis `batch`.
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

/// Adds extents, strides and the number of elements of a tensor to those that code needs.
void addTensor(Dims &extents, const KernelTensor &tensor);
/// The product of dims[first], dims[first + 1], ...
Dim productFrom(const Dims &dims, size_t first);

/// Blocks of channels that are computed together: a divisor of `blocks`, so that none are left.
int64_t blocksTogether(int64_t blocks);

} // namespace lathe
