// The input of `direct` in formats that convert operands: a range of rows as units in scratch, and what corrects sums for
// zero points (codegen/space/ContractionFormat.h).
#include "codegen/contraction/direct/DirectConv.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {

/// The input rows of a range as units in scratch: blocked [block][position][unit], row-major [group][unit][position].
void DirectGenerator::convertInput() {
  Value rows = k.min(k.sub(k.constant(conv.in[0] * conv.in[1]), firstHeld), k.constant(plan.heldRows()));
  Value pixels = k.mul(rows, conv.in[2]);
  Value from = k.add(k.mul(image, conv.inImageStride()), k.mul(firstHeld, conv.in[2] * conv.inPixelStride()));
  conv.inBlock ? convertBlocks(from, pixels) : convertPlanes(from, pixels);
  if (plan.sumsPositions())
    sumPositions(pixels);
}

/// Converts whole blocks of consecutive positions, several at once. Returns how many of `pixels` positions these are;
/// the last ones may be left.
mlir::Value DirectGenerator::convertPixels(Value source, Value to, Value pixels) {
  constexpr int64_t together = 4;
  Value whole = k.mul(k.div(pixels, together), together), zero16;
  mlir::Type i16 = k.b.getIntegerType(16);
  if (conv.inputZero) {
    Value zero = k.load(k.buffer(*conv.inputZero), k.constant(0), conv.inputType);
    zero16 = k.splat(k.b.create<mlir::arith::TruncIOp>(k.loc, i16, units::widened(k, zero, conv.inputType)),
                     together * conv.inBlock);
  }
  mlir::VectorType wide = KernelBuilder::vectorOf(i16, together * conv.inBlock);
  k.loop(k.constant(0), whole, together, [&](Value pixel) {
    Value vector = k.load(k.buffer(conv.input), k.add(source, k.mul(pixel, conv.inBlock)), conv.inputType,
                          together * conv.inBlock);
    vector = isUnsignedInteger(conv.inputType) ? k.b.create<mlir::arith::ExtUIOp>(k.loc, wide, vector).getResult()
                                               : k.b.create<mlir::arith::ExtSIOp>(k.loc, wide, vector).getResult();
    if (zero16)
      vector = k.b.create<mlir::arith::SubIOp>(k.loc, vector, zero16);
    Value at = k.gep(k.scratch(), k.add(to, k.mul(pixel, plan.pixelStride())), k.computeType(plan.format.unit));
    k.b.create<mlir::LLVM::StoreOp>(k.loc, vector, at, plan.format.unitBytes());
  });
  return whole;
}

void DirectGenerator::convertBlocks(Value from, Value pixels) {
  int64_t channels = conv.groups * conv.inChannels, whole = channels / conv.inBlock, rest = channels % conv.inBlock;
  auto convertBlock = [&](Value block, int64_t valid) {
    Value source = k.add(from, k.mul(block, conv.inChannelStride() * conv.inBlock));
    Value to = k.mul(block, plan.heldBlockUnits());
    // Pairs of i16 that lie one behind the other need no vector of i32.
    bool dense = plan.format.element == ElementType::i16 && valid == conv.inBlock && !conv.inLast;
    Value first = dense ? convertPixels(source, to, pixels) : k.constant(0);
    k.loop(first, pixels, 1, [&](Value pixel) {
      Value at = k.add(source, k.mul(pixel, conv.inPixelStride()));
      // Lanes without a channel may hold anything, and zero times that is not always zero.
      Value vector = valid == conv.inBlock ? k.load(k.buffer(conv.input), at, conv.inputType, plan.lanes)
                                           : k.maskedLoad(k.buffer(conv.input), at, conv.inputType, plan.lanes,
                                                          k.prefixMask(k.constant(valid), plan.lanes));
      vector = units::operand(k, plan.format, vector, conv.inputType, zeroPoint);
      units::storeNeighbours(k, plan.format, vector, k.scratch(), k.add(to, k.mul(pixel, plan.pixelStride())));
    });
  };
  k.loop(k.constant(0), k.constant(whole), 1, [&](Value block) { convertBlock(block, conv.inBlock); });
  if (rest)
    convertBlock(k.constant(whole), rest);
}

