#include "codegen/families/Copy.h"
#include "codegen/cost/Cost.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

namespace lathe {

using mlir::Value;
using Values = KernelBuilder::Values;

ElementType rawType(ElementType type) {
  switch (bitWidth(type)) {
  case 8:
    return ElementType::u8;
  case 16:
    return ElementType::u16;
  case 32:
    return ElementType::u32;
  case 64:
    return ElementType::u64;
  default:
    throw Declined{fmt::format("no kernels for elements of type {}", name(type))};
  }
}

double countOf(const Dims &extents) {
  double count = 1;
  for (const Dim &extent : extents)
    count *= valueOf(extent);
  return count;
}

double runCycles(double rows, double length, int64_t lanes) {
  // A masked rest is a vector and a branch.
  double vectors = std::floor(length / double(lanes)), rest = length - vectors * double(lanes);
  return rows * (vectors + (rest > 0 ? 4 : 0) + 4);
}

void copyRun(KernelHarness &h, const KernelTensor &from, Value fromOffset, const KernelTensor &to, Value toOffset,
             Value count, int64_t lanes) {
  KernelBuilder &k = h.k;
  Value source = k.buffer(from.buffer), target = k.buffer(to.buffer);
  h.forVectors(k.constant(0), count, lanes, 4, [&](Value i, Value mask) {
    Value at = k.add(fromOffset, i), put = k.add(toOffset, i);
    if (mask)
      k.maskedStore(k.maskedLoad(source, at, from.type, lanes, mask), target, put, to.type, mask);
    else
      k.store(k.load(source, at, from.type, lanes), target, put, to.type);
  });
}

void fillRun(KernelHarness &h, Value value, const KernelTensor &to, Value toOffset, Value count, int64_t lanes) {
  KernelBuilder &k = h.k;
  Value vector = k.splat(value, lanes);
  h.forVectors(k.constant(0), count, lanes, 1, [&](Value i, Value mask) {
    Value put = k.add(toOffset, i);
    if (mask)
      k.maskedStore(vector, k.buffer(to.buffer), put, to.type, mask);
    else
      k.store(vector, k.buffer(to.buffer), put, to.type);
  });
}

namespace {

Dims jobExtents(const CopyJob &job, const Units &units) {
  Dims result = extentsOf(job.space, {job.from, job.to});
  result.push_back(units.chunks);
  return result;
}

/// Moves axis `from` of a job to position `to`.
void moveAxis(CopyJob &job, size_t from, size_t to) {
  for (Dims *dims : {&job.space.extents, &job.from.strides, &job.to.strides}) {
    Dim value = (*dims)[from];
    dims->erase(dims->begin() + from);
    dims->insert(dims->begin() + to, value);
  }
  if (!job.space.block)
    return;
  size_t &block = job.space.blockAxis;
  if (block == from)
    block = to;
  else if (from < block && to >= block)
    --block;
  else if (from > block && to <= block)
    ++block;
}

/// Copies where both sides are contiguous along the last axis, or not contiguous at all: loops over the other axes
/// around a run of vectors.
class RunCopy : public Piece {
public:
  RunCopy(CopyJob given, const Target &target, int64_t grain) : job(std::move(given)) {
    lanes = target.lanes(bitWidth(job.from.tensor->type));
    if (int64_t extent = job.space.extents.back().constantOr(lanes); extent < lanes)
      lanes = static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(std::max<int64_t>(1, extent))));
    if (job.space.block && partial())
      lanes = job.space.block;
    work = cutUnits(job.space, grain, lanes, job.space.extents.size());
  }

  Dim units() const override { return work.count; }
  Dims extents() const override { return jobExtents(job, work); }
  double cycles() const override {
    double all = countOf(job.space.extents), length = std::max(1.0, countOf({job.space.extents.back()}));
    bool contiguous = job.from.strides.back() == Dim(1) && job.to.strides.back() == Dim(1);
    constexpr double element = 1.5; // cycles to copy element by element: address, load and store
    return contiguous ? runCycles(all / length, length, lanes) : all * element;
  }

  void emit(KernelHarness &h, Value first, Value last) const override {
    h.forUnits(job.space, work, first, last, [&](Values indices, Value lo, Value hi) {
      State state{h.extent(job.from.base), h.extent(job.to.base), {}};
      for (size_t axis = 0; axis < indices.size(); ++axis)
        enter(h, state, axis, indices[axis]);
      walk(h, state, work.axis, lo, hi);
    });
  }

private:
  struct State {
    Value from, to, channelMask;
  };
  CopyJob job;
  Units work;
  int64_t lanes;

