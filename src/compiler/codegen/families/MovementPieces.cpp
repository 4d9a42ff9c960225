#include "codegen/families/MovementPieces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {

using mlir::Value;
using Values = KernelBuilder::Values;

namespace {

// ---- Channels that shift by less than a block ----

/// Loops over batch, blocks of one side, and pixels. The lanes of a pixel come from or go to two neighbouring blocks of
/// the other side.
class ChannelShift : public Piece {
public:
  ChannelShift(const KernelTensor &from, const KernelTensor &to, int64_t offset, bool concat, int64_t grain)
      : from(from), to(to), offset(offset), concat(concat), block(from.block) {
    const KernelTensor &walked = concat ? from : to;
    Dim pixels = 1;
    for (size_t i = 2; i < walked.rank(); ++i)
      pixels = pixels * walked.dims[i];
    space.extents = {walked.dims[0], ceilDiv(walked.dims[1], block), pixels};
    work = cutUnits(space, std::max<int64_t>(1, grain / block), 1, 3);
    fromStrides = {memoryStrides(from)[0], memoryStrides(from)[1]};
    toStrides = {memoryStrides(to)[0], memoryStrides(to)[1]};
  }

  Dim units() const override { return work.count; }
  Dims extents() const override {
    Dims result = space.extents;
    for (const Dims *dims : {&fromStrides, &toStrides})
      result.insert(result.end(), dims->begin(), dims->end());
    result.push_back(work.chunks);
    return result;
  }
  double cycles() const override { return countOf(space.extents) * (concat ? 4 : 1.5); } // two masked stores; a shuffle

  void emit(KernelHarness &h, Value first, Value last) const override {
    h.forUnits(space, work, first, last, [&](Values indices, Value lo, Value hi) { walk(h, indices, lo, hi); });
  }

private:
  KernelTensor from, to;
  int64_t offset;
  bool concat;
  int64_t block;
  Space space;
  Units work;
  Dims fromStrides, toStrides;

  void walk(KernelHarness &h, const Values &indices, Value lo, Value hi) const {
    KernelBuilder &k = h.k;
    if (indices.size() == 2)
      return concat ? put(h, indices[0], indices[1], lo, hi) : take(h, indices[0], indices[1], lo, hi);
    k.loop(lo, hi, 1, [&](Value index) {
      Values next = indices;
      next.push_back(index);
      walk(h, next, k.constant(0), h.extent(space.extents[next.size()]));
    });
  }

  /// Reads one block of `to` from two blocks of `from`.
  void take(KernelHarness &h, Value batch, Value blockIndex, Value lo, Value hi) const {
    KernelBuilder &k = h.k;
    int64_t shift = offset % block, lastBlock = (from.dims[1].constant() + block - 1) / block - 1;
    Value near = k.add(blockIndex, offset / block), far = k.min(k.add(near, 1), k.constant(lastBlock));
    Value base = h.advance(k.constant(0), batch, fromStrides[0]);
    Value nearBase = h.advance(base, near, fromStrides[1]), farBase = h.advance(base, far, fromStrides[1]);
    Value target = h.advance(h.advance(k.constant(0), batch, toStrides[0]), blockIndex, toStrides[1]);
    llvm::SmallVector<int64_t> lanes;
    for (int64_t lane = 0; lane < block; ++lane)
      lanes.push_back(lane + shift);
    h.forUnrolled(lo, hi, 4, [&](Value pixel) {
      Value at = k.mul(pixel, block);
      Value x = k.load(k.buffer(from.buffer), k.add(nearBase, at), from.type, block);
      Value y = k.load(k.buffer(from.buffer), k.add(farBase, at), from.type, block);
      k.store(k.b.create<mlir::vector::ShuffleOp>(k.loc, x, y, lanes), k.buffer(to.buffer), k.add(target, at), to.type);
    });
  }