void DirectGenerator::convertPlanes(Value from, Value pixels) {
  int64_t group = plan.format.group;
  k.loop(k.constant(0), k.constant(conv.groups), 1, [&](Value g) {
    auto convertUnit = [&](Value unit, int64_t channels) { // of `channels` planes
      Value source = k.add(from, k.mul(k.add(k.mul(g, conv.inChannels), k.mul(unit, group)), conv.inPixels()));
      Value to = k.mul(k.add(k.mul(g, plan.steps), unit), plan.heldPixels());
      auto convert = [&](Value pixel, Value mask) {
        Values planes;
        for (int64_t channel = 0; channel < channels; ++channel) {
          Value at = k.add(source, k.add(pixel, channel * conv.inPixels()));
          Value plane = mask ? k.maskedLoad(k.buffer(conv.input), at, conv.inputType, plan.lanes, mask)
                             : k.load(k.buffer(conv.input), at, conv.inputType, plan.lanes);
          planes.push_back(units::operand(k, plan.format, plane, conv.inputType, zeroPoint));
        }
        units::storeInterleaved(k, plan.format, planes, k.scratch(), k.add(to, pixel));
      };
      Value whole = k.mul(k.div(pixels, plan.lanes), plan.lanes);
      k.loop(k.constant(0), whole, plan.lanes, [&](Value pixel) { convert(pixel, {}); });
      k.ifThen(k.less(whole, pixels), [&] { convert(whole, k.prefixMask(k.sub(pixels, whole), plan.lanes)); });
    };
    k.loop(k.constant(0), k.constant(conv.inChannels / group), 1, [&](Value unit) { convertUnit(unit, group); });
    if (conv.inChannels % group)
      convertUnit(k.constant(conv.inChannels / group), conv.inChannels % group);
  });
}

/// Stores the sums of the weights times minus the excess of the input (units::correction()), once for all positions.
void DirectGenerator::multiplyCorrections() {
  int64_t from = conv.groups * plan.groupStride();
  k.loop(k.constant(0), k.constant(plan.weightSums()), plan.lanes, [&](Value at) {
    Value weights = k.load(k.buffer(conv.weights), k.add(at, from), plan.format.sum, plan.lanes);
    Value less = k.b.create<mlir::arith::MulIOp>(k.loc, weights, correction);
    k.store(less, k.scratch(), k.add(at, plan.correctionsAt()), plan.format.sum);
  });
}

/// The numbers of `pixels` positions in scratch (DirectPlan::sumsPositions).
void DirectGenerator::sumPositions(Value pixels) {
  // The last vector is computed and stored whole: scratch has room behind the last position for what it reads and
  // writes.
  k.loop(k.constant(0), pixels, plan.lanes, [&](Value pixel) {
    Value number = conv.weightsZero ? zeroPointPart(pixel) : units::integer(k, 0, plan.lanes);
    if (addsOperands(plan.format))
      number = k.b.create<mlir::arith::SubIOp>(k.loc, number, ofPositions(productsOfBlocks(pixel)));
    k.store(number, k.scratch(), k.add(pixel, plan.positionSumsAt()), plan.format.sum);
  });
}

/// For the positions from `pixel` on: minus the zero point of the weights, times the sum of the input without its own
/// zero points.
mlir::Value DirectGenerator::zeroPointPart(Value pixel) {
  Value ones = units::integer(k, plan.format.unitOfOnes(), plan.lanes);
  Value scalar =
      units::widened(k, k.load(k.buffer(*conv.weightsZero), k.constant(0), conv.weightsType), conv.weightsType);
  Value factor = k.splat(k.b.create<mlir::arith::SubIOp>(k.loc, units::integer(k, 0), scalar), plan.lanes);
  Value sum = ofPositions(conv.inBlock ? sumsOfBlocks(pixel, ones) : sumsOfPlanes(pixel, ones));
  return k.b.create<mlir::arith::MulIOp>(k.loc, k.b.create<mlir::arith::SubIOp>(k.loc, sum, inAllElements()), factor);
}

