// What the kernels of family "selection" share: the operator, its tensors, and masks as integers.
#pragma once

#include "codegen/Families.h"
#include "codegen/builder/KernelHarness.h"

namespace lathe {

/// A kernel of family "selection", which has one operator, and the operator's tensors in the order of the record.
struct SelectionKernel {
  SelectionKernel(const KernelProblem &problem, int64_t grain);

  const KernelProblem &problem;
  KernelTensors tensors;
  mlir::Operation *op;
  int64_t grain;
  /// Operands of the operator; empty: an optional operand that is absent.
  std::vector<std::optional<KernelTensor>> operands;
  std::string_view name;

  const KernelTensor &in(size_t index) const { return *operands[index]; }
  const KernelTensor &out(size_t index) const { return tensors.outputs[index]; }
  int64_t lanes(ElementType type) const { return problem.target.lanes(bitWidth(type)); }
};

/// Emits the conversion of a mask's lanes to the bits of an i64; lane 0 is the lowest bit.
mlir::Value bitsOf(KernelBuilder &k, mlir::Value mask);
/// Emits the number of bits of `bits` that are set.
mlir::Value countBits(KernelBuilder &k, mlir::Value bits);
/// Emits a loop with body(i, position of the bit) for the i-th bit of `bits` that is set, lowest first.
void forBits(KernelBuilder &k, mlir::Value bits, const std::function<void(mlir::Value, mlir::Value)> &body);

/// Emits the sum of the first `count` elements of a tensor of i64.
mlir::Value sumBefore(KernelBuilder &k, const KernelTensor &counts, mlir::Value count);

// Each function below generates the kernel of one operator. Every kernel needs at least one work item if its results
// have elements.
GeneratedKernel countNonZero(const SelectionKernel &kernel, const Schedule &schedule);
GeneratedKernel nonZeroPositions(const SelectionKernel &kernel, const Schedule &schedule);
GeneratedKernel iota(const SelectionKernel &kernel, const Schedule &schedule);
GeneratedKernel selectBoxes(const SelectionKernel &kernel, const Schedule &schedule);
GeneratedKernel selectedBoxes(const SelectionKernel &kernel, const Schedule &schedule);
GeneratedKernel distinct(const SelectionKernel &kernel, const Schedule &schedule);

} // namespace lathe
