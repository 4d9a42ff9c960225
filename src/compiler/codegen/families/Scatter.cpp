// The operators of family "indexed" that write elements: scatter_nd, scatter_elements and max_unpool.
//
// Every work item owns a part of y. It fills the part before it applies the updates in the part, in their order, so the
// result does not depend on the number of threads, even if several updates write one element. If y has the memory of x,
// a state that a run writes in place (runtime/plan/States.cpp), the part is filled already.
#include "codegen/families/Copy.h"
#include "codegen/families/Indexed.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace lathe {
namespace {

namespace arith = mlir::arith;
using mlir::Value;
using Values = KernelBuilder::Values;

class Scatter : public IndexedKernel {
public:
  explicit Scatter(const KernelProblem &problem)
      : IndexedKernel(problem), name(nn::recordOf(op)->name), threads(std::max(1, problem.threads)) {
    requireRowMajor();
    if (name == "scatter_elements")
      reduction = nn::attrsAs<ScatterElementsAttrs>(op).reduction;
    else if (name == "scatter_nd")
      reduction = nn::attrsAs<ScatterNdAttrs>(op).reduction;
    else if (operands.size() != 2 || y.dims != pooledDims())
      throw Declined{"positions in other extents than those of the result"};
    if (reduction == "none") {
      moveBits({&operands[0], &y});
      if (operands.size() > 2)
        moveBits({&operands[2]});
    }
    for (const KernelTensor &tensor : operands)
      requireComputed(tensor.type);
    lanes = problem.target.lanes(bitWidth(y.type));
  }

  void describe(GrainFacts &facts) const override {
    facts.shape = {{product(y.dims)}, 1, 1, 1};
    // The number of updates decides: each costs a copy and an address.
    auto count = [](const Dims &dims) { return countOf(dims); };
    double slots = std::max(1.0, count(y.dims)), places = count(indices().dims);
    double scanned = name == "scatter_elements" ? 1 : double(threads);
    facts.elementCycles = 1.2 / double(lanes) + places * (reduction == "none" ? 2 : 3) * scanned / slots;
  }

  GeneratedKernel generate(const Schedule &schedule) override {
    if (name == "scatter_elements")
      return scatterElements(schedule);
    return name == "scatter_nd" ? scatterNd(schedule) : maxUnpool(schedule);
  }

private:
  std::string_view name;
  int threads;
  std::string reduction = "none";
  int64_t lanes;

  const KernelTensor &indices() const { return operands[1]; }
  const KernelTensor &updates() const { return operands[2]; }

  /// Extents of the result of max_pool, which is unpooled.
  Dims pooledDims() const {
    auto attrs = nn::attrsAs<MaxUnpoolAttrs>(op);
    Dims dims = x().dims;
    for (size_t i = 2, spatial = dims.size() - 2; i < dims.size(); ++i)
      dims[i] =
          (dims[i] - 1) * attrs.strides[i - 2] - attrs.pads[i - 2] - attrs.pads[spatial + i - 2] + attrs.kernel[i - 2];
    return dims;
  }

  Value combined(KernelHarness &h, Value before, Value update) const {
    ScalarBuilder s = h.scalar(y.type, before);
    if (reduction == "add")
      return s.add(before, update);
    if (reduction == "mul")
      return s.mul(before, update);
    return reduction == "max" ? s.max(before, update) : s.min(before, update);
  }

  /// True if y has separate memory, so that the elements of x must be copied.
  Value isElsewhere(KernelHarness &h) const {
    KernelBuilder &k = h.k;
    return k.b.create<mlir::LLVM::ICmpOp>(k.loc, mlir::LLVM::ICmpPredicate::ne, k.buffer(x().buffer),
                                          k.buffer(y.buffer));
  }

  /// No work items if y has no elements: updates would be written outside it.
  Dim unlessEmpty(const Dim &units) const { return minimum(units, product(y.dims)); }

