// Pieces of movement kernels (codegen/families/Copy.h) for what a strided copy cannot do: shifts between channel
// blocks, gather, padding, and storing integers that are known at the call.
#pragma once

#include "codegen/families/Copy.h"

namespace lathe {

/// Makes the piece that copies all channels of `from` (blocked) to channel `offset` of `to` and the channels after it.
/// Nothing else may write these channels.
std::unique_ptr<Piece> makeChannelConcat(const KernelTensor &from, const KernelTensor &to, int64_t offset,
                                         const Target &target, int64_t grain);
/// Makes the piece that copies channel `start` of `from` and the channels after it to all channels of `to`; both are
/// blocked.
std::unique_ptr<Piece> makeChannelSlice(const KernelTensor &from, const KernelTensor &to, int64_t start,
                                        const Target &target, int64_t grain);

/// The channels [start, start + count) of a blocked tensor.
struct ChannelRun {
  const KernelTensor *from;
  int64_t start, count;
};
/// Makes pieces that fill all channels of `to` with the channels of `runs`, one run after the other. All block sizes
/// are equal. Returns one piece per block of `to`.
std::vector<std::unique_ptr<Piece>> makeChannelJoin(const std::vector<ChannelRun> &runs, const KernelTensor &to,
                                                    const Target &target, int64_t grain);

/// Makes the piece that gathers slices of x at run-time indices (i32 or i64 by their width) along `axis`. Negative
/// indices count from the end. An index outside the axis is clamped (the reference reports an error).
std::unique_ptr<Piece> makeGather(const KernelTensor &x, const KernelTensor &indices, const KernelTensor &y,
                                  int64_t axis, const Target &target, int64_t grain);

/// Makes the piece that stores numbers to y: y[i] = numbers[i]. The numbers are 64-bit integers that are known when
/// the kernel is called.
std::unique_ptr<Piece> makeNumbers(Dims numbers, const KernelTensor &y);

/// Makes the piece that computes nn.pad. `begins` are the pads before each axis; `type` is the original element type;
/// `value` is the tensor with the padding value, or null.
std::unique_ptr<Piece> makePad(const KernelTensor &x, const KernelTensor &y, const PadAttrs &attrs, const Dims &begins,
                               ElementType type, const KernelTensor *value, const Target &target, int64_t grain);

} // namespace lathe
