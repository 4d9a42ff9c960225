// Block sizes of the blocked layout of tensors (channels in blocks).
#pragma once

#include "support/ElementType.h"

#include "mlir/IR/Value.h"

#include <map>

namespace lathe {

/// Sizes of channel blocks for the blocked layout, by element type. Values of a type without an entry stay row-major,
/// because no kernel reads or writes blocks of it.
struct ChannelBlocks {
  std::map<ElementType, int64_t> sizes = {{ElementType::f32, 16}};
  /// True: all channels form one block, filled up to a multiple of the size, so the channels of a position lie next to
  /// each other (channels last).
  bool last = false;

  /// Block size for values of type `type`: the number of channels in a vector; 0: values of the type stay row-major.
  int64_t of(ElementType type) const;
  /// Block size for the type of `value`; 0 unless the value has rank 3 to 5 and a known number of channels.
  int64_t of(mlir::Value value) const;
};

} // namespace lathe