  /// Writes one block of `from` to two blocks of `to`, but only lanes that are channels.
  void put(KernelHarness &h, Value batch, Value blockIndex, Value lo, Value hi) const {
    KernelBuilder &k = h.k;
    int64_t shift = offset % block;
    Value valid = k.min(k.constant(block), k.sub(k.constant(from.dims[1].constant()), k.mul(blockIndex, block)));
    Value near = k.add(blockIndex, offset / block);
    Value base = h.advance(k.constant(0), batch, toStrides[0]);
    Value nearBase = h.advance(base, near, toStrides[1]);
    Value source = h.advance(h.advance(k.constant(0), batch, fromStrides[0]), blockIndex, fromStrides[1]);
    llvm::SmallVector<int64_t> lanes;
    for (int64_t lane = 0; lane < block; ++lane)
      lanes.push_back((lane + block - shift) % block);
    // Lanes [shift, shift + valid) go to the near block; lanes beyond its end go to the far block.
    Value nearMask = k.prefixMask(k.add(valid, shift), block);
    if (shift)
      nearMask = k.b.create<mlir::arith::XOrIOp>(k.loc, nearMask,
                                                 k.prefixMask(k.min(k.constant(shift), k.add(valid, shift)), block));
    Value exceeding = k.sub(k.add(valid, shift), k.constant(block));
    Value farMask = k.prefixMask(exceeding, block), isFar = k.less(k.constant(0), exceeding);
    h.forUnrolled(lo, hi, 2, [&](Value pixel) {
      Value at = k.mul(pixel, block);
      Value x = k.load(k.buffer(from.buffer), k.add(source, at), from.type, block);
      if (shift)
        x = k.b.create<mlir::vector::ShuffleOp>(k.loc, x, x, lanes);
      Value target = k.add(nearBase, at);
      k.maskedStore(x, k.buffer(to.buffer), target, to.type, nearMask);
      if (shift)
        k.ifThen(isFar, [&] {
          k.maskedStore(x, k.buffer(to.buffer), h.advance(target, k.constant(1), toStrides[1]), to.type, farMask);
        });
    });
  }
};

// ---- Channels from several tensors ----

/// One block of the result, combined pixel by pixel from the vectors of the blocks that contain its channels.
class JoinedBlock : public Piece {
public:
  JoinedBlock(const std::vector<ChannelRun> &runs, const KernelTensor &to, int64_t number, int64_t grain)
      : to(to), number(number), block(to.block) {
    Dim pixels = 1;
    for (size_t i = 2; i < to.rank(); ++i)
      pixels = pixels * to.dims[i];
    space.extents = {to.dims[0], pixels};
    work = cutUnits(space, std::max<int64_t>(1, grain / block), 1, 2);
    int64_t first = 0; // channel of the result where a run begins
    for (const ChannelRun &run : runs) {
      for (int64_t lane = 0; lane < block; ++lane)
        if (int64_t channel = number * block + lane - first; channel >= 0 && channel < run.count)
          take(*run.from, run.start + channel, lane);
      first += run.count;
    }
  }

  Dim units() const override { return work.count; }
  Dims extents() const override {
    Dims result = space.extents;
    for (const Source &source : sources)
      result.insert(result.end(), {memoryStrides(source.tensor)[0], memoryStrides(source.tensor)[1] * source.block});
    result.insert(result.end(), {memoryStrides(to)[0], memoryStrides(to)[1] * number, work.chunks});
    return result;
  }
  double cycles() const override { return countOf(space.extents) * (1 + double(sources.size())); }

  void emit(KernelHarness &h, Value first, Value last) const override {
    KernelBuilder &k = h.k;
    h.forUnits(space, work, first, last, [&](Values indices, Value lo, Value hi) {
      if (indices.size() == 1)
        return pixels(h, indices[0], lo, hi);
      k.loop(lo, hi, 1, [&](Value batch) { pixels(h, batch, k.constant(0), h.extent(space.extents[1])); });
    });
  }

private:
  struct Source {
    KernelTensor tensor;
    int64_t block;
    std::vector<std::pair<int64_t, int64_t>> lanes; // of the result, of the source
  };
  KernelTensor to;
  int64_t number, block;
  std::vector<Source> sources;
  Space space;
  Units work;

