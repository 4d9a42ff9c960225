// Base class for kernel families that are loops over elements: tensors, run-time extents, vector loops with masked
// tails, strided loads and stores, and the element-wise part (epilogue) of the body.
#pragma once

#include "codegen/builder/IterationSpace.h"
#include "codegen/builder/Scalar.h"

namespace lathe {

class KernelHarness {
public:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;

  /// Begins a kernel. `extents` are all extents that the function `extent` will be asked for; constants among them are
  /// ignored.
  KernelHarness(const KernelProblem &problem, const KernelTensors &tensors, const Dims &extents);

  KernelBuilder k;
  const KernelTensors &tensors;

  /// The value of the extent `dim` in the kernel: a constant, or a number that the caller passes at run time.
  Value extent(const Dim &dim);
  /// Returns the offset plus index * stride, in elements.
  Value advance(Value offset, Value index, const Dim &stride);
  Value divide(Value x, Value y); // unsigned quotient; neither operand may be negative
  Value remainder(Value x, Value y);

  /// Converts the position `number` in row-major order to an index along each of the axes with extents `extents`.
  Values unravel(Value number, const Dims &extents);

  /// Emits a loop that calls body(first indices, lo, hi) for every work item of this thread's share. A work item has
  /// one index of every axis before `units.axis`, and the range [lo, hi) of that axis.
  void forUnits(const Space &space, const Units &units, const std::function<void(Values, Value lo, Value hi)> &body);
  /// Emits a loop that calls body(first indices, lo, hi) as above, but for the work items [first, last).
  void forUnits(const Space &space, const Units &units, Value first, Value last,
                const std::function<void(Values, Value lo, Value hi)> &body);

  /// Emits a loop of body(index) for lo <= index < hi. An iteration has `unroll` copies of the body; with `sideBySide`
  /// their instructions are interleaved (KernelBuilder::sideBySide).
  void forUnrolled(Value lo, Value hi, int64_t unroll, const std::function<void(Value)> &body, bool sideBySide = false);
  /// Emits body(index, mask) for vectors of `lanes` from lo to hi, unrolled as in forUnrolled.
  /// `mask` is null for whole vectors; the last vector may be masked.
  void forVectors(Value lo, Value hi, int64_t lanes, int64_t unroll, const std::function<void(Value, Value)> &body,
                  bool sideBySide = false);

  /// Loads elements of the tensor of `access` from `offset` along the last axis of the space: a scalar if the access
  /// does not vary along this axis, else a vector of `lanes` (1: a scalar).
  Value load(const Access &access, Value offset, int64_t lanes, Value mask = {});
  /// Loads one element of a tensor for each lane, at offset + steps[lane]; `steps` is a vector of i64.
  Value gather(const KernelTensor &tensor, Value offset, Value steps, Value mask = {});
  void store(const Access &access, Value value, Value offset, int64_t lanes, Value mask = {});
  /// Returns a mask of the lanes that hold channels in block `blockIndex`, in a space whose last block of channels is
  /// partial.
  Value channelMask(const Space &space, Value blockIndex);
  Value both(Value mask, Value otherMask); // "and" of two masks; a null mask has all lanes

  /// Reduces all lanes of a vector of at least two lanes to one value by merging halves.
  Value across(ElementType type, Value vector, const std::function<Value(ScalarBuilder &, Value, Value)> &merge);

  ScalarBuilder scalar(ElementType type, Value like) { return ScalarBuilder(k, type, type, like); }

  GeneratedKernel finish(const Schedule &schedule, Dim units, Dim scratchBytes = 0);

private:
  Dims runtime;
  Value allLanes(int64_t lanes);
  /// Returns the vector 0, stride, 2 * stride, ... with `lanes` elements.
  Value laneSteps(const Dim &stride, int64_t lanes);
  /// Returns the address base[offset + steps[lane]] for each lane.
  Value pointers(Value base, Value offset, Value steps, mlir::Type memory);
};

/// Returns the extents of a space and the strides of accesses, for the constructor of KernelHarness.
Dims extentsOf(const Space &space, const std::vector<Access> &accesses);

/// Number of element-wise operations in the body of a kernel function, from which kernel families choose how far to
/// unroll.
int64_t countOps(mlir::func::FuncOp function);
/// Returns the anchor of a kernel: the only operation of its body that is neither element-wise nor a constant.
/// Declines if there is not exactly one.
mlir::Operation *soleAnchor(mlir::func::FuncOp function);
/// Declines unless every operation in the body of a kernel is `anchor` or element-wise with a scalar lowering.
void requirePointwise(mlir::func::FuncOp function, mlir::Operation *anchor);
/// Declines element types on which kernels cannot compute.
void requireComputed(ElementType type);
void requireComputed(const KernelTensors &tensors);

/// A tensor that only the anchor of a kernel may read, and the reason to decline if another operation reads it.
struct Unread {
  const KernelTensor *tensor = nullptr;
  const char *reason = "";
};
/// Checks that the element-wise part of a kernel can be generated, by generating it in a temporary kernel: an
/// operation that is not supported is then declined now and not while a schedule is generated. `more` are values of
/// the body that are needed besides the results; they may be null.
void tryPointwise(const KernelProblem &problem, const KernelTensors &tensors, mlir::Operation *anchor = nullptr,
                  const Unread &unread = {}, const std::vector<mlir::Value> &more = {});

} // namespace lathe
