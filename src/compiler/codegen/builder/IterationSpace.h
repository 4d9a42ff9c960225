// The iteration space of a kernel's loops, and the strides of its tensors in that space. Only arithmetic on
// extents; this file emits no code.
//
// A space has one axis per logical axis of the tensor it is made for. For a blocked tensor, axis 1 counts
// blocks of channels, and an additional last axis runs over the channels of a block. Tensors have a stride
// in elements for each axis, 0 along axes where they broadcast.
#pragma once

#include "codegen/Generate.h"
#include "codegen/builder/KernelBuilder.h"
#include "codegen/space/LoopFacts.h"

namespace lathe {

/// A tensor that the kernel reads or writes.
struct KernelTensor {
  unsigned buffer = 0;
  ElementType type = ElementType::invalid;
  Dims dims;
  Dims stored;       // extents in memory, at least `dims`: a tensor that grows in place has gaps after its rows
  int64_t block = 0; // channels per block; 0: row-major
  // if the channels are last (ChannelLayout.h): elements from one position to the next; otherwise 0
  int64_t last = 0;
  mlir::Value value; // argument or returned value of the kernel function that this tensor is
  bool constant = false;

  size_t rank() const { return dims.size(); }
};

/// The tensors of a kernel function: its arguments and results. Buffers are numbered through the arguments, then the
/// results.
struct KernelTensors {
  /// Lists the tensors of a kernel. Declines layouts other than #nn.blocked<1, B>, data-dependent extents, and
  /// elements smaller than a byte.
  explicit KernelTensors(const KernelProblem &problem);
  std::vector<KernelTensor> inputs, outputs;

  /// Returns the tensor of `value` if it is an argument of the kernel function, else null.
  const KernelTensor *input(mlir::Value value) const;
  std::vector<bool> writable() const;
  /// Turns the channels of all tensors into an ordinary axis if a tensor has its channels last and no other tensor has
  /// several blocks of channels. Then no tensor is blocked.
  void makeChannelsAnAxis();

private:
  void agreeOnBlocks();
};

/// Distances in memory, in elements, along each logical axis of a tensor. Axis 1 of a blocked tensor has the distance
/// of two blocks.
Dims memoryStrides(const KernelTensor &tensor);
/// Number of elements that a tensor takes in memory, padding included.
Dim memoryElements(const KernelTensor &tensor);

/// A tensor with its strides in an iteration space.
struct Access {
  const KernelTensor *tensor = nullptr;
  Dims strides; // strides in elements, by axis of the iteration space
  Dim base = 0; // offset in elements of the tensor's element at the origin of the space
  /// True for a row-major tensor in a blocked space with a partial last block: the tensor has no elements for the
  /// lanes of that block beyond the last channel.
  bool partial = false;
};

struct Space {
  Dims extents;
  int64_t block = 0;    // in a blocked space: channels of a block, which is the extent of the last axis; else 0
  int64_t channels = 0; // in a blocked space: number of channels
  size_t blockAxis = 0; // in a blocked space: index of the axis that counts blocks

  Space() = default;
  /// Makes the iteration space of a tensor with the extents `dims`. `block`: channels per block; 0: row-major.
  Space(const Dims &dims, int64_t block);

  /// Returns the strides of `tensor` when it is broadcast to the space by the rules of NumPy (axes aligned at the
  /// right). Declines if no strides describe it.
  Access access(const KernelTensor &tensor) const;
  /// Returns the strides of `tensor` in the space; axis i of the tensor is the logical axis `axes[i]` of the space.
  Access access(const KernelTensor &tensor, const std::vector<size_t> &axes) const;

  /// Removes axes of extent 1 from the space and merges adjacent axes that every access can traverse as one. Does not
  /// merge axes with different `kinds`; updates `kinds`. At least one axis remains. Without `kinds`, also moves the
  /// axis of blocks next to the axis of their channels if a tensor has its channels last.
  void collapse(std::vector<Access *> accesses, std::vector<int> *kinds = nullptr);

private:
  void moveBlocksInside(const std::vector<Access *> &accesses);
};

/// Returns the block size of the blocked inputs and outputs of a kernel; 0 if none is blocked. Declines tensors with
/// different block sizes.
int64_t blockOf(const KernelTensors &tensors);

/// Divides the space into work items: calls cutUnits (codegen/space/LoopFacts.h) with the extents of the space.
Units cutUnits(const Space &space, int64_t grain, int64_t granule, size_t limit);

} // namespace lathe
