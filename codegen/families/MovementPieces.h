// Pieces of movement kernels that are more than a copy between two sets of strides.
#pragma once

#include "codegen/families/Copy.h"

namespace lathe {

/// Channels of `from` (blocked) to channels offset, offset + 1, ... of `to`, which nobody else writes.
std::unique_ptr<Piece> makeChannelConcat(const KernelTensor &from, const KernelTensor &to, int64_t offset,
                                         const Target &target, int64_t grain);
/// All channels of `to` from channels start, start + 1, ... of `from`, both blocked.
std::unique_ptr<Piece> makeChannelSlice(const KernelTensor &from, const KernelTensor &to, int64_t start,
                                        const Target &target, int64_t grain);

/// Channels start, start + 1, ... of a blocked tensor.
struct ChannelRun {
  const KernelTensor *from;
  int64_t start, count;
};
/// The runs one behind the other are all channels of `to`, blocked as they are: a piece for each of its blocks.
std::vector<std::unique_ptr<Piece>> makeChannelJoin(const std::vector<ChannelRun> &runs, const KernelTensor &to,
                                                    const Target &target, int64_t grain);

/// Slices of x at run-time indices (i32 or i64 by their width) along `axis`. Negative indices count from the end; an
/// index outside the axis reads its nearest end (the reference reports an error instead).
std::unique_ptr<Piece> makeGather(const KernelTensor &x, const KernelTensor &indices, const KernelTensor &y,
                                  int64_t axis, const Target &target, int64_t grain);

/// y[i] = numbers[i]: 64-bit integers that are known when the kernel is called.
std::unique_ptr<Piece> makeNumbers(Dims numbers, const KernelTensor &y);

/// nn.pad. `type`: of the elements before they became raw; `value`: tensor that holds the padding value, or null.
std::unique_ptr<Piece> makePad(const KernelTensor &x, const KernelTensor &y, const PadAttrs &attrs, ElementType type,
                               const KernelTensor *value, const Target &target, int64_t grain);

} // namespace lathe