  /// One share of y for each thread; each thread looks at all updates.
  struct Shares {
    Dim parts, share; // of `rows`
  };
  Shares sharesOf(const Dim &rows) const {
    return threads > 1 ? Shares{minimum(rows, threads), ceilDiv(rows, threads)} : Shares{1, rows};
  }
  /// Rows [first, end) of work item `unit`.
  std::pair<Value, Value> rowsOf(KernelHarness &h, const Shares &shares, const Dim &rows, Value unit) const {
    KernelBuilder &k = h.k;
    Value first = k.min(k.mul(unit, h.extent(shares.share)), h.extent(rows));
    return {first, k.min(k.add(first, h.extent(shares.share)), h.extent(rows))};
  }
  /// low <= place < high; null if a single work item owns all places.
  Value isMine(KernelHarness &h, Value low, Value place, Value high) const {
    KernelBuilder &k = h.k;
    if (threads == 1)
      return {};
    Value size = k.sub(high, low), inside = k.sub(place, low);
    return k.b.create<arith::CmpIOp>(k.loc, arith::CmpIPredicate::ult, inside, size);
  }
  /// Number of scratch words where updates for other work items go. A branch would be mispredicted often, and updates
  /// of one place would wait for each other.
  static constexpr int64_t placesElsewhere = 64;
  int64_t elsewhere() const { return threads == 1 ? 0 : placesElsewhere * 8; }
  /// Applies the update `from` of `source` to element `place` of y, if that is `mine`.
  void single(KernelHarness &h, Value mine, Value place, const KernelTensor &source, Value from) const {
    KernelBuilder &k = h.k;
    Value base = k.buffer(y.buffer);
    if (mine) {
      base = k.select(mine, base, k.scratch());
      place = k.select(mine, place, k.rem(from, placesElsewhere));
    }
    Value value = k.load(k.buffer(source.buffer), from, source.type);
    if (reduction != "none")
      value = combined(h, k.load(base, place, y.type), value);
    k.store(value, base, place, y.type);
  }

  GeneratedKernel scatterNd(const Schedule &schedule) {
    int64_t count = indices().dims.back().constant();
    Dim length = productFrom(x().dims, count), rows = product({x().dims.data(), static_cast<size_t>(count)});
    Dim vectors = product({indices().dims.data(), indices().dims.size() - 1});
    Shares shares = sharesOf(rows);
    Dims extents = {length, rows, vectors, shares.parts, shares.share};
    addTensor(extents, x());
    KernelHarness h(problem, tensors, extents);
    KernelBuilder &k = h.k;
    k.loop(k.begin(), k.end(), 1, [&](Value unit) {
      auto [first, end] = rowsOf(h, shares, rows, unit);
      Value low = h.advance(k.constant(0), first, length), high = h.advance(k.constant(0), end, length);
      k.ifThen(isElsewhere(h), [&] { copyRun(h, x(), low, y, low, k.sub(high, low), lanes); });
      k.loop(k.constant(0), h.extent(vectors), 1, [&](Value number) {
        Value to = offsetOf(h, x(), indices(), number, 0, count);
        Value mine = isMine(h, low, to, high), from = h.advance(k.constant(0), number, length);
        if (length == Dim(1))
          return single(h, mine, to, updates(), from);
        if (!mine)
          return update(h, to, from, length);
        k.ifThen(mine, [&] { update(h, to, from, length); });
      });
    });
    return h.finish(schedule, unlessEmpty(shares.parts), elsewhere());
  }

  /// Writes `length` updates, starting at `from`, to y at `to`.
  void update(KernelHarness &h, Value to, Value from, const Dim &length) const {
    KernelBuilder &k = h.k;
    int64_t width = lanesFor(length);
    if (reduction == "none")
      return copyRun(h, updates(), from, y, to, h.extent(length), width);
    h.forVectors(k.constant(0), h.extent(length), width, 1, [&](Value i, Value mask) {
      auto read = [&](const KernelTensor &tensor, Value at) {
        return mask ? k.maskedLoad(k.buffer(tensor.buffer), at, tensor.type, width, mask)
                    : k.load(k.buffer(tensor.buffer), at, tensor.type, width);
      };
      Value put = k.add(to, i), value = combined(h, read(y, put), read(updates(), k.add(from, i)));
      if (mask)
        k.maskedStore(value, k.buffer(y.buffer), put, y.type, mask);
      else
        k.store(value, k.buffer(y.buffer), put, y.type);
    });
  }

