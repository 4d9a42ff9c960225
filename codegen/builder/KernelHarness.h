// What the loop-shaped kernel families share: the kernel's tensors, run-time extents, vector loops with masked tails,
// loads and stores through strides, and the element-wise part (epilogue) of a kernel's body.
#pragma once

#include "codegen/builder/IterationSpace.h"
#include "codegen/builder/Scalar.h"

namespace lathe {

class KernelHarness {
public:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;

  /// `extents`: all that code will need at run time (constants are skipped); see `extent`.
  KernelHarness(const KernelProblem &problem, const KernelTensors &tensors, const Dims &extents);

  KernelBuilder k;
  const KernelTensors &tensors;

  /// A run-time extent as a value.
  Value extent(const Dim &dim);
  /// offset + index * stride
  Value advance(Value offset, Value index, const Dim &stride);
  Value divide(Value x, Value y); // both non-negative
  Value remainder(Value x, Value y);

  /// Indices of the axes `extents` at position `number` in row-major order.
  Values unravel(Value number, const Dims &extents);

  /// Runs body(first indices, lo, hi) for every unit of this slot: one index for every axis before `units.axis`, a
  /// range of that axis.
  void forUnits(const Space &space, const Units &units, const std::function<void(Values, Value lo, Value hi)> &body);
  /// Likewise for units [first, last).
  void forUnits(const Space &space, const Units &units, Value first, Value last,
                const std::function<void(Values, Value lo, Value hi)> &body);

  /// body(index) for lo <= index < hi; `unroll` copies an iteration, side by side (KernelBuilder::sideBySide) if asked.
  void forUnrolled(Value lo, Value hi, int64_t unroll, const std::function<void(Value)> &body, bool sideBySide = false);
  /// body(index, mask) for runs of `lanes` from lo to hi, copied likewise; mask is null for whole runs. The last run
  /// may be masked.
  void forVectors(Value lo, Value hi, int64_t lanes, int64_t unroll, const std::function<void(Value, Value)> &body,
                  bool sideBySide = false);

  /// The elements of `access` at offset and along the last axis: a scalar where they do not vary, otherwise a vector of
  /// `lanes` (1: a scalar).
  Value load(const Access &access, Value offset, int64_t lanes, Value mask = {});
  /// Elements at offset + steps[lane], `steps` a vector of i64.
  Value gather(const KernelTensor &tensor, Value offset, Value steps, Value mask = {});
  void store(const Access &access, Value value, Value offset, int64_t lanes, Value mask = {});
  /// Lanes that hold channels in block `blockIndex` of a space whose last block is not full.
  Value channelMask(const Space &space, Value blockIndex);
  Value both(Value mask, Value otherMask); // null: all lanes

  /// All lanes of a vector (two or more), halves put together until one is left.
  Value across(ElementType type, Value vector, const std::function<Value(ScalarBuilder &, Value, Value)> &merge);

  ScalarBuilder scalar(ElementType type, Value like) { return ScalarBuilder(k, type, type, like); }

  GeneratedKernel finish(const Schedule &schedule, Dim units, Dim scratchBytes = 0);

private:
  Dims runtime;
  Value allLanes(int64_t lanes);
  /// 0, stride, 2 * stride ... as a vector.
  Value laneSteps(const Dim &stride, int64_t lanes);
  /// Addresses base[offset + steps[lane]].
  Value pointers(Value base, Value offset, Value steps, mlir::Type memory);
};

/// Extents of a space and strides of accesses, as KernelHarness wants them.
Dims extentsOf(const Space &space, const std::vector<Access> &accesses);

/// Number of element-wise operations in the body, by which families choose how far to unroll.
int64_t countOps(mlir::func::FuncOp function);
/// The only operation of the body that is not element-wise (constants aside). Declines when there is not exactly one.
mlir::Operation *soleAnchor(mlir::func::FuncOp function);
/// Declines when an operation of the body is neither `anchor` nor element-wise with a scalar lowering.
void requirePointwise(mlir::func::FuncOp function, mlir::Operation *anchor);
/// Declines element types that no arithmetic is made for.
void requireComputed(ElementType type);
void requireComputed(const KernelTensors &tensors);

/// An argument that only the anchor may read, and why.
struct Unread {
  const KernelTensor *tensor = nullptr;
  const char *reason = "";
};
/// Makes the element-wise part of a kernel once, in a kernel that is thrown away: what has no code declines here, and
/// not while a schedule's kernel is made. `more`: values of the body that are needed beside the results; may be null.
void tryPointwise(const KernelProblem &problem, const KernelTensors &tensors, mlir::Operation *anchor = nullptr,
                  const Unread &unread = {}, const std::vector<mlir::Value> &more = {});

} // namespace lathe
