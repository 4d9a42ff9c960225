// Kernels of family "indexed": operators that read or write at positions that other tensors or windows give.
//
// All positions are in range, because the runtime checks them before the kernel starts (runtime/plan/ElementRanges.h).
#pragma once

#include "codegen/builder/KernelHarness.h"
#include "codegen/space/LoopFacts.h"

namespace lathe {

/// The generator of a kernel that consists of one operator of family "indexed". Constructors throw Declined.
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
  /// Makes the kernel treat elements of `moved` as bits. They are copied, never computed with.
  void moveBits(std::initializer_list<KernelTensor *> moved) const;
  /// Emits the conversion of `index`, an element of `indices` or a vector of elements, to an i64 that counts from the
  /// front of an axis of `extent`: a negative index counts from the end.
  static mlir::Value fromFront(KernelHarness &h, const KernelTensor &indices, mlir::Value index, const Dim &extent);
  /// Emits the offset in `tensor` that index vector `number` of `indices` selects. The vector has `count` coordinates,
  /// the first of them for axis `batch`.
  static mlir::Value offsetOf(KernelHarness &h, const KernelTensor &tensor, const KernelTensor &indices,
                              mlir::Value number, size_t batch, int64_t count);
  /// Number of lanes for code that processes `length` consecutive elements of the result y.
  int64_t lanesFor(const Dim &length) const;
};

std::unique_ptr<IndexedKernel> makeGridSample(const KernelProblem &problem);
std::unique_ptr<IndexedKernel> makeRoiAlign(const KernelProblem &problem);
std::unique_ptr<IndexedKernel> makeMaxPoolIndices(const KernelProblem &problem);
std::unique_ptr<IndexedKernel> makeCol2Im(const KernelProblem &problem);
std::unique_ptr<IndexedKernel> makeScatter(const KernelProblem &problem);

/// Adds the extents, strides and number of elements of a tensor to `extents`, the list of what the code needs at run
/// time.
void addTensor(Dims &extents, const KernelTensor &tensor);
/// Returns dims[first] * dims[first + 1] * ...
Dim productFrom(const Dims &dims, size_t first);

/// Number of channel blocks that are computed together: a divisor of `blocks`, so that no blocks remain.
int64_t blocksTogether(int64_t blocks);

} // namespace lathe
