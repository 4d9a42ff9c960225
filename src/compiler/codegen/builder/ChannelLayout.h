// Where the channels of a value lie in memory, as kernels address them.
#pragma once

#include "ir/Bridge.h"

namespace lathe {

/// The memory layout of a tensor's channels. Kernels read and write channels in vectors of `block`. In the blocked
/// layout, the vectors of one block of channels lie one after the other for all positions; with channels last, all
/// vectors of a position lie next to each other.
struct ChannelLayout {
  int64_t block = 0; // number of channels per block; 0: row-major
  int64_t last = 0;  // if the channels are last: elements from one position to the next; otherwise 0
};

/// Returns the channel layout of `value` for kernels with vectors of `lanes` channels. #nn.blocked<1, B> with a larger
/// B, a multiple of `lanes`, means one block of all channels: the channels are last, and the lanes after the last
/// channel are unspecified.
inline ChannelLayout channelLayout(mlir::Value value, int64_t lanes) {
  nn::BlockedAttr layout = nn::layoutOf(value);
  if (!layout)
    return {};
  int64_t size = layout.getSize();
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  bool whole = type && layout.getAxis() == 1 && type.getRank() > 1 && !type.isDynamicDim(1) &&
               type.getDimSize(1) <= size && size > lanes && size % lanes == 0;
  return whole ? ChannelLayout{lanes, size} : ChannelLayout{size, 0};
}

} // namespace lathe