  void take(const KernelTensor &from, int64_t channel, int64_t lane) {
    for (Source &source : sources)
      if (source.tensor.buffer == from.buffer && source.block == channel / block)
        return source.lanes.emplace_back(lane, channel % block), void();
    sources.push_back({from, channel / block, {{lane, channel % block}}});
  }

  Value base(KernelHarness &h, const KernelTensor &tensor, Value batch, int64_t blockNumber) const {
    Dims strides = memoryStrides(tensor);
    return h.k.add(h.advance(h.k.constant(0), batch, strides[0]), h.extent(strides[1] * blockNumber));
  }

  void pixels(KernelHarness &h, Value batch, Value lo, Value hi) const {
    KernelBuilder &k = h.k;
    llvm::SmallVector<Value> bases;
    for (const Source &source : sources)
      bases.push_back(base(h, source.tensor, batch, source.block));
    Value target = base(h, to, batch, number);
    h.forUnrolled(lo, hi, 4, [&](Value pixel) {
      Value at = k.mul(pixel, block), joined;
      for (size_t i = 0; i < sources.size(); ++i) {
        const Source &source = sources[i];
        Value x = k.load(k.buffer(source.tensor.buffer), k.add(bases[i], at), source.tensor.type, block);
        bool inPlace = i == 0;
        llvm::SmallVector<int64_t> lanes(static_cast<size_t>(block));
        for (int64_t lane = 0; lane < block; ++lane)
          lanes[static_cast<size_t>(lane)] = lane;
        for (auto [lane, from] : source.lanes) {
          inPlace &= lane == from;
          lanes[static_cast<size_t>(lane)] = i == 0 ? from : block + from;
        }
        joined = inPlace ? x : k.b.create<mlir::vector::ShuffleOp>(k.loc, i == 0 ? x : joined, x, lanes).getResult();
      }
      k.store(joined, k.buffer(to.buffer), k.add(target, at), to.type);
    });
  }
};

// ---- Gather ----

class GatherPiece : public Piece {
public:
  GatherPiece(const KernelTensor &x, const KernelTensor &indices, const KernelTensor &y, int64_t axis,
              const Target &target, int64_t grain)
      : x(x), indices(indices), y(y), extent(x.dims[axis]), lanes(target.lanes(bitWidth(x.type))) {
    Dim outer = product({x.dims.data(), static_cast<size_t>(axis)});
    inner = product({x.dims.data() + axis + 1, x.rank() - axis - 1});
    space.extents = {outer, product(indices.dims)};
    work = cutUnits(space, std::max<int64_t>(1, grain / std::max<int64_t>(1, inner.constantOr(64))), 1, 2);
    if (int64_t length = inner.constantOr(lanes); length < lanes)
      lanes = static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(std::max<int64_t>(1, length))));
  }

  Dim units() const override { return work.count; }
  Dims extents() const override {
    return {space.extents[0], space.extents[1], extent, inner, extent * inner, space.extents[1] * inner, work.chunks};
  }
  double cycles() const override {
    double rows = countOf(space.extents);
    return rows * 10 + runCycles(rows, countOf({inner}), lanes); // each index is loaded, compared and multiplied
  }

  void emit(KernelHarness &h, Value first, Value last) const override {
    KernelBuilder &k = h.k;
    auto one = [&](Value outer, Value number) {
      Value index = k.load(k.buffer(indices.buffer), number, indices.type);
      if (bitWidth(indices.type) < 64)
        index = k.b.create<mlir::arith::ExtSIOp>(k.loc, k.i64(), index);
      Value size = h.extent(extent);
      index = k.select(k.less(index, k.constant(0)), k.add(index, size), index); // the runtime has checked it
      Value from = h.advance(h.advance(k.constant(0), outer, extent * inner), index, inner);
      Value to = h.advance(h.advance(k.constant(0), outer, space.extents[1] * inner), number, inner);
      copyRun(h, x, from, y, to, h.extent(inner), lanes);
    };
    h.forUnits(space, work, first, last, [&](Values at, Value lo, Value hi) {
      if (at.size() == 1)
        return k.loop(lo, hi, 1, [&](Value number) { one(at[0], number); });
      k.loop(lo, hi, 1, [&](Value outer) {
        k.loop(k.constant(0), h.extent(space.extents[1]), 1, [&](Value number) { one(outer, number); });
      });
    });
  }

