#include "codegen/families/TopK.h"

#include "codegen/families/RadixSort.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {
namespace {

namespace arith = mlir::arith;
using mlir::Value;
using Values = KernelBuilder::Values;

constexpr int64_t topDigit = 11; // bits

class Sorting {
public:
  Sorting(KernelHarness &h, const TopKLine &line)
      : h(h), k(h.k), line(line), words(line.length + 1), bits(keyBits(line.type)), wide(bits > 32) {}

  void emit() {
    SortBuffers buffers{k.scratch(), atWord(words), {}, {}, {}};
    buffers.histogram = atWord(words * (wide ? 4 : 2));
    if (wide) {
      buffers.beside = atWord(words * 2);
      buffers.spareBeside = atWord(words * 3);
    }
    Value count = h.extent(line.length);
    if (bits == 32)
      countTops(buffers);
    else
      writeKeys(buffers, {});
    if (bits == 32) {
      count = keepTops(buffers);
      std::swap(buffers.words, buffers.spareWords);
    }
    buffers = radixSort(k, buffers, count, wide ? 0 : 32, bits);
    k.loop(k.constant(0), line.kept, 1, [&](Value i) {
      Value position = wide ? load(buffers.beside, i)
                            : k.b.create<arith::AndIOp>(k.loc, load(buffers.words, i), k.constant(0xffffffff));
      line.put(i, position);
    });
  }

private:
  KernelHarness &h;
  KernelBuilder &k;
  const TopKLine &line;
  Dim words;
  int64_t bits;
  bool wide; // keys fill whole words: positions are beside them

  Value atWord(const Dim &offset) { return k.gep(k.scratch(), h.extent(offset), k.i64()); }
  Value load(Value base, Value at) { return k.load(base, at, ElementType::i64); }
  void store(Value value, Value base, Value at) { k.store(value, base, at, ElementType::i64); }
  Value topOf(Value word) { return k.b.create<arith::ShRUIOp>(k.loc, word, k.constant(64 - topDigit)); }

  /// Words in the order of the elements; `each` sees them, too.
  void writeKeys(const SortBuffers &buffers, const std::function<void(Value)> &each) {
    k.loop(k.constant(0), h.extent(line.length), 1, [&](Value i) {
      Value key = orderedKey(k, line.element(i), line.type, line.largest);
      if (wide)
        store(i, buffers.beside, i);
      else
        key = k.b.create<arith::OrIOp>(k.loc, k.b.create<arith::ShLIOp>(k.loc, key, k.constant(32)), i);
      store(key, buffers.words, i);
      if (each)
        each(key);
    });
  }

  void countTops(const SortBuffers &buffers) {
    k.loop(k.constant(0), k.constant(int64_t(1) << topDigit), 1,
           [&](Value i) { store(k.constant(0), buffers.histogram, i); });
    writeKeys(buffers, [&](Value word) {
      Value at = topOf(word);
      store(k.add(load(buffers.histogram, at), 1), buffers.histogram, at);
    });
  }

  /// Copies the words that may be results to the spare ones, in order; returns their number.
  Value keepTops(const SortBuffers &buffers) {
    Values found = k.loop(k.constant(0), k.constant(int64_t(1) << topDigit), 1, {k.constant(0), k.constant(0)},
                          [&](Value i, mlir::ValueRange state) {
                            // The last digit that is needed: fewer words than are kept lie below it.
                            Value needed = k.less(state[0], line.kept);
                            return Values{k.add(state[0], load(buffers.histogram, i)), k.select(needed, i, state[1])};
                          });
    return k.loop(k.constant(0), h.extent(line.length), 1, {k.constant(0)}, [&](Value i, mlir::ValueRange state) {
      Value word = load(buffers.words, i);
      store(word, buffers.spareWords, state[0]);
      Value kept = k.b.create<arith::CmpIOp>(k.loc, arith::CmpIPredicate::ule, topOf(word), found[1]);
      return Values{k.add(state[0], k.b.create<arith::ExtUIOp>(k.loc, k.i64(), kept))};
    })[0];
  }
};

} // namespace

Dim topKScratch(ElementType type, const Dim &length) {
  int64_t bits = keyBits(type), counters = std::max(radixHistogram(bits), int64_t(1) << topDigit);
  return (length + 1) * (bits > 32 ? 32 : 16) + 8 * counters;
}

Dims topKExtents(const Dim &length) {
  return {length, length + 1, (length + 1) * 2, (length + 1) * 3, (length + 1) * 4};
}

void topKBySorting(KernelHarness &h, const TopKLine &line) { Sorting(h, line).emit(); }

} // namespace lathe