  GeneratedKernel maxUnpool(const Schedule &schedule) {
    Dim whole = product(y.dims), places = product(indices().dims);
    Shares shares = sharesOf(whole);
    KernelHarness h(problem, tensors, {whole, places, shares.parts, shares.share});
    KernelBuilder &k = h.k;
    k.loop(k.begin(), k.end(), 1, [&](Value unit) {
      auto [low, high] = rowsOf(h, shares, whole, unit);
      fillRun(h, k.zero(k.computeType(y.type)), y, low, k.sub(high, low), lanes);
      k.loop(k.constant(0), h.extent(places), 1, [&](Value number) {
        Value to = k.load(k.buffer(indices().buffer), number, indices().type);
        single(h, isMine(h, low, to, high), to, x(), number);
      });
    });
    return h.finish(schedule, unlessEmpty(shares.parts), elsewhere());
  }

  /// Updates collide only along the axis, so another axis is divided: the longest, or the first with an open extent.
  std::optional<size_t> dividedAxis(size_t axis) const {
    std::optional<size_t> best;
    auto extent = [&](size_t i) { return x().dims[i].constantOr(1 << 20); };
    for (size_t i = 0; threads > 1 && i < x().rank(); ++i)
      if (i != axis && extent(i) > (best ? extent(*best) : 1))
        best = i;
    return best;
  }

  GeneratedKernel scatterElements(const Schedule &schedule) {
    size_t rank = x().rank();
    auto axis = static_cast<size_t>(
        normalizeAxis(nn::attrsAs<ScatterElementsAttrs>(op).axis, static_cast<int64_t>(rank), "axis"));
    std::optional<size_t> divided = dividedAxis(axis);
    Dim rows = divided ? x().dims[*divided] : Dim(1), share = divided ? ceilDiv(rows, 4 * threads) : Dim(1),
        parts = divided ? minimum(rows, 4 * threads) : Dim(1);
    size_t at = divided.value_or(0);
    Dim outer = divided ? product({x().dims.data(), at}) : Dim(1),
        run = divided ? productFrom(x().dims, at + 1) : product(x().dims);
    Dims extents = {rows, share, parts, outer, run, rows * run};
    addTensor(extents, x());
    addTensor(extents, indices());
    KernelHarness h(problem, tensors, extents);
    KernelBuilder &k = h.k;
    Dims toStrides = memoryStrides(x()), indexStrides = memoryStrides(indices());
    k.loop(k.begin(), k.end(), 1, [&](Value unit) {
      auto [first, end] = rowsOf(h, {parts, share}, rows, unit);
      Value low = first, count = h.advance(k.constant(0), k.sub(end, first), run);
      k.ifThen(isElsewhere(h), [&] {
        k.loop(k.constant(0), h.extent(outer), 1, [&](Value i) {
          Value start = h.advance(h.advance(k.constant(0), i, rows * run), low, run);
          copyRun(h, x(), start, y, start, count, lanes);
        });
      });
      Value high = end;
      std::function<void(size_t, Value, Value)> walk = [&](size_t i, Value to, Value number) {
        if (i == rank)
          return element(h, axis, to, number);
        bool part = divided && i == *divided;
        Value all = h.extent(indices().dims[i]);
        k.loop(part ? low : k.constant(0), part ? k.min(high, all) : all, 1, [&](Value index) {
          walk(i + 1, i == axis ? to : h.advance(to, index, toStrides[i]), h.advance(number, index, indexStrides[i]));
        });
      };
      walk(0, k.constant(0), k.constant(0));
    });
    return h.finish(schedule, unlessEmpty(parts));
  }

  /// Applies update `number`; `to` is its place without the offset along the axis.
  void element(KernelHarness &h, size_t axis, Value to, Value number) const {
    KernelBuilder &k = h.k;
    Value index = k.load(k.buffer(indices().buffer), number, indices().type);
    to = h.advance(to, fromFront(h, indices(), index, x().dims[axis]), memoryStrides(x())[axis]);
    single(h, {}, to, updates(), number);
  }
};

} // namespace

std::unique_ptr<IndexedKernel> makeScatter(const KernelProblem &problem) { return std::make_unique<Scatter>(problem); }

} // namespace lathe