  bool partial() const { return job.from.partial || job.to.partial; }

  void enter(KernelHarness &h, State &state, size_t axis, Value index) const {
    state.from = h.advance(state.from, index, job.from.strides[axis]);
    state.to = h.advance(state.to, index, job.to.strides[axis]);
    if (partial() && axis == job.space.blockAxis)
      state.channelMask = h.channelMask(job.space, index);
  }

  void walk(KernelHarness &h, const State &state, size_t axis, Value lo, Value hi) const {
    if (axis + 1 < job.space.extents.size()) {
      h.k.loop(lo, hi, 1, [&](Value index) {
        State inner = state;
        enter(h, inner, axis, index);
        walk(h, inner, axis + 1, h.k.constant(0), h.extent(job.space.extents[axis + 1]));
      });
      return;
    }
    h.forVectors(lo, hi, lanes, 4, [&](Value index, Value mask) {
      State at = state;
      enter(h, at, axis, index);
      Value inside = h.both(mask, state.channelMask);
      Value value = h.load(job.from, at.from, lanes, job.from.partial ? inside : mask);
      h.store(job.to, value, at.to, lanes, job.to.partial ? inside : mask);
    });
  }
};

/// The last axis (`a`) is contiguous in `to`, the axis before it (`b`) in `from`: transposes square tiles in registers.
class TileCopy : public Piece {
public:
  TileCopy(CopyJob given, const Target &target, int64_t grain) : job(std::move(given)) {
    size = std::min<int64_t>(16, target.lanes(bitWidth(job.from.tensor->type)));
    if (job.space.block) // the lanes of a block are one side of the tile
      size = std::min<int64_t>(size, job.space.block);
    a = job.space.extents.size() - 1;
    b = a - 1;
    // Work items: the other axes, then runs of tiles along b.
    outer = job.space;
    outer.extents.pop_back();
    work =
        cutUnits(outer, std::max<int64_t>(1, grain / job.space.extents[a].constantOr(64)), size, outer.extents.size());
    overlap[0] = overlaps(job.space.extents[a], true);
    overlap[1] = overlaps(job.space.extents[b], work.axis != b || work.chunks == Dim(1));
  }

  Dim units() const override { return work.count; }
  Dims extents() const override { return jobExtents(job, work); }
  double cycles() const override {
    // Tiles at the borders take as long as whole tiles.
    auto tiles = [&](size_t axis) { return std::ceil(countOf({job.space.extents[axis]}) / double(size)); };
    double count = 1;
    for (size_t axis = 0; axis < job.space.extents.size(); ++axis)
      if (axis != size_t(a) && axis != size_t(b))
        count *= countOf({job.space.extents[axis]});
    double shuffles = double(size) * std::log2(double(size)), moves = 1.5 * double(size);
    return count * tiles(a) * tiles(b) * (shuffles + moves + 4);
  }

  void emit(KernelHarness &h, Value first, Value last) const override {
    h.forUnits(outer, work, first, last, [&](Values indices, Value lo, Value hi) {
      State state{h.extent(job.from.base), h.extent(job.to.base), {}};
      for (size_t axis = 0; axis < indices.size(); ++axis)
        enter(h, state, axis, indices[axis]);
      walk(h, state, work.axis, lo, hi);
    });
  }

private:
  struct State {
    Value from, to, blockIndex;
  };
  CopyJob job;
  Space outer;
  Units work;
  size_t a, b;
  int64_t size;
  bool overlap[2]; // the last tile along a, b is moved back to lie inside, instead of being masked

  bool overlaps(const Dim &extent, bool wholeAxis) const {
    return extent.isConstant() && (extent.constant() % size == 0 || (wholeAxis && extent.constant() >= size));
  }

  void enter(KernelHarness &h, State &state, size_t axis, Value index) const {
    state.from = h.advance(state.from, index, job.from.strides[axis]);
    state.to = h.advance(state.to, index, job.to.strides[axis]);
    if (job.space.block && axis == job.space.blockAxis)
      state.blockIndex = index;
  }