private:
  KernelTensor x, indices, y;
  Dim extent, inner;
  int64_t lanes;
  Space space;
  Units work;
};

// ---- Numbers ----

class Numbers : public Piece {
public:
  Numbers(Dims numbers, const KernelTensor &y) : numbers(std::move(numbers)), y(y) {}
  Dim units() const override { return 1; }
  Dims extents() const override { return numbers; }
  double cycles() const override { return double(numbers.size()); }
  void emit(KernelHarness &h, Value first, Value last) const override {
    KernelBuilder &k = h.k;
    k.loop(first, last, 1, [&](Value) {
      for (size_t i = 0; i < numbers.size(); ++i)
        k.store(h.extent(numbers[i]), k.buffer(y.buffer), k.constant(static_cast<int64_t>(i)), y.type);
    });
  }

private:
  Dims numbers;
  KernelTensor y;
};

// ---- Pad ----

class Pad : public Piece {
public:
  Pad(const KernelTensor &x, const KernelTensor &y, const PadAttrs &attrs, const Dims &begins, ElementType type,
      const KernelTensor *value, const Target &target, int64_t grain)
      : x(x), y(y), mode(attrs.mode), number(attrs.value), type(type), lanes(target.lanes(bitWidth(x.type))),
        xStrides(memoryStrides(x)), yStrides(memoryStrides(y)) {
    if (value)
      valueTensor = *value;
    size_t rank = x.rank();
    for (size_t i = 0; i < rank; ++i)
      axes.push_back({x.block && i == 1 ? ceilDiv(x.dims[1], x.block) : x.dims[i],
                      x.block && i == 1 ? ceilDiv(y.dims[1], x.block) : y.dims[i], begins[i]});
    auto toEnd = [](auto &list) { std::rotate(list.begin() + 1, list.begin() + 2, list.end()); };
    if (x.last)
      toEnd(axes), toEnd(xStrides), toEnd(yStrides); // each run of the copy contains the channels of a position
    if (rank == 0)
      axes.push_back({1, 1, 0}), xStrides.push_back(1), yStrides.push_back(1);
    // The lanes of a block join the last axis if that stays one run; otherwise they are a separate axis.
    if (x.block && mode == "constant" && rank > 2) {
      Axis &last = axes.back();
      last = {last.in * x.block, last.out * x.block, last.begin * x.block};
      xStrides.back() = yStrides.back() = 1;
    } else if (x.block) {
      axes.push_back({x.block, x.block, 0});
      xStrides.push_back(1);
      yStrides.push_back(1);
    }
    for (const Axis &axis : axes)
      space.extents.push_back(axis.out);
    work = cutUnits(space, std::max<int64_t>(1, grain / std::max<int64_t>(1, axes.back().out.constantOr(64))), 1,
                    axes.size() - 1);
    if (axes.size() == 1)
      work = Units{};
  }

  Dim units() const override { return work.count; }
  Dims extents() const override {
    Dims result{work.chunks};
    for (size_t i = 0; i < axes.size(); ++i)
      result.insert(result.end(), {axes[i].in, axes[i].out, xStrides[i], yStrides[i], interiorLo(axes[i]),
                                   interiorHi(axes[i]), axes[i].begin});
    return result;
  }
  double cycles() const override {
    double length = std::max(1.0, countOf({axes.back().out})), rows = countOf(space.extents) / length;
    return rows * 10 + runCycles(rows, length, lanes); // per row: where the elements of x begin and end
  }

