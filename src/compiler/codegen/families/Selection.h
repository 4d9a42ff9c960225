// Shared by the kernels of family "selection": the operator, its tensors, and masks as integers.
#pragma once

#include "codegen/Families.h"
#include "codegen/builder/KernelHarness.h"

namespace lathe {

/// The only operator of a kernel, with its tensors in the order of the record.
struct SelectionKernel {
  SelectionKernel(const KernelProblem &problem, int64_t grain);

  const KernelProblem &problem;
  KernelTensors tensors;
  mlir::Operation *op;
  int64_t grain;
  std::vector<std::optional<KernelTensor>> operands; // none: an optional operand that is absent
  std::string_view name;

  const KernelTensor &in(size_t index) const { return *operands[index]; }
  const KernelTensor &out(size_t index) const { return tensors.outputs[index]; }
  int64_t lanes(ElementType type) const { return problem.target.lanes(bitWidth(type)); }
};

/// The lanes of a mask as the bits of an i64, lane 0 lowest.
mlir::Value bitsOf(KernelBuilder &k, mlir::Value mask);
/// Number of bits that are set.
mlir::Value countBits(KernelBuilder &k, mlir::Value bits);
/// Emits body(i, number of the bit) for the i-th bit that is set, lowest first.
void forBits(KernelBuilder &k, mlir::Value bits, const std::function<void(mlir::Value, mlir::Value)> &body);

/// The sum of the i64 elements [0, count) of a tensor.
mlir::Value sumBefore(KernelBuilder &k, const KernelTensor &counts, mlir::Value count);

// One function for each operator. Every kernel needs at least one work item if its results have elements.
GeneratedKernel countNonZero(const SelectionKernel &kernel, const Schedule &schedule);
GeneratedKernel nonZeroPositions(const SelectionKernel &kernel, const Schedule &schedule);
GeneratedKernel iota(const SelectionKernel &kernel, const Schedule &schedule);
GeneratedKernel selectBoxes(const SelectionKernel &kernel, const Schedule &schedule);
GeneratedKernel selectedBoxes(const SelectionKernel &kernel, const Schedule &schedule);
GeneratedKernel distinct(const SelectionKernel &kernel, const Schedule &schedule);

} // namespace lathe
