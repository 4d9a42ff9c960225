// roi_align of family "indexed".
//
// The samples of a region form a grid. Its rows and columns are computed once per region, in float64, because the
// number of samples comes from a rounded-up extent. Samples outside the image are zero and left out, so no region takes
// longer than its part of the image. Blocked: lanes are channels, and a block of channels is transposed through scratch
// into the row-major result. Row-major: element by element.
#include "codegen/builder/Arithmetic.h"
#include "codegen/families/Indexed.h"

namespace lathe {
namespace {

using mlir::Value;
using Values = KernelBuilder::Values;

/// Rows or columns of samples: a table in scratch, and facts about it.
struct SampleAxis {
  Dim extent;       // of x
  int64_t bins = 1; // of y
  Dim stride;       // of x, in elements
  Dim capacity = 0; // maximum number of samples inside the image
  Dim place = 0;    // of the table in scratch, bytes

  // Tables, one after the other: the first sample of each bin, and for each sample the offsets and weights of its two
  // elements.
  Dim bytes(int64_t weightBytes) const { return (Dim(bins + 1) + capacity * 2) * 8 + capacity * (2 * weightBytes); }
};

class RoiAlign : public IndexedKernel {
public:
  explicit RoiAlign(const KernelProblem &problem)
      : IndexedKernel(problem), attrs(nn::attrsAs<RoiAlignAttrs>(op)), average(attrs.mode == "avg") {
    requireComputed(tensors);
    if (y.block || operands[1].block)
      throw Declined{"regions or a result in blocked layout"};
    Dims strides = memoryStrides(x());
    rows = {x().dims[2], attrs.output_height, strides[2]};
    columns = {x().dims[3], attrs.output_width, strides[3]};
    if (attrs.sampling_ratio > mostSamples || std::max(rows.bins, columns.bins) > mostBins)
      throw Declined{fmt::format("{} x {} bins of {} samples each way", rows.bins, columns.bins, attrs.sampling_ratio)};
    bins = rows.bins * columns.bins;
    // Adaptive samples are more than half an element apart, or there is one per bin.
    for (SampleAxis *axis : {&rows, &columns})
      axis->capacity =
          attrs.sampling_ratio ? Dim(axis->bins * attrs.sampling_ratio) : axis->extent * 2 + Dim(axis->bins + 8);
    if (x().block) {
      blocks = ceilDiv(x().dims[1], x().block).constant();
      together = blocksTogether(blocks);
      if (bins * together * x().block > mostTile)
        together = 1;
      if (bins * x().block > 16 * mostTile)
        throw Declined{fmt::format("{} x {} bins of blocked channels", rows.bins, columns.bins)};
    }
    columns.place = rows.bytes(weightBytes());
    tile = ceilDiv(columns.place + columns.bytes(weightBytes()), 64) * 64;
    scratch = tile + together * paddedBins() * x().block * weightBytes();
  }

  void describe(GrainFacts &facts) const override {
    facts.shape.extents = {y.dims[0], Dim(groups())};
    facts.shape.limit = 2;
    facts.shape.divisor = perGroup();
    double side = attrs.sampling_ratio ? double(attrs.sampling_ratio) : 2, samples = side * side;
    facts.elementCycles = x().block ? (samples * 4 + 12) / double(x().block) : samples * 5 + 4;
  }

  GeneratedKernel generate(const Schedule &schedule) override {
    Space space;
    space.extents = {y.dims[0], Dim(groups())};
    Units units = cutUnits(space, std::max<int64_t>(1, schedule.number("grain") / perGroup()), 1, 2);
    KernelHarness harness(problem, tensors, extents(units));
    h = &harness;
    KernelBuilder &k = h->k;
    h->forUnits(space, units, [&](Values at, Value lo, Value hi) {
      if (at.size() == 1)
        return region(at[0], lo, hi);
      k.loop(lo, hi, 1, [&](Value r) { region(r, k.constant(0), k.constant(groups())); });
    });
    return h->finish(schedule, units.count, scratch);
  }

private:
  static constexpr int64_t mostSamples = 64, mostBins = 1024, mostTile = 4096; // elements
  RoiAlignAttrs attrs;
  bool average;
  SampleAxis rows, columns;
  int64_t bins = 1, blocks = 0, together = 1;
  Dim tile, scratch;
  KernelHarness *h = nullptr;

  ElementType sumType() const { return x().type == ElementType::f64 ? ElementType::f64 : ElementType::f32; }
  int64_t weightBytes() const { return bitWidth(sumType()) / 8; }
  int64_t paddedBins() const { return x().block ? (bins + x().block - 1) / x().block * x().block : 0; }
  /// Channels per group, and number of groups: blocks, or single channels, whose number may be a symbol.
  int64_t channelsTogether() const { return x().block ? x().block * together : 1; }
  int64_t groups() const { return x().block ? blocks / together : 1; }
  /// Elements of y in a group.
  int64_t perGroup() const { return bins * (x().block ? channelsTogether() : x().dims[1].constantOr(16)); }