  void emit(KernelHarness &h, Value first, Value last) const override {
    KernelBuilder &k = h.k;
    if (axes.size() == 1) {
      k.loop(first, last, 1, [&](Value) { row(h, k.constant(0), k.constant(0), {}); });
      return;
    }
    h.forUnits(space, work, first, last, [&](Values indices, Value lo, Value hi) {
      Value from = k.constant(0), to = k.constant(0), inside;
      for (size_t axis = 0; axis < indices.size(); ++axis)
        enter(h, axis, indices[axis], from, to, inside);
      walk(h, indices.size(), lo, hi, from, to, inside);
    });
  }

private:
  struct Axis {
    Dim in, out, begin;
  };
  KernelTensor x, y;
  std::string mode;
  double number;
  ElementType type;
  std::optional<KernelTensor> valueTensor;
  int64_t lanes;
  std::vector<Axis> axes;
  Dims xStrides, yStrides;
  Space space;
  Units work;

  /// Range of positions of y along an axis that hold elements of x.
  static Dim interiorLo(const Axis &axis) { return minimum(axis.out, maximum(0, axis.begin)); }
  static Dim interiorHi(const Axis &axis) { return maximum(interiorLo(axis), minimum(axis.out, axis.in + axis.begin)); }

  bool constantMode() const { return mode == "constant"; }

  /// The position in x that is repeated at position `index` of y.
  Value mapped(KernelHarness &h, const Axis &axis, Value index) const {
    KernelBuilder &k = h.k;
    Value i = k.sub(index, h.extent(axis.begin)), n = h.extent(axis.in), zero = k.constant(0), one = k.constant(1);
    auto modulo = [&](Value value, Value period) { // never negative
      Value rest = k.b.create<mlir::arith::RemSIOp>(k.loc, value, period);
      return k.select(k.less(rest, zero), k.add(rest, period), rest);
    };
    if (mode == "edge")
      return k.max(zero, k.min(i, k.sub(n, one)));
    if (mode == "wrap")
      return modulo(i, n);
    Value period = k.max(one, k.mul(k.sub(n, one), 2)); // reflect
    Value rest = modulo(i, period);
    return k.min(rest, k.max(zero, k.sub(period, rest)));
  }

  void enter(KernelHarness &h, size_t axis, Value index, Value &from, Value &to, Value &inside) const {
    KernelBuilder &k = h.k;
    const Axis &a = axes[axis];
    to = h.advance(to, index, yStrides[axis]);
    if (a.begin == Dim(0) && a.in == a.out) {
      from = h.advance(from, index, xStrides[axis]);
    } else if (constantMode()) {
      Value i = k.sub(index, h.extent(a.begin));
      auto compare = [&](mlir::arith::CmpIPredicate predicate, Value l, Value r) -> Value {
        return k.b.create<mlir::arith::CmpIOp>(k.loc, predicate, l, r);
      };
      Value here = compare(mlir::arith::CmpIPredicate::ult, i, h.extent(a.in)); // negative: huge as unsigned
      inside = inside ? k.b.create<mlir::arith::AndIOp>(k.loc, inside, here).getResult() : here;
      from = h.advance(from, i, xStrides[axis]);
    } else {
      from = h.advance(from, mapped(h, a, index), xStrides[axis]);
    }
  }

  void walk(KernelHarness &h, size_t axis, Value lo, Value hi, Value from, Value to, Value inside) const {
    KernelBuilder &k = h.k;
    k.loop(lo, hi, 1, [&](Value index) {
      Value nextFrom = from, nextTo = to, nextInside = inside;
      enter(h, axis, index, nextFrom, nextTo, nextInside);
      if (axis + 2 < axes.size())
        walk(h, axis + 1, k.constant(0), h.extent(axes[axis + 1].out), nextFrom, nextTo, nextInside);
      else
        row(h, nextFrom, nextTo, nextInside);
    });
  }

