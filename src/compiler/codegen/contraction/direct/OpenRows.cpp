#include "codegen/contraction/direct/OpenRows.h"

#include "codegen/contraction/common/FormatCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {

OpenRows::OpenRows(const DirectPlan &plan) {
  const ConvGeometry &conv = plan.conv;
  int64_t reach = (plan.px - 1) * conv.stride[2], step = conv.stride[1]; // of a tile
  packed = conv.taps() == 1 && !conv.padded();
  merged = conv.mergesOpenRows();
  // Columns that are unrolled are all computed (OpenDirectConv.cpp), and so is a row of taps that is one reduction.
  bool bounded = conv.inBlock && plan.kc >= 2 * plan.unroll;
  before = bounded ? std::min(conv.padBegin[2], reach) : conv.padBegin[2];
  after = bounded ? std::min(conv.open->padEnd[2], reach) : conv.open->padEnd[2];
  constexpr int64_t narrow = 4; // positions of the narrowest tiles that are fast
  int64_t padding = std::max(conv.padBegin[2], conv.open->padEnd[2]);
  bool must = before < conv.padBegin[2] || after < conv.open->padEnd[2];
  skipsTaps = must || (bounded && padding >= narrow * conv.stride[2]);
  if (merged) {
    columns = conv.outPlane();
    plane = minimum(Dim(2 * plan.rows * plan.rowWidth), columns); // OpenDirectExtents::chunks
  } else if (packed) {
    columns = conv.outExtent(2);
    plane = minimum(Dim(plan.rows), conv.outExtent(1)) * columns;
  } else {
    int64_t most = (plan.rows - 1) * step + (conv.kernel[1] - 1) * conv.dilation[1] + 1;
    columns = conv.inExtent(2) + Dim(before + after);
    plane = minimum(Dim(most), conv.inExtent(1)) * columns;
  }
  units =
      plane * Dim(conv.inBlock ? conv.storedChannels() / conv.inBlock * plan.blockUnits() : conv.groups * plan.steps);
}

OpenRowsCopy::OpenRowsCopy(KernelBuilder &k, const DirectPlan &plan, const OpenRows &held, const RunTimeDims &dims)
    : k(k), plan(plan), conv(plan.conv), held(held), dims(dims),
      type(bitWidth(conv.inputType) == 16 ? ElementType::i16 : conv.inputType),
      to(plan.format.converts ? plan.format.element : type),
      pixel(conv.inBlock ? conv.inBlock : plan.steps * (plan.format.converts ? plan.format.group : 1)),
      inColumns(value(conv.inExtent(2))), inPlane(value(conv.inPlane())) {
  Value none;
  if (conv.inputZero)
    none = k.load(k.buffer(*conv.inputZero), k.constant(0), type);
  else
    none = k.zero(k.computeType(type));
  if (!plan.format.correctsSums() && conv.inputZero) {
    outside = k.zero(k.computeType(to));
    zero = converted(none);
  } else {
    outside = converted(none);
  }
}

/// Elements of the input, one or a vector of them, as those of scratch. Formats that correct sums get the bytes with
/// the sign that products take, others the differences from the zero point.
mlir::Value OpenRowsCopy::converted(Value elements) {
  if (!converts())
    return elements;
  auto vector = llvm::dyn_cast<mlir::VectorType>(elements.getType());
  auto all = [&](Value scalar) { return vector ? k.splat(scalar, vector.getNumElements()) : scalar; };
  if (plan.format.correctsSums()) {
    if (!addedTo(k.target, type))
      return elements;
    Value high = k.b.create<mlir::arith::ConstantOp>(k.loc, k.b.getIntegerAttr(k.b.getIntegerType(8), -128));
    return k.b.create<mlir::arith::XOrIOp>(k.loc, elements, all(high));
  }
  mlir::Type wide = k.computeType(to);
  if (vector)
    wide = KernelBuilder::vectorOf(wide, vector.getNumElements());
  Value result = isUnsignedInteger(type) ? k.b.create<mlir::arith::ExtUIOp>(k.loc, wide, elements).getResult()
                                         : k.b.create<mlir::arith::ExtSIOp>(k.loc, wide, elements).getResult();
  return zero ? k.b.create<mlir::arith::SubIOp>(k.loc, result, all(zero)).getResult() : result;
}

