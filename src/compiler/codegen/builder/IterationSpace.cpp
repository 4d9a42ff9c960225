#include "codegen/builder/IterationSpace.h"

#include "codegen/builder/ChannelLayout.h"
#include "ir/SymbolicShapes.h"
#include "support/DimForms.h"

#include <algorithm>

namespace lathe {

KernelTensors::KernelTensors(const KernelProblem &problem) {
  mlir::func::FuncOp function = problem.function;
  auto describe = [&](mlir::Value value, unsigned buffer, Dims dims) {
    KernelTensor tensor{buffer, nn::infoOf(value).type, dims, nn::storedDims(function, buffer, dims), 0, 0, value,
                        false};
    for (const Dim &dim : tensor.dims)
      if (isUnknown(dim))
        throw Declined{"an extent is not known before the kernel runs"};
    if (bitWidth(tensor.type) < 8)
      throw Declined{fmt::format("no kernels for elements of type {}", lathe::name(tensor.type))};
    if (auto layout = nn::layoutOf(value)) {
      if (layout.getAxis() != 1 || tensor.rank() < 2 || !tensor.dims[1].isConstant())
        throw Declined{"blocked along another axis than static channels"};
      ChannelLayout channels = channelLayout(value, problem.target.channelBlock(tensor.type));
      tensor.block = channels.block;
      tensor.last = channels.last;
    }
    return tensor;
  };
  nn::SymbolicShapes shapes(function);
  for (mlir::BlockArgument argument : function.getArguments()) {
    inputs.push_back(describe(argument, argument.getArgNumber(), shapes.of(argument).dims));
    inputs.back().constant = function.getArgAttr(argument.getArgNumber(), "nn.constant") != nullptr;
  }
  auto results = function.getBody().front().getTerminator()->getOperands();
  for (mlir::Value result : results)
    outputs.push_back(describe(result, inputs.size() + outputs.size(), shapes.of(result).dims));
  agreeOnBlocks();
}

/// One block of all channels has the same memory as one channel block. Beside such tensors, it counts as a block.
void KernelTensors::agreeOnBlocks() {
  int64_t block = 0;
  for (auto *list : {&inputs, &outputs})
    for (const KernelTensor &tensor : *list)
      if (!tensor.last)
        block = std::max(block, tensor.block);
  for (auto *list : {&inputs, &outputs})
    for (KernelTensor &tensor : *list)
      if (block && tensor.last == block) {
        tensor.block = block;
        tensor.last = 0;
      }
}

const KernelTensor *KernelTensors::input(mlir::Value value) const {
  for (const KernelTensor &tensor : inputs)
    if (tensor.value == value)
      return &tensor;
  return nullptr;
}

std::vector<bool> KernelTensors::writable() const {
  std::vector<bool> result(inputs.size(), false);
  result.resize(inputs.size() + outputs.size(), true);
  return result;
}

void KernelTensors::makeChannelsAnAxis() {
  bool last = false, whole = true;
  for (auto *list : {&inputs, &outputs})
    for (const KernelTensor &tensor : *list) {
      last |= tensor.last != 0;
      whole &= !tensor.block || tensor.last || tensor.dims[1].constant() <= tensor.block;
    }
  if (!last || !whole)
    return;
  for (auto *list : {&inputs, &outputs})
    for (KernelTensor &tensor : *list) {
      tensor.last = tensor.last ? tensor.last : tensor.block;
      tensor.block = 0;
    }
}

Dims memoryStrides(const KernelTensor &tensor) {
  Dims strides(tensor.rank());
  Dim stride = tensor.last ? tensor.last : tensor.block ? tensor.block : 1;
  for (size_t i = tensor.rank(); i-- > 0;) {
    if (tensor.last && i == 1) {
      strides[i] = tensor.block ? tensor.block : 1;
      continue;
    }
    strides[i] = stride;
    stride = stride * (tensor.block && i == 1 ? ceilDiv(tensor.stored[1], tensor.block) : tensor.stored[i]);
  }
  return strides;
}

Dim memoryElements(const KernelTensor &tensor) {
  Dim result = tensor.last ? tensor.last : tensor.block ? tensor.block : 1;
  for (size_t i = 0; i < tensor.rank(); ++i)
    result = result * (tensor.last && i == 1    ? Dim(1)
                       : tensor.block && i == 1 ? ceilDiv(tensor.stored[1], tensor.block)
                                                : tensor.stored[i]);
  return result;
}

Space::Space(const Dims &dims, int64_t block) : extents(dims), block(block) {
  if (extents.empty())
    extents.push_back(1); // a scalar is one element
  if (!block)
    return;
  channels = dims[1].constant();
  blockAxis = 1;
  extents[1] = ceilDiv(dims[1], block);
  extents.push_back(block);
}

Access Space::access(const KernelTensor &tensor) const {
  size_t rank = extents.size() - (block ? 1 : 0);
  if (tensor.rank() > rank)
    throw Declined{fmt::format("a tensor of rank {} in a kernel over rank {}", tensor.rank(), rank)};
  std::vector<size_t> axes(tensor.rank());
  for (size_t i = 0; i < axes.size(); ++i)
    axes[i] = rank - tensor.rank() + i;
  return access(tensor, axes);
}

Access Space::access(const KernelTensor &tensor, const std::vector<size_t> &axes) const {
  if (tensor.block && tensor.block != block)
    throw Declined{fmt::format("a tensor in blocks of {} channels in a kernel over {}", tensor.block,
                               block ? fmt::format("blocks of {}", block) : std::string("row-major tensors"))};
  Access result{&tensor, Dims(extents.size(), Dim(0)), 0, false};
  Dims strides = memoryStrides(tensor);
  for (size_t i = 0; i < tensor.rank(); ++i) {
    size_t axis = axes[i];
    bool channelAxis = block && axis == 1;
    Dim extent = channelAxis ? Dim(channels) : extents[axis];
    if (tensor.dims[i] == Dim(1) && !(channelAxis && channels == 1)) // a single channel still is one lane of several
      continue;
    bool mayVary = !(tensor.dims[i] == extent); // at run time the extent may differ from 1
    if (mayVary && (channelAxis || !(broadcastDim(tensor.dims[i], extent) == extent)))
      throw Declined{fmt::format("extents {} and {} meet in one kernel", tensor.dims[i].str(), extent.str())};
    if (tensor.block && (i == 1) != channelAxis)
      throw Declined{"blocked channels meet another axis"};
    if (!channelAxis) {
      result.strides[axis] = mayVary ? strides[i] * varies(tensor.dims[i]) : strides[i];
    } else if (tensor.block) {
      result.strides[axis] = strides[i];
      result.strides.back() = 1;
    } else {
      result.strides[axis] = strides[i] * block;
      result.strides.back() = strides[i];
      result.partial = channels % block != 0;
    }
  }
  return result;
}

void Space::moveBlocksInside(const std::vector<Access *> &accesses) {
  auto isLast = [](const Access *access) { return access->tensor->last && access->tensor->block; };
  if (!block || extents.size() < 3 || std::none_of(accesses.begin(), accesses.end(), isLast))
    return;
  auto move = [&](Dims &dims) {
    auto from = dims.begin() + static_cast<ptrdiff_t>(blockAxis);
    std::rotate(from, from + 1, dims.end() - 1);
  };
  move(extents);
  for (Access *access : accesses)
    move(access->strides);
  blockAxis = extents.size() - 2;
}

void Space::collapse(std::vector<Access *> accesses, std::vector<int> *kinds) {
  if (!kinds)
    moveBlocksInside(accesses);
  bool partial = false;
  for (Access *access : accesses)
    partial |= access->partial;
  auto erase = [&](size_t axis) {
    extents.erase(extents.begin() + axis);
    for (Access *access : accesses)
      access->strides.erase(access->strides.begin() + axis);
    if (kinds)
      kinds->erase(kinds->begin() + axis);
    if (block && blockAxis > axis)
      --blockAxis;
  };
  auto mergeable = [&](size_t axis) { // mergeable with the next axis
    if (kinds && (*kinds)[axis] != (*kinds)[axis + 1])
      return false;
    if (block && partial && (axis == blockAxis || axis + 1 == blockAxis || axis + 2 == extents.size()))
      return false;
    for (Access *access : accesses)
      if (!(access->strides[axis] == access->strides[axis + 1] * extents[axis + 1]))
        return false;
    return true;
  };
  for (size_t i = extents.size(); i-- > 0;)
    if (extents.size() > 1 && extents[i] == Dim(1) && !(partial && i == blockAxis))
      erase(i);
  for (size_t i = extents.size() - 1; i-- > 0;)
    if (mergeable(i)) {
      extents[i + 1] = extents[i] * extents[i + 1];
      if (block && blockAxis == i)
        ++blockAxis; // erased below: the merged axis takes its place
      erase(i);
      if (block && !partial && i == extents.size() - 1)
        block = 0; // the channels of a block are no longer a separate axis
    }
  if (!partial && block && extents.back().constantOr(0) != block)
    block = 0;
}

int64_t blockOf(const KernelTensors &tensors) {
  int64_t block = 0;
  for (auto *list : {&tensors.inputs, &tensors.outputs})
    for (const KernelTensor &tensor : *list)
      if (tensor.block) {
        if (block && block != tensor.block)
          throw Declined{fmt::format("blocks of {} and of {} channels in one kernel", block, tensor.block)};
        block = tensor.block;
      }
  return block;
}

Units cutUnits(const Space &space, int64_t grain, int64_t granule, size_t limit) {
  return cutUnits(space.extents, grain, granule, limit);
}

} // namespace lathe
