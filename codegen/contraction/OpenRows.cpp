#include "codegen/contraction/OpenRows.h"

namespace lathe {

OpenRows::OpenRows(const DirectPlan &plan) {
  const ConvGeometry &conv = plan.conv;
  int64_t reach = (plan.px - 1) * conv.stride[2], step = conv.stride[1]; // of a tile
  packed = conv.taps() == 1 && !conv.padded();
  // Columns that are unrolled are all computed (DirectGenerator), and so is a row of taps that is one reduction.
  bool bounded = conv.inBlock && plan.kc >= 2 * plan.unroll;
  before = bounded ? std::min(conv.padBegin[2], reach) : conv.padBegin[2];
  after = bounded ? std::min(conv.open->padEnd[2], reach) : conv.open->padEnd[2];
  constexpr int64_t narrow = 4; // positions of the narrowest tiles that are fast
  int64_t padding = std::max(conv.padBegin[2], conv.open->padEnd[2]);
  bool must = before < conv.padBegin[2] || after < conv.open->padEnd[2];
  skipsTaps = must || (bounded && padding >= narrow * conv.stride[2]);
  if (packed) {
    columns = conv.outExtent(2);
    plane = minimum(Dim(plan.rows), conv.outExtent(1)) * columns;
  } else {
    int64_t most = (plan.rows - 1) * step + (conv.kernel[1] - 1) * conv.dilation[1] + 1;
    columns = conv.inExtent(2) + Dim(before + after);
    plane = minimum(Dim(most), conv.inExtent(1)) * columns;
  }
  elements = plane * Dim(conv.storedChannels());
}

OpenRowsCopy::OpenRowsCopy(KernelBuilder &k, const DirectPlan &plan, const OpenRows &held, const RunTimeDims &dims)
    : k(k), plan(plan), conv(plan.conv), held(held), dims(dims),
      type(bitWidth(conv.inputType) == 16 ? ElementType::i16 : conv.inputType),
      pixel(conv.inBlock ? conv.inBlock : conv.inChannels), inColumns(value(conv.inExtent(2))),
      inPlane(value(conv.inPlane())) {}

void OpenRowsCopy::emit(Value imageOfRows, Value first, Value last) {
  image = imageOfRows;
  columns = held.packed ? value(conv.outExtent(2)) : inColumns;
  if (held.packed) {
    firstHeld = first;
    rows = k.sub(last, first);
  } else {
    Value none = k.constant(0), all = value(conv.inExtent(1));
    auto rowOf = [&](Value row, int64_t tap) {
      return k.add(windowAt(k, conv, dims, 1, row), tap * conv.dilation[1] - conv.padBegin[1]);
    };
    firstHeld = k.min(k.max(rowOf(first, 0), none), all);
    Value end = k.add(rowOf(k.sub(last, k.constant(1)), conv.kernel[1] - 1), 1);
    rows = k.sub(k.min(k.max(end, firstHeld), all), firstHeld);
  }
  conv.inBlock ? copyBlocks() : copyPlanes();
}

/// Offset in the input, in elements, of row number `row` in scratch; `plane`: that of its block or channel.
mlir::Value OpenRowsCopy::source(Value plane, Value row) {
  int64_t element = conv.inBlock ? conv.inBlock : 1;
  Value at = k.add(firstHeld, row);
  if (held.packed)
    at = k.mul(at, conv.stride[1]);
  Value offset = k.add(k.mul(image, value(conv.inPlane() * Dim(conv.storedChannels()))), plane);
  return k.add(offset, k.mul(k.mul(at, inColumns), element));
}

void OpenRowsCopy::clear(Value to, int64_t elements) {
  int64_t lanes = conv.inBlock ? conv.inBlock : 1;
  mlir::Type element = k.memoryType(type);
  Value zero = k.zero(lanes > 1 ? mlir::Type(KernelBuilder::vectorOf(element, lanes)) : element);
  k.loop(k.constant(0), k.constant(elements), lanes, [&](Value i) { k.store(zero, k.scratch(), k.add(to, i), type); });
}

/// All rows of a plane of the input, with zeros on both sides. `to`: the first position in scratch.
void OpenRowsCopy::copyRows(Value plane, Value to) {
  Value heldColumns = value(held.columns);
  k.loop(k.constant(0), rows, 1, [&](Value row) {
    Value at = k.mul(k.add(to, k.mul(row, heldColumns)), pixel);
    Value first = held.packed ? at : k.add(at, held.before * pixel);
    if (!held.packed)
      clear(at, held.before * pixel);
    conv.inBlock ? copyRow(source(plane, row), first) : interleaveRow(source(plane, row), first);
    if (!held.packed)
      clear(k.add(first, k.mul(columns, pixel)), held.after * pixel);
  });
}

void OpenRowsCopy::copyBlocks() {
  int64_t block = conv.inBlock;
  Value heldPlane = value(held.plane);
  k.loop(k.constant(0), k.constant(conv.storedChannels() / block), 1, [&](Value number) {
    Value plane = k.mul(k.mul(number, inPlane), block), to = k.mul(number, heldPlane);
    copyRows(plane, to);
  });
}

/// Vectors of positions, four of them side by side.
void OpenRowsCopy::copyRow(Value from, Value to) {
  constexpr int64_t together = 4;
  int64_t block = conv.inBlock, step = held.packed ? conv.stride[2] : 1;
  auto copy = [&](Value column, int64_t count) {
    KernelBuilder::Values vectors;
    for (int64_t i = 0; i < count; ++i) {
      Value at = k.add(from, k.mul(k.add(column, i), step * block));
      vectors.push_back(k.load(k.buffer(conv.input), at, type, block));
    }
    for (int64_t i = 0; i < count; ++i)
      k.store(vectors[i], k.scratch(), k.add(to, k.mul(k.add(column, i), block)), type);
  };
  Value whole = k.mul(k.div(columns, together), together);
  k.loop(k.constant(0), whole, together, [&](Value column) { copy(column, together); });
  k.loop(whole, columns, 1, [&](Value column) { copy(column, 1); });
}

void OpenRowsCopy::copyPlanes() {
  Value heldPlane = value(held.plane);
  k.loop(k.constant(0), k.constant(conv.groups), 1, [&](Value group) {
    Value plane = k.mul(k.mul(group, inPlane), conv.inChannels), to = k.mul(group, heldPlane);
    copyRows(plane, to);
  });
}

/// The channels of each position side by side.
void OpenRowsCopy::interleaveRow(Value from, Value to) {
  int64_t step = held.packed ? conv.stride[2] : 1;
  auto single = [&] {
    k.loop(k.constant(0), k.constant(conv.inChannels), 1, [&](Value channel) {
      Value plane = k.add(from, k.mul(channel, inPlane)), place = k.add(to, channel);
      k.loop(k.constant(0), columns, 1, [&](Value column) {
        Value element = k.load(k.buffer(conv.input), k.add(plane, k.mul(column, step)), type);
        k.store(element, k.scratch(), k.add(place, k.mul(column, pixel)), type);
      });
    });
  };
  constexpr int64_t mostShuffled = 4; // channels: a vector takes as many shuffles
  if (step > 1 || conv.inChannels > mostShuffled)
    return single();
  k.ifThen(k.less(columns, k.constant(plan.lanes)), single, [&] { interleaveVectors(from, to); });
}

/// Vectors of positions of each channel, the last ones at the end of the row.
void OpenRowsCopy::interleaveVectors(Value from, Value to) {
  int64_t lanes = plan.lanes, channels = conv.inChannels;
  Value last = k.sub(columns, k.constant(lanes));
  k.loop(k.constant(0), columns, lanes, [&](Value column) {
    Value at = k.min(column, last);
    KernelBuilder::Values planes;
    for (int64_t c = 0; c < channels; ++c)
      planes.push_back(k.load(k.buffer(conv.input), k.add(k.add(from, k.mul(inPlane, c)), at), type, lanes));
    for (int64_t part = 0; part < channels; ++part) { // of the positions of one vector
      Value vector = planes[0];
      for (int64_t c = 0; c < channels && channels > 1; ++c) {
        llvm::SmallVector<int64_t> from;
        for (int64_t lane = 0; lane < lanes; ++lane) {
          int64_t element = part * lanes + lane, position = element / channels;
          bool own = element % channels == c;
          from.push_back(c == 0 ? (own ? position : 0) : own ? lanes + position : lane);
        }
        vector = k.b.create<mlir::vector::ShuffleOp>(k.loc, vector, planes[c], from);
      }
      k.store(vector, k.scratch(), k.add(k.mul(at, pixel), k.add(to, part * lanes)), type);
    }
  });
}

} // namespace lathe