  Dims extents(const Units &units) const {
    Dims result = {y.dims[0], units.chunks, columns.place, tile, x().dims[1] * bins};
    Dims strides = memoryStrides(x());
    result.insert(result.end(), x().dims.begin(), x().dims.end());
    result.insert(result.end(), strides.begin(), strides.end());
    for (const SampleAxis *axis : {&rows, &columns}) {
      result.push_back(axis->capacity);
      for (int part = 1; part <= 4; ++part)
        result.push_back(placeOf(*axis, part));
    }
    return result;
  }

  // ---- Tables of samples ----

  /// Place in scratch, in bytes: 0 the first samples of bins, 1 and 2 the offsets, 3 and 4 the weights.
  Dim placeOf(const SampleAxis &axis, int part) const {
    Dim offsets = axis.place + (axis.bins + 1) * 8;
    return part == 0 ? axis.place
                     : offsets + axis.capacity * (std::min(part - 1, 2) * 8) +
                           axis.capacity * (part == 4 ? weightBytes() : 0);
  }
  Value table(const SampleAxis &axis, int part) const {
    KernelBuilder &k = h->k;
    return k.gep(k.scratch(), h->extent(placeOf(axis, part)), k.b.getI8Type());
  }
  Value firstSample(const SampleAxis &axis, Value bin) const {
    return h->k.load(table(axis, 0), bin, ElementType::i64);
  }

  Value real(Value integer) const { return h->k.b.create<arith::SIToFPOp>(h->k.loc, h->k.b.getF64Type(), integer); }
  /// Limits a number to a huge range and converts it to i64, so that NaN is never converted.
  Value whole(Arithmetic &f, Value number) const {
    number = f.select(f.compare(arith::CmpFPredicate::OGT, number, f.number(-1e15)), number, f.number(-1e15));
    number = f.select(f.less(number, 1e15), number, f.number(1e15));
    return f.make<arith::FPToSIOp>(h->k.i64(), number);
  }

  /// Extent of a region along an axis in pixels, and the number of samples of a bin.
  struct Span {
    Value start, bin, samples;
  };
  Span spanOf(Arithmetic &f, const SampleAxis &axis, Value low, Value high) const {
    bool half = attrs.coordinate_mode == "half_pixel";
    auto pixels = [&](Value corner) {
      Value scaled = f.mul(corner, attrs.spatial_scale);
      return half ? f.add(scaled, -0.5) : scaled;
    };
    Value start = pixels(low), length = f.sub(pixels(high), start);
    if (!half)
      length = f.select(f.less(length, 1), f.number(1), length);
    Value bin = f.div(length, f.number(static_cast<double>(axis.bins)));
    KernelBuilder &k = h->k;
    Value samples = attrs.sampling_ratio ? k.constant(attrs.sampling_ratio)
                                         : k.max(k.constant(0), whole(f, f.make<mlir::math::CeilOp>(bin)));
    return {start, bin, samples};
  }

  /// Writes the table of an axis: the samples inside the image.
  void makeTable(Arithmetic &f, const SampleAxis &axis, const Span &span) const {
    KernelBuilder &k = h->k;
    Value last = k.sub(h->extent(axis.extent), k.constant(1)), lastReal = real(last), zero = k.constant(0);
    Value count = real(span.samples), step = f.div(span.bin, count);
    Values end = k.loop(zero, k.constant(axis.bins), 1, {zero}, [&](Value bin, mlir::ValueRange state) {
      k.store(state[0], table(axis, 0), bin, ElementType::i64);
      Value start = f.add(span.start, f.mul(real(bin), span.bin)), first = zero, behind = span.samples;
      if (!attrs.sampling_ratio) { // only samples that may be inside, and a few more
        auto place = [&](Value edge, int64_t more) {
          Value at = whole(f, f.div(f.sub(edge, start), step));
          return k.max(zero, k.min(k.add(at, more), span.samples));
        };
        first = place(f.number(-1), -2);
        behind = place(f.add(lastReal, 1), 2);
      }
      return k.loop(first, behind, 1, {state[0]}, [&](Value i, mlir::ValueRange inner) {
        Value at = f.add(start, f.div(f.mul(f.add(real(i), 0.5), span.bin), count));
        return Values{addSample(f, axis, at, last, lastReal, inner[0])};
      });
    });
    k.store(end[0], table(axis, 0), k.constant(axis.bins), ElementType::i64);
  }

