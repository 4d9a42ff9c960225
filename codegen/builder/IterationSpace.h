// What the loops of a kernel run over, and how each tensor lies below them. Plain arithmetic on extents: no code is
// emitted here.
//
// A space has one axis a logical axis of the tensor it is made for; where a tensor is blocked, axis 1 counts blocks of
// channels and one more axis, the last, runs through the channels of a block. Tensors are seen through strides (in
// elements) by axis, 0 where they are broadcast.
#pragma once

#include "codegen/Generate.h"
#include "codegen/builder/KernelBuilder.h"

namespace lathe {

/// A tensor the kernel reads or writes.
struct KernelTensor {
  unsigned buffer = 0;
  ElementType type = ElementType::invalid;
  Dims dims;
  int64_t block = 0; // channels in a block; 0: row-major
  mlir::Value value; // the function's argument, or the value it returns
  bool constant = false;

  size_t rank() const { return dims.size(); }
};

/// Buffers of a kernel function: its arguments, then its results.
struct KernelTensors {
  /// Declines layouts other than #nn.blocked<1, B>, extents no formula gives, and elements of less than a byte.
  explicit KernelTensors(mlir::func::FuncOp function);
  std::vector<KernelTensor> inputs, outputs;

  /// The argument `value` is; null for others.
  const KernelTensor *input(mlir::Value value) const;
  std::vector<bool> writable() const;
};

/// Strides of a tensor in its own memory, by logical axis; a blocked tensor's axis 1 is that of blocks.
Dims memoryStrides(const KernelTensor &tensor);
/// Elements in memory, padding included.
Dim memoryElements(const KernelTensor &tensor);

/// A tensor as the loops of one space see it.
struct Access {
  const KernelTensor *tensor = nullptr;
  Dims strides; // by axis of the space
  Dim base = 0; // offset of the origin
  bool partial =
      false; // row-major below a blocked space whose last block is not full: lanes beyond the channels are not there
};

struct Space {
  Dims extents;
  int64_t block = 0;    // extent of the last axis where it is channels of a block, otherwise 0
  int64_t channels = 0; // where blocked
  size_t blockAxis = 0; // the axis that counts blocks, where blocked

  Space() = default;
  /// The space of a tensor with these extents; `block` 0: row-major.
  Space(const Dims &dims, int64_t block);

  /// `tensor` broadcast to the space as NumPy does: axes aligned at the right. Declines what strides cannot say.
  Access access(const KernelTensor &tensor) const;
  /// Likewise with axis i of the tensor on logical axis `axes[i]`.
  Access access(const KernelTensor &tensor, const std::vector<size_t> &axes) const;

  /// Drops axes of extent 1 and merges neighbours that every access walks as one. `kinds`: axes of different kind stay
  /// apart (updated likewise). At least one axis is left.
  void collapse(std::vector<Access *> accesses, std::vector<int> *kinds = nullptr);
};

/// The block of any blocked tensor among inputs and outputs, otherwise 0. Declines two block sizes.
int64_t blockOf(const KernelTensors &tensors);

/// How a space is cut into the units of the parallel range: the axes before `axis` one index each, `axis` itself in
/// runs of `chunk`, the axes behind it whole.
struct Units {
  size_t axis = 0;
  int64_t chunk = 1;
  Dim chunks = 1; // along `axis`
  Dim count = 1;
};
/// At most about `grain` elements a unit, counting only axes in [0, limit). `granule`: the last axis is cut at
/// multiples of it.
Units cutUnits(const Space &space, int64_t grain, int64_t granule, size_t limit);

} // namespace lathe