  void walk(KernelHarness &h, const State &state, size_t axis, Value lo, Value hi) const {
    KernelBuilder &k = h.k;
    if (axis < b) {
      k.loop(lo, hi, 1, [&](Value index) {
        State inner = state;
        enter(h, inner, axis, index);
        walk(h, inner, axis + 1, k.constant(0), h.extent(job.space.extents[axis + 1]));
      });
      return;
    }
    Value extentA = h.extent(job.space.extents[a]), extentB = h.extent(job.space.extents[b]);
    k.loop(lo, hi, size, [&](Value startB) {
      Value atB = overlap[1] ? k.min(startB, k.sub(extentB, k.constant(size))) : startB;
      if (mlir::getConstantIntValue(extentB) && *mlir::getConstantIntValue(extentB) % size == 0)
        atB = startB;
      k.loop(k.constant(0), extentA, size, [&](Value startA) {
        Value atA = overlap[0] ? k.min(startA, k.sub(extentA, k.constant(size))) : startA;
        if (mlir::getConstantIntValue(extentA) && *mlir::getConstantIntValue(extentA) % size == 0)
          atA = startA;
        State tile = state;
        enter(h, tile, b, atB);
        enter(h, tile, a, atA);
        // Number of rows on either side, if the tile is not whole.
        Value restA = overlap[0] ? Value() : k.sub(extentA, startA),
              restB = overlap[1] ? Value() : k.sub(extentB, startB);
        move(h, tile, restA, restB, atA, atB);
      });
    });
  }

  void move(KernelHarness &h, const State &tile, Value restA, Value restB, Value atA, Value atB) const {
    KernelBuilder &k = h.k;
    ElementType type = job.from.tensor->type;
    Value source = k.buffer(job.from.tensor->buffer), target = k.buffer(job.to.tensor->buffer);
    // A block that is not full has fewer rows on its row-major side, but all lanes on its blocked side.
    Value rowsA = restA, rowsB = restB, lanesA = restA, lanesB = restB;
    if (job.from.partial || job.to.partial) {
      Value channels = k.sub(k.constant(job.space.channels), k.mul(tile.blockIndex, job.space.block));
      if (job.from.partial) // lanes of the block are a
        rowsA = k.sub(channels, atA);
      else
        rowsB = k.sub(channels, atB);
    }
    auto maskOf = [&](Value rest) { return rest ? k.prefixMask(rest, size) : Value(); };
    Value loadMask = maskOf(lanesB), storeMask = maskOf(lanesA);
    llvm::SmallVector<Value> rows;
    for (int64_t i = 0; i < size; ++i) {
      // A missing row repeats the last row, which may lie before this tile.
      Value row = rowsA ? k.min(k.constant(i), k.sub(rowsA, k.constant(1))) : k.constant(i);
      Value at = h.advance(tile.from, row, job.from.strides[a]);
      rows.push_back(loadMask ? k.maskedLoad(source, at, type, size, loadMask) : k.load(source, at, type, size));
    }
    rows = k.transposed(std::move(rows));
    for (int64_t j = 0; j < size; ++j) {
      Value at = h.advance(tile.to, k.constant(j), job.to.strides[b]);
      auto write = [&] {
        if (storeMask)
          k.maskedStore(rows[j], target, at, type, storeMask);
        else
          k.store(rows[j], target, at, type);
      };
      if (rowsB)
        k.ifThen(k.less(k.constant(j), rowsB), write);
      else
        write();
    }
  }
};

} // namespace

std::unique_ptr<Piece> makeCopy(CopyJob job, const Target &target, int64_t grain) {
  job.space.collapse({&job.from, &job.to});
  size_t last = job.space.extents.size() - 1;
  // Makes an axis innermost that is contiguous on both sides.
  auto find = [&](const Access &access, const Access *other) -> std::optional<size_t> {
    for (size_t axis = last + 1; axis-- > 0;)
      if (access.strides[axis] == Dim(1) && (!other || other->strides[axis] == Dim(1)))
        return axis;
    return std::nullopt;
  };
  if (auto both = find(job.to, &job.from)) {
    bool partialBlock = (job.from.partial || job.to.partial) && *both != last;
    if (!partialBlock) // the lanes of a partial block stay last
      moveAxis(job, *both, last);
    return std::make_unique<RunCopy>(std::move(job), target, grain);
  }
  auto a = find(job.to, nullptr), b = find(job.from, nullptr);
  bool partial = job.from.partial || job.to.partial;
  if (a && b && *a != *b && !(job.from.strides[*a] == Dim(0)) &&
      (!partial || (job.from.partial ? *a == last : *b == last))) {
    moveAxis(job, *a, last);
    size_t from = *b > *a ? *b - 1 : *b;
    moveAxis(job, from, last - 1);
    return std::make_unique<TileCopy>(std::move(job), target, grain);
  }
  return std::make_unique<RunCopy>(std::move(job), target, grain);
}

} // namespace lathe