/// Adds up adjacent lanes of one vector after the other, which are parts of one position.
mlir::Value DirectGenerator::ofPositions(Values parts) {
  llvm::SmallVector<int64_t> even, odd;
  for (int64_t i = 0; i < plan.lanes; ++i) {
    even.push_back(2 * i);
    odd.push_back(2 * i + 1);
  }
  while (parts.size() > 1) {
    Values half;
    for (size_t i = 0; i < parts.size(); i += 2)
      half.push_back(k.b.create<mlir::arith::AddIOp>(
          k.loc, k.b.create<mlir::vector::ShuffleOp>(k.loc, parts[i], parts[i + 1], even),
          k.b.create<mlir::vector::ShuffleOp>(k.loc, parts[i], parts[i + 1], odd)));
    parts = std::move(half);
  }
  return parts[0];
}

/// The products of each two units of a position that are added to weights together, in the lane of the first unit; laid
/// out as in sumsOfBlocks.
DirectGenerator::Values DirectGenerator::productsOfBlocks(Value pixel) {
  int64_t count = plan.blockUnits(), blocks = plan.heldUnits() / plan.heldBlockUnits();
  llvm::SmallVector<int64_t> second; // of two units, and zeros
  for (int64_t i = 0; i < plan.lanes; ++i)
    second.push_back(i % 2 ? plan.lanes : i + 1);
  Value first = k.mul(pixel, count), zero = units::integer(k, 0, plan.lanes);
  return k.loop(k.constant(0), k.constant(blocks), 1, micro.zeros(count), [&](Value block, mlir::ValueRange carried) {
    Values sums(carried.begin(), carried.end());
    Value at = k.add(first, k.mul(block, plan.heldBlockUnits()));
    for (int64_t i = 0; i < count; ++i) {
      Value units = k.load(k.scratch(), k.add(at, i * plan.lanes), plan.format.unit, plan.lanes);
      Value others = k.b.create<mlir::vector::ShuffleOp>(k.loc, units, zero, second);
      sums[i] = units::multiplyAdd(k, plan.format, units, others, sums[i]);
    }
    return sums;
  });
}

/// Sums over all blocks of as many positions as a vector has lanes, from `pixel` on: a vector of sums for each unit of
/// a block, of which a position has as many adjacent ones.
DirectGenerator::Values DirectGenerator::sumsOfBlocks(Value pixel, Value ones) {
  int64_t count = plan.blockUnits(), blocks = plan.heldUnits() / plan.heldBlockUnits();
  Value first = k.mul(pixel, count);
  return k.loop(k.constant(0), k.constant(blocks), 1, micro.zeros(count), [&](Value block, mlir::ValueRange carried) {
    Values sums(carried.begin(), carried.end());
    Value at = k.add(first, k.mul(block, plan.heldBlockUnits()));
    for (int64_t i = 0; i < count; ++i)
      sums[i] = units::multiplyAdd(
          k, plan.format, k.load(k.scratch(), k.add(at, i * plan.lanes), plan.format.unit, plan.lanes), ones, sums[i]);
    return sums;
  });
}

/// The same for row-major units: one vector with a position per lane.
DirectGenerator::Values DirectGenerator::sumsOfPlanes(Value pixel, Value ones) {
  return k.loop(k.constant(0), k.constant(plan.steps), 1, micro.zeros(1), [&](Value unit, mlir::ValueRange carried) {
    Value at = k.add(pixel, k.mul(unit, plan.heldPixels()));
    return Values{
        units::multiplyAdd(k, plan.format, k.load(k.scratch(), at, plan.format.unit, plan.lanes), ones, carried[0])};
  });
}

/// The total excess of the elements of a position in scratch, for all lanes: zero points that the format does not
/// subtract, and the contents of lanes without a channel.
mlir::Value DirectGenerator::inAllElements() {
  int64_t empty = conv.storedChannels() - conv.inChannels;
  Value zero = units::integer(k, 0), point = zero;
  if (conv.inputZero)
    point = units::widened(k, k.load(k.buffer(*conv.inputZero), k.constant(0), conv.inputType), conv.inputType);
  // Empty lanes are zeros before the conversion.
  int64_t factor = plan.format.correctsSums() ? conv.inChannels : -empty;
  int64_t added = plan.format.correctsSums() ? addedTo(k.target, conv.inputType) * (conv.inChannels + empty) : 0;
  Value sum = k.b.create<mlir::arith::MulIOp>(k.loc, point, units::integer(k, factor));
  return k.splat(k.b.create<mlir::arith::AddIOp>(k.loc, sum, units::integer(k, added)), plan.lanes);
}

} // namespace lathe