  Value fillValue(KernelHarness &h) const {
    KernelBuilder &k = h.k;
    if (valueTensor)
      return k.load(k.buffer(valueTensor->buffer), k.constant(0), valueTensor->type);
    unsigned width = bitWidth(type);
    llvm::APInt bits(width, 0);
    if (isFloat(type)) {
      llvm::APFloat value(number);
      bool exact;
      value.convert(type == ElementType::f32   ? llvm::APFloat::IEEEsingle()
                    : type == ElementType::f64 ? llvm::APFloat::IEEEdouble()
                    : type == ElementType::f16 ? llvm::APFloat::IEEEhalf()
                                               : llvm::APFloat::BFloat(),
                    llvm::APFloat::rmNearestTiesToEven, &exact);
      bits = value.bitcastToAPInt();
    } else {
      bits = llvm::APInt(
          width, static_cast<uint64_t>(type == ElementType::boolean ? number != 0 : static_cast<int64_t>(number)),
          true);
    }
    return k.b.create<mlir::arith::ConstantOp>(k.loc, k.b.getIntegerAttr(k.b.getIntegerType(width), bits));
  }

  void row(KernelHarness &h, Value from, Value to, Value inside) const {
    KernelBuilder &k = h.k;
    const Axis &a = axes.back();
    Value lo = h.extent(interiorLo(a)), hi = h.extent(interiorHi(a)), out = h.extent(a.out);
    auto middle = [&] {
      copyRun(h, x, k.add(from, k.sub(lo, h.extent(a.begin))), y, k.add(to, lo), k.sub(hi, lo), lanes);
    };
    if (!constantMode()) {
      auto border = [&](Value index) {
        Value source = k.add(from, mapped(h, a, index));
        k.store(k.load(k.buffer(x.buffer), source, x.type), k.buffer(y.buffer), k.add(to, index), y.type);
      };
      k.loop(k.constant(0), lo, 1, border);
      middle();
      k.loop(hi, out, 1, border);
      return;
    }
    Value fill = fillValue(h);
    auto whole = [&] {
      fillRun(h, fill, y, to, lo, lanes);
      middle();
      fillRun(h, fill, y, k.add(to, hi), k.sub(out, hi), lanes);
    };
    if (!inside)
      return whole();
    k.ifThen(inside, whole, [&] { fillRun(h, fill, y, to, out, lanes); });
  }
};

} // namespace

std::unique_ptr<Piece> makeChannelConcat(const KernelTensor &from, const KernelTensor &to, int64_t offset,
                                         const Target &, int64_t grain) {
  return std::make_unique<ChannelShift>(from, to, offset, true, grain);
}

std::unique_ptr<Piece> makeChannelSlice(const KernelTensor &from, const KernelTensor &to, int64_t start, const Target &,
                                        int64_t grain) {
  return std::make_unique<ChannelShift>(from, to, start, false, grain);
}

std::vector<std::unique_ptr<Piece>> makeChannelJoin(const std::vector<ChannelRun> &runs, const KernelTensor &to,
                                                    const Target &, int64_t grain) {
  std::vector<std::unique_ptr<Piece>> pieces;
  for (int64_t number = 0; number * to.block < to.dims[1].constant(); ++number)
    pieces.push_back(std::make_unique<JoinedBlock>(runs, to, number, grain));
  return pieces;
}

std::unique_ptr<Piece> makeGather(const KernelTensor &x, const KernelTensor &indices, const KernelTensor &y,
                                  int64_t axis, const Target &target, int64_t grain) {
  return std::make_unique<GatherPiece>(x, indices, y, axis, target, grain);
}

std::unique_ptr<Piece> makeNumbers(Dims numbers, const KernelTensor &y) {
  return std::make_unique<Numbers>(std::move(numbers), y);
}

std::unique_ptr<Piece> makePad(const KernelTensor &x, const KernelTensor &y, const PadAttrs &attrs, const Dims &begins,
                               ElementType type, const KernelTensor *value, const Target &target, int64_t grain) {
  return std::make_unique<Pad>(x, y, attrs, begins, type, value, target, grain);
}

} // namespace lathe