void OpenRowsCopy::emit(Value imageOfRows, Value first, Value last) {
  image = imageOfRows;
  columns = held.packed ? value(conv.outExtent(2)) : inColumns;
  if (held.merged) {
    firstHeld = first;
    rows = k.constant(1);
    columns = k.sub(last, first);
  } else if (held.packed) {
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

/// Offset in the input, in elements, of row number `row` in scratch; `plane`: offset of its block or channel.
mlir::Value OpenRowsCopy::source(Value plane, Value row) {
  int64_t element = conv.inBlock ? conv.inBlock : 1;
  Value at = k.add(firstHeld, row);
  if (held.packed)
    at = k.mul(at, conv.stride[1]);
  Value offset = k.add(k.mul(image, value(conv.inPlane() * Dim(conv.storedChannels()))), plane);
  if (held.merged)
    return k.add(offset, k.mul(at, element));
  return k.add(offset, k.mul(k.mul(at, inColumns), element));
}

void OpenRowsCopy::clear(Value first, int64_t elements) {
  int64_t lanes = conv.inBlock ? conv.inBlock : 1;
  Value padding = lanes > 1 ? k.splat(outside, lanes) : outside;
  k.loop(k.constant(0), k.constant(elements), lanes,
         [&](Value i) { k.store(padding, k.scratch(), k.add(first, i), to); });
}

/// All rows of a plane of the input, with padding on both sides. `place`: the first position in scratch.
void OpenRowsCopy::copyRows(Value plane, Value place) {
  Value heldColumns = value(held.columns);
  k.loop(k.constant(0), rows, 1, [&](Value row) {
    Value at = k.mul(k.add(place, k.mul(row, heldColumns)), pixel);
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
void OpenRowsCopy::copyRow(Value from, Value place) {
  constexpr int64_t together = 4;
  int64_t block = conv.inBlock, step = held.packed ? conv.stride[2] : 1;
  auto copy = [&](Value column, int64_t count) {
    if (converts() && step == 1) { // bytes of several positions are one vector
      Value elements = k.load(k.buffer(conv.input), k.add(from, k.mul(column, block)), type, count * block);
      return k.store(converted(elements), k.scratch(), k.add(place, k.mul(column, block)), to);
    }
    Values vectors;
    for (int64_t i = 0; i < count; ++i) {
      Value at = k.add(from, k.mul(k.add(column, i), step * block));
      vectors.push_back(k.load(k.buffer(conv.input), at, type, block));
    }
    for (int64_t i = 0; i < count; ++i)
      k.store(converted(vectors[i]), k.scratch(), k.add(place, k.mul(k.add(column, i), block)), to);
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
void OpenRowsCopy::interleaveRow(Value from, Value first) {
  int64_t step = held.packed ? conv.stride[2] : 1;
  auto single = [&] {
    k.loop(k.constant(0), k.constant(conv.inChannels), 1, [&](Value channel) {
      Value plane = k.add(from, k.mul(channel, inPlane)), place = k.add(first, channel);
      k.loop(k.constant(0), columns, 1, [&](Value column) {
        Value element = k.load(k.buffer(conv.input), k.add(plane, k.mul(column, step)), type);
        k.store(converted(element), k.scratch(), k.add(place, k.mul(column, pixel)), to);
      });
    });
  };
  constexpr int64_t mostShuffled = 4; // units: a vector takes as many shuffles
  if (step > 1 || plan.steps > mostShuffled)
    return single();
  k.ifThen(k.less(columns, k.constant(plan.lanes)), single, [&] { interleaveVectors(from, first); });
}

/// A vector of positions from `column` on for each unit of the channels.
OpenRowsCopy::Values OpenRowsCopy::unitsOf(Value from, Value column) {
  int64_t group = converts() ? plan.format.group : 1;
  Values units, channels;
  for (int64_t c = 0; c < conv.inChannels; ++c) {
    Value plane = k.load(k.buffer(conv.input), k.add(k.add(from, k.mul(inPlane, c)), column), type, plan.lanes);
    channels.push_back(converted(plane));
    if (int64_t(channels.size()) == group || c + 1 == conv.inChannels) {
      units.push_back(converts() ? units::interleaved(k, plan.format, channels) : channels[0]);
      channels.clear();
    }
  }
  return units;
}

/// Vectors of positions of each channel, the last ones at the end of the row.
void OpenRowsCopy::interleaveVectors(Value from, Value first) {
  int64_t lanes = plan.lanes, channels = plan.steps; // or units of them
  ElementType unit = converts() ? plan.format.unit : to;
  Value last = k.sub(columns, k.constant(lanes)), start = converts() ? k.div(first, plan.format.group) : first;
  k.loop(k.constant(0), columns, lanes, [&](Value column) {
    Value at = k.min(column, last);
    Values planes = unitsOf(from, at);
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
      k.store(vector, k.scratch(), k.add(k.mul(at, channels), k.add(start, part * lanes)), unit);
    }
  });
}

} // namespace lathe