  /// Adds a sample to a table at `number` if it is inside. Returns the number of the next sample.
  Value addSample(Arithmetic &f, const SampleAxis &axis, Value at, Value last, Value lastReal, Value number) const {
    using P = arith::CmpFPredicate;
    KernelBuilder &k = h->k;
    Value inside = f.logicalAnd(f.compare(P::OGE, at, f.number(-1)), f.compare(P::OLE, at, f.add(lastReal, 1)));
    at = f.select(f.less(at, 0), f.number(0), at);
    Value low = k.min(whole(f, at), last), high = k.min(k.add(low, 1), last);
    Value part = f.select(k.less(low, last), f.sub(at, real(low)), f.number(0));
    // Always written; the next sample overwrites a sample that is outside.
    Value slot = k.min(number, k.sub(h->extent(axis.capacity), k.constant(1)));
    k.store(h->advance(k.constant(0), low, axis.stride), table(axis, 1), slot, ElementType::i64);
    k.store(h->advance(k.constant(0), high, axis.stride), table(axis, 2), slot, ElementType::i64);
    k.store(narrow(f.sub(f.number(1), part)), table(axis, 3), slot, sumType());
    k.store(narrow(part), table(axis, 4), slot, sumType());
    return k.add(number, k.b.create<arith::ExtUIOp>(k.loc, k.i64(), inside));
  }

  Value narrow(Value number) const {
    KernelBuilder &k = h->k;
    return sumType() == ElementType::f64 ? number : k.b.create<arith::TruncFOp>(k.loc, k.b.getF32Type(), number);
  }

  // ---- Regions ----

  void region(Value r, Value lo, Value hi) const {
    KernelBuilder &k = h->k;
    Arithmetic f(k, k.b.getF64Type());
    Value corners[4];
    for (int64_t i = 0; i < 4; ++i) {
      corners[i] = k.load(k.buffer(operands[1].buffer), k.add(k.mul(r, 4), i), operands[1].type);
      if (!corners[i].getType().isF64())
        corners[i] = f.make<arith::ExtFOp>(f.type, corners[i]);
    }
    Span across = spanOf(f, columns, corners[0], corners[2]), down = spanOf(f, rows, corners[1], corners[3]);
    makeTable(f, columns, across);
    makeTable(f, rows, down);
    Value samples = k.mul(across.samples, down.samples);
    Value image = k.load(k.buffer(operands[2].buffer), r, operands[2].type);
    if (bitWidth(operands[2].type) < 64)
      image = isUnsignedInteger(operands[2].type) ? f.make<arith::ExtUIOp>(k.i64(), image)
                                                  : f.make<arith::ExtSIOp>(k.i64(), image);
    Value share = narrow(f.div(f.number(1), real(k.max(samples, k.constant(1)))));
    Value from = h->advance(k.constant(0), image, memoryStrides(x())[0]);
    Value to = h->advance(k.constant(0), r, x().dims[1] * bins);
    if (!x().block)
      return k.loop(k.constant(0), h->extent(x().dims[1]), 1, [&](Value channel) {
        Value plane = h->advance(from, channel, memoryStrides(x())[1]), put = k.add(to, k.mul(channel, bins));
        forBins([&](Value row, Value column, Value bin) {
          Value sum = pooled({plane}, row, column, samples, share)[0];
          k.store(sum, k.buffer(y.buffer), k.add(put, bin), y.type);
        });
      });
    k.loop(lo, hi, 1, [&](Value group) {
      Value block = k.mul(group, together);
      Values planes;
      for (int64_t i = 0; i < together; ++i)
        planes.push_back(h->advance(from, k.add(block, i), memoryStrides(x())[1]));
      forBins([&](Value row, Value column, Value bin) {
        Values sums = pooled(planes, row, column, samples, share);
        for (int64_t i = 0; i < together; ++i)
          k.store(sums[i], tilePointer(i), k.mul(bin, x().block), sumType());
      });
      for (int64_t i = 0; i < together; ++i)
        writeBlock(i, k.add(block, i), to);
    });
  }

  void forBins(const std::function<void(Value row, Value column, Value bin)> &body) const {
    KernelBuilder &k = h->k;
    k.loop(k.constant(0), k.constant(rows.bins), 1, [&](Value row) {
      k.loop(k.constant(0), k.constant(columns.bins), 1,
             [&](Value column) { body(row, column, k.add(k.mul(row, columns.bins), column)); });
    });
  }

