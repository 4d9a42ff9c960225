// Block sizes of the blocked layout.
#pragma once

#include "support/ElementType.h"

#include "mlir/IR/Value.h"

#include <map>

namespace lathe {

/// Channels per block of blocked values, by element type. Values of a type without an entry stay row-major: no kernel
/// reads or writes blocks of it.
struct ChannelBlocks {
  std::map<ElementType, int64_t> sizes = {{ElementType::f32, 16}};
  /// One block of all channels, filled up to a multiple of the size: the channels of a position lie next to each other.
  bool last = false;

  /// Block size for values of `type`, the channels of a vector; 0: they stay row-major.
  int64_t of(ElementType type) const;
  /// Block size for `value`; 0 unless it has rank 3 to 5, known channels and a type with blocks.
  int64_t of(mlir::Value value) const;
};

} // namespace lathe
