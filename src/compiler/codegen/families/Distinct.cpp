// nn.distinct: sorts all elements with their positions; equal elements become adjacent runs.
#include "codegen/families/RadixSort.h"
#include "codegen/families/Selection.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {
namespace {

namespace arith = mlir::arith;
using mlir::Value;
using Values = KernelBuilder::Values;

class Distinct {
public:
  explicit Distinct(const SelectionKernel &kernel)
      : kernel(kernel), x(kernel.in(0)), count(x.dims[0]), words(count + 1), bits(keyBits(x.type)), wide(bits > 32),
        h(kernel.problem, kernel.tensors, {count, words, words * 2, words * 3, words * 4}), k(h.k),
        sorted(nn::attrsAs<DistinctAttrs>(kernel.op).sorted) {}

  GeneratedKernel generate(const Schedule &schedule) {
    k.loop(k.begin(), k.end(), 1, [&](Value) {
      SortBuffers buffers = sortElements();
      Value found = sorted ? writeRuns(buffers) : writeByAppearance(buffers);
      put(found, 4, k.constant(0));
    });
    return h.finish(schedule, 1, words * (wide ? 32 : 16) + 8 * radixHistogram(bits));
  }

private:
  const SelectionKernel &kernel;
  const KernelTensor &x;
  Dim count, words;
  int64_t bits;
  bool wide; // keys fill whole words, so positions are stored separately
  KernelHarness h;
  KernelBuilder &k;
  bool sorted;

  Value atWord(const Dim &offset) { return k.gep(k.scratch(), h.extent(offset), k.i64()); }
  Value wordAt(Value base, Value i) { return k.load(base, i, ElementType::i64); }
  void put(Value value, size_t output, Value at) {
    k.store(value, k.buffer(kernel.out(output).buffer), at, kernel.out(output).type);
  }
  Value element(Value at) { return k.load(k.buffer(x.buffer), at, x.type); }

  SortBuffers sortElements() {
    SortBuffers buffers{k.scratch(), atWord(words), {}, {}, {}};
    if (wide) {
      buffers.beside = atWord(words * 2);
      buffers.spareBeside = atWord(words * 3);
    }
    buffers.histogram = atWord(words * (wide ? 4 : 2));
    k.loop(k.constant(0), h.extent(count), 1, [&](Value i) {
      Value key = orderedKey(k, element(i), x.type, false);
      if (wide)
        k.store(i, buffers.beside, i, ElementType::i64);
      else
        key = k.b.create<arith::OrIOp>(k.loc, k.b.create<arith::ShLIOp>(k.loc, key, k.constant(32)), i);
      k.store(key, buffers.words, i, ElementType::i64);
    });
    return radixSort(k, buffers, h.extent(count), wide ? 0 : 32, bits);
  }

  /// Emits state = body(position, true at the first element of a run, state) for the sorted elements.
  Values overRuns(const SortBuffers &buffers, Values state,
                  const std::function<Values(Value, Value, mlir::ValueRange)> &body) {
    state.push_back(k.constant(0)); // the previous key
    return k.loop(k.constant(0), h.extent(count), 1, state, [&](Value i, mlir::ValueRange carried) {
      Value word = wordAt(buffers.words, i), key = word, position;
      if (wide) {
        position = wordAt(buffers.beside, i);
      } else {
        key = k.b.create<arith::ShRUIOp>(k.loc, word, k.constant(32));
        position = k.b.create<arith::AndIOp>(k.loc, word, k.constant(0xffffffff));
      }
      Value differs = k.b.create<arith::CmpIOp>(k.loc, arith::CmpIPredicate::ne, key, carried.back());
      Value begins = k.b.create<arith::CmpIOp>(k.loc, arith::CmpIPredicate::eq, i, k.constant(0));
      Values next = body(position, k.b.create<arith::OrIOp>(k.loc, differs, begins), carried.drop_back());
      next.push_back(key);
      return next;
    });
  }

  Value oneIf(Value condition) { return k.b.create<arith::ExtUIOp>(k.loc, k.i64(), condition); }

  /// Writes one result for each run. Its first position comes first, because the sort is stable.
  Value writeRuns(const SortBuffers &buffers) {
    Value counts = k.buffer(kernel.out(3).buffer);
    return overRuns(buffers, {k.constant(0)}, [&](Value position, Value begins, mlir::ValueRange state) {
      Value found = k.add(state[0], oneIf(begins)), run = k.sub(found, k.constant(1));
      put(run, 2, position);
      k.ifThen(
          begins,
          [&] {
            put(element(position), 0, run);
            put(position, 1, run);
            put(k.constant(1), 3, run);
          },
          [&] { put(k.add(wordAt(counts, run), 1), 3, run); });
      return Values{found};
    })[0];
  }

  /// Computes the first position of every element's run, then writes the elements in their original order.
  Value writeByAppearance(const SortBuffers &buffers) {
    Value firsts = buffers.spareWords, inverse = k.buffer(kernel.out(2).buffer),
          counts = k.buffer(kernel.out(3).buffer);
    overRuns(buffers, {k.constant(0)}, [&](Value position, Value begins, mlir::ValueRange state) {
      Value first = k.select(begins, position, state[0]);
      k.store(first, firsts, position, ElementType::i64);
      return Values{first};
    });
    return k.loop(k.constant(0), h.extent(count), 1, {k.constant(0)}, [&](Value i, mlir::ValueRange state) {
      Value first = wordAt(firsts, i), begins = k.b.create<arith::CmpIOp>(k.loc, arith::CmpIPredicate::eq, first, i);
      k.ifThen(
          begins,
          [&] {
            put(element(i), 0, state[0]);
            put(i, 1, state[0]);
            put(state[0], 2, i);
            put(k.constant(1), 3, state[0]);
          },
          [&] {
            Value run = wordAt(inverse, first);
            put(run, 2, i);
            put(k.add(wordAt(counts, run), 1), 3, run);
          });
      return Values{k.add(state[0], oneIf(begins))};
    })[0];
  }
};

} // namespace

GeneratedKernel distinct(const SelectionKernel &kernel, const Schedule &schedule) {
  return Distinct(kernel).generate(schedule);
}

} // namespace lathe