  /// Average or maximum of the samples of a bin, in the planes of x that begin at `planes`.
  Values pooled(const Values &planes, Value row, Value column, Value samples, Value share) const {
    KernelBuilder &k = h->k;
    int64_t lanes = std::max<int64_t>(1, x().block);
    auto vector = [&](Value scalar) { return lanes == 1 ? scalar : k.splat(scalar, lanes); };
    Value firstRow = firstSample(rows, row), endRow = firstSample(rows, k.add(row, 1)),
          first = firstSample(columns, column), end = firstSample(columns, k.add(column, 1));
    mlir::Type scalar = sumType() == ElementType::f64 ? mlir::Type(k.b.getF64Type()) : k.b.getF32Type();
    Value zero = k.zero(lanes == 1 ? scalar : mlir::Type(KernelBuilder::vectorOf(scalar, lanes))), initial = zero;
    if (!average) { // a sample outside counts as zero
      Value inside = k.mul(k.sub(endRow, firstRow), k.sub(end, first));
      Value least = k.constantF(-std::numeric_limits<double>::infinity(), scalar);
      Value any = k.less(k.constant(0), inside),
            all = k.b.create<arith::CmpIOp>(k.loc, arith::CmpIPredicate::eq, inside, samples);
      Value starts = k.b.create<arith::AndIOp>(k.loc, any, all);
      initial = vector(k.select(starts, least, k.zero(scalar)));
    }
    auto rowBody = [&](Value i, mlir::ValueRange outer) {
      Value top = k.load(table(rows, 1), i, ElementType::i64), bottom = k.load(table(rows, 2), i, ElementType::i64),
            above = k.load(table(rows, 3), i, sumType()), below = k.load(table(rows, 4), i, sumType());
      return k.loop(first, end, 1, outer, [&](Value j, mlir::ValueRange state) {
        Value left = k.load(table(columns, 1), j, ElementType::i64),
              right = k.load(table(columns, 2), j, ElementType::i64), before = k.load(table(columns, 3), j, sumType()),
              behind = k.load(table(columns, 4), j, sumType());
        Values next(state.begin(), state.end());
        for (auto [line, v] : {std::pair(top, above), std::pair(bottom, below)})
          for (auto [place, u] : {std::pair(left, before), std::pair(right, behind)}) {
            Value offset = k.add(line, place);
            Value weight = vector(k.b.create<arith::MulFOp>(k.loc, v, u));
            for (auto [plane, sum] : llvm::zip(planes, next)) {
              Value value = k.load(k.buffer(x().buffer), k.add(plane, offset), x().type, lanes);
              sum = average ? k.fma(value, weight, sum)
                            : k.firstUnlessGreater(sum, k.b.create<arith::MulFOp>(k.loc, value, weight));
            }
          }
        return next;
      });
    };
    Values sums = k.loop(firstRow, endRow, 1, Values(planes.size(), initial), rowBody);
    if (average)
      for (Value &sum : sums)
        sum = k.b.create<arith::MulFOp>(k.loc, sum, vector(share));
    return sums;
  }

  Value tilePointer(int64_t number) const {
    KernelBuilder &k = h->k;
    Value start = k.gep(k.scratch(), h->extent(tile), k.b.getI8Type());
    mlir::Type element = sumType() == ElementType::f64 ? mlir::Type(k.b.getF64Type()) : k.b.getF32Type();
    return k.gep(start, k.constant(number * paddedBins() * x().block), element);
  }

  /// Writes the bins of a block of channels, which are in scratch channel by channel, to the row-major y.
  void writeBlock(int64_t number, Value block, Value to) const {
    KernelBuilder &k = h->k;
    int64_t lanes = x().block, channels = x().dims[1].constant();
    Value start = k.add(to, k.mul(block, lanes * bins));
    h->forVectors(k.constant(0), k.constant(bins), lanes, 1, [&](Value bin, Value mask) {
      llvm::SmallVector<Value> square;
      for (int64_t i = 0; i < lanes; ++i)
        square.push_back(k.load(tilePointer(number), k.mul(k.add(bin, i), lanes), sumType(), lanes));
      square = k.transposed(square);
      for (int64_t lane = 0; lane < lanes; ++lane) {
        auto write = [&] {
          Value put = k.add(k.add(start, lane * bins), bin);
          if (mask)
            k.maskedStore(square[lane], k.buffer(y.buffer), put, y.type, mask);
          else
            k.store(square[lane], k.buffer(y.buffer), put, y.type);
        };
        if (channels % lanes == 0 || lane < channels % lanes)
          write();
        else // only some lanes of the last block are channels
          k.ifThen(k.less(block, k.constant(blocks - 1)), write);
      }
    });
  }
};

} // namespace

std::unique_ptr<IndexedKernel> makeRoiAlign(const KernelProblem &problem) {
  return std::make_unique<RoiAlign>(problem);
}

} // namespace lathe
