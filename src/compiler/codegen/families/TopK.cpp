#include "codegen/families/TopK.h"

#include "codegen/families/RadixSort.h"
#include "codegen/families/Selection.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {
namespace {

namespace arith = mlir::arith;
using mlir::Value;
using Values = KernelBuilder::Values;
using F = arith::CmpFPredicate;
using P = arith::CmpIPredicate;

constexpr int64_t topDigit = 11; // bits

/// Maximum number of words that are ordered by counting, for each word, the words before it.
constexpr int64_t mostRanked = 256;
/// Words after the last one that `rank` may touch.
constexpr int64_t padding = 16;

/// Maximum number of results for which elements are inserted into the sorted results.
constexpr int64_t mostInserted = 128;
/// Longest line that is read twice, in elements: it stays in the first cache.
constexpr int64_t mostReadTwice = 4096;
/// Maximum number of vectors whose lanes are groups of elements. In random lines, hardly more than `kept` elements go
/// before the last of the groups' best `kept` elements.
constexpr int64_t mostGroups = 4;
int64_t groupVectors(int64_t kept, int64_t lanes) { return (3 * kept + 2 * lanes - 1) / (2 * lanes); }

/// Number of elements that are compared with the least of the best before the room for keys is checked again.
/// `collected` keys are stored before all but the best are dropped.
constexpr int64_t filteredTogether = 1024;
Dim collected(const Dim &kept) { return kept * 2 + 4 * filteredTogether; }

class Sorting {
public:
  Sorting(KernelHarness &h, const TopKLine &line)
      : h(h), k(h.k), line(line), words(line.length + padding), bits(keyBits(line.type)), wide(bits > 32) {}

  void emit() {
    if (bits != 32 || !line.elements || line.lanes < 2)
      return emitSort();
    // Chooses the first legal way, at compile time if the extents are static.
    Value length = h.extent(line.length), zero = k.constant(0);
    Value ranked = k.select(k.less(length, k.constant(mostRanked + 1)), k.constant(3), zero);
    Value way = k.select(k.less(h.extent(collected(line.most)), length), k.constant(2), ranked);
    way = k.select(k.less(line.kept, k.constant(mostInserted + 1)), k.constant(1), way);
    int64_t groups = line.most.isConstant() ? groupVectors(line.most.constant(), line.lanes) : 0;
    if (groups > 0 && groups <= mostGroups) {
      Value enough = k.less(k.constant(4 * groups * line.lanes), length);
      Value twice = k.select(k.less(length, k.constant(mostReadTwice + 1)), k.constant(4), way);
      way = k.select(enough, twice, way);
      k.ifThen(equal(way, k.constant(4)), [&] { emitGroups(groups); });
    }
    k.ifThen(equal(way, zero), [&] { emitSort(); });
    k.ifThen(equal(way, k.constant(1)), [&] { emitInsertions(); });
    k.ifThen(equal(way, k.constant(2)), [&] { emitFilter(); });
    k.ifThen(equal(way, k.constant(3)), [&] {
      k.loop(zero, length, 1, [&](Value i) { store(wordOf(i), k.scratch(), i); });
      rank(k.scratch(), atWord(words), length);
      putAll(atWord(words));
    });
  }

private:
  KernelHarness &h;
  KernelBuilder &k;
  const TopKLine &line;
  Dim words;
  int64_t bits;
  bool wide; // keys fill whole words, so positions are stored separately

  void emitSort() {
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

  Value atWord(const Dim &offset) { return k.gep(k.scratch(), h.extent(offset), k.i64()); }
  Value load(Value base, Value at) { return k.load(base, at, ElementType::i64); }
  void store(Value value, Value base, Value at) { k.store(value, base, at, ElementType::i64); }
  Value topOf(Value word) { return k.b.create<arith::ShRUIOp>(k.loc, word, k.constant(64 - topDigit)); }

  /// A word with the element's key above its position.
  Value wordOf(Value i) { return word(line.element(i), i); }
  Value word(Value element, Value i) {
    Value key = orderedKey(k, element, line.type, line.largest);
    return k.b.create<arith::OrIOp>(k.loc, k.b.create<arith::ShLIOp>(k.loc, key, k.constant(32)), i);
  }

  /// Writes the words in the order of the elements, and passes each to `each`.
  void writeKeys(const SortBuffers &buffers, const std::function<void(Value)> &each) {
    k.loop(k.constant(0), h.extent(line.length), 1, [&](Value i) {
      Value key = wide ? orderedKey(k, line.element(i), line.type, line.largest) : wordOf(i);
      if (wide)
        store(i, buffers.beside, i);
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

  /// Copies the words that may be results to the spare buffer, in order. Returns their number.
  Value keepTops(const SortBuffers &buffers) {
    Values found = k.loop(k.constant(0), k.constant(int64_t(1) << topDigit), 1, {k.constant(0), k.constant(0)},
                          [&](Value i, mlir::ValueRange state) {
                            // The last digit that is needed: fewer than `kept` words have smaller digits.
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

  // ---- Long lines ----

  void emitFilter() {
    SortBuffers buffers{k.scratch(), atWord(words), {}, {}, atWord(words * 2)};
    Value room = h.extent(collected(line.most)), first = k.sub(room, k.constant(filteredTogether));
    k.loop(k.constant(0), first, 1, [&](Value i) { store(wordOf(i), buffers.words, i); });
    store(first, cells(), k.constant(0));
    k.loop(first, h.extent(line.length), filteredTogether, [&](Value at) {
      Value count = load(cells(), k.constant(0));
      k.ifThen(k.less(room, k.add(count, filteredTogether + 1)), [&] { keepBest(buffers, count); });
      Value end = k.min(k.add(at, filteredTogether), h.extent(line.length));
      Value least = line.element(load(cells(), k.constant(1)));
      h.forVectors(at, end, line.lanes, 1, [&](Value i, Value mask) {
        Value place = load(cells(), k.constant(0)), found = bitsBefore(i, mask, least);
        forBits(k, found,
                [&](Value number, Value bit) { store(wordOf(k.add(i, bit)), buffers.words, k.add(place, number)); });
        store(k.add(place, countBits(k, found)), cells(), k.constant(0));
      });
    });
    putAll(radixSort(k, buffers, load(cells(), k.constant(0)), 32, bits).words);
  }

  // ---- Few results of a short line ----

  void emitGroups(int64_t groups) {
    Value count = k.constant(0), least = lastOfGroups(groups);
    store(count, cells(), k.constant(0));
    h.forVectors(count, h.extent(line.length), line.lanes, 1, [&](Value i, Value mask) {
      Value reached = compared(line.elements(i, mask), k.splat(least, line.lanes), {F::UGE, F::ULE}, {P::sge, P::sle});
      Value found = bitsOf(k, h.both(reached, mask)), hits = countBits(k, found);
      k.ifThen(k.less(k.constant(0), hits), [&] {
        Value place = load(cells(), k.constant(0));
        forBits(k, found,
                [&](Value number, Value bit) { store(wordOf(k.add(i, bit)), k.scratch(), k.add(place, number)); });
        store(k.add(place, hits), cells(), k.constant(0));
      });
    });
    count = load(cells(), k.constant(0));
    auto sorted = [&] {
      rank(k.scratch(), atWord(words), count);
      putAll(atWord(words));
    };
    k.ifThen(k.less(count, k.constant(mostRanked + 1)), sorted, [&] { // there are many equal elements
      SortBuffers buffers{k.scratch(), atWord(words), {}, {}, atWord(words * 2)};
      putAll(radixSort(k, buffers, count, 32, bits).words);
    });
  }

  /// The `kept`-th best of the groups' best elements: at least `kept` elements go before it or equal it. A group is a
  /// lane of every `groups`-th vector. NaN is not compared.
  Value lastOfGroups(int64_t groups) {
    int64_t lanes = line.lanes, step = groups * lanes, count = groups * lanes;
    auto elementsAt = [&](Value i, int64_t group) { return line.elements(k.add(i, group * lanes), {}); };
    Values best;
    for (int64_t group = 0; group < groups; ++group)
      best.push_back(elementsAt(k.constant(0), group));
    Value end = k.mul(k.div(h.extent(line.length), step), step);
    best = k.loop(k.constant(step), end, step, best, [&](Value i, mlir::ValueRange state) {
      Values next;
      for (int64_t group = 0; group < groups; ++group) {
        Value others = elementsAt(i, group);
        next.push_back(
            k.select(compared(others, state[group], {F::OGT, F::OLT}, {P::sgt, P::slt}), others, state[group]));
      }
      return next;
    });
    Value kept = atWord(words), order = atWord(words * 2);
    for (int64_t group = 0; group < groups; ++group)
      k.store(best[group], kept, k.constant(group * lanes), line.type);
    auto bestOf = [&](Value i) { return k.load(kept, i, line.type); };
    k.loop(k.constant(0), k.constant(count), 1, [&](Value i) { store(word(bestOf(i), i), k.scratch(), i); });
    rank(k.scratch(), order, k.constant(count));
    return bestOf(positionOf(load(order, k.sub(line.kept, k.constant(1)))));
  }

  /// The elements of a vector that may go before `least`, as bits.
  Value bitsBefore(Value i, Value mask, Value least) {
    return bitsOf(k, h.both(goesBefore(line.elements(i, mask), k.splat(least, line.lanes)), mask));
  }

  /// For few results: keeps their words in order, and inserts elements that go before the last one.
  void emitInsertions() {
    Value best = atWord(words), last = k.sub(line.kept, k.constant(1));
    k.loop(k.constant(0), line.kept, 1, [&](Value i) { store(wordOf(i), k.scratch(), i); });
    rank(k.scratch(), best, line.kept);
    // Whole vectors are compared, so entries after the results must not go before any word.
    k.loop(k.constant(0), k.constant(padding), 1, [&](Value i) { store(k.constant(-1), best, k.add(line.kept, i)); });
    auto note = [&] { k.store(line.element(positionOf(load(best, last))), cells(), k.constant(0), line.type); };
    note();
    h.forVectors(line.kept, h.extent(line.length), line.lanes, 1, [&](Value i, Value mask) {
      Value found = bitsBefore(i, mask, k.load(cells(), k.constant(0), line.type));
      k.ifThen(k.less(k.constant(0), countBits(k, found)), [&] {
        forBits(k, found, [&](Value, Value bit) { insert(best, wordOf(k.add(i, bit))); });
        note();
      });
    });
    putAll(best);
  }

  /// Inserts `word`: moves all later words by one, the last ones first. A word after all of them is dropped.
  void insert(Value best, Value word) {
    int64_t lanes = k.target.lanes(64);
    Value vectors = h.divide(k.add(line.kept, lanes - 1), k.constant(lanes)), own = k.splat(word, lanes);
    Value place = k.loop(k.constant(0), vectors, 1, {k.constant(0)}, [&](Value n, mlir::ValueRange state) {
      Value at = k.mul(k.sub(k.sub(vectors, n), k.constant(1)), lanes),
            others = k.load(best, at, ElementType::i64, lanes);
      Value behind = k.b.create<arith::CmpIOp>(k.loc, arith::CmpIPredicate::ugt, others, own);
      k.maskedStore(others, best, k.add(at, 1), ElementType::i64, behind);
      return Values{k.add(state[0], k.sub(k.constant(lanes), countBits(k, bitsOf(k, behind))))};
    })[0];
    store(word, best, place);
  }

  void putAll(Value sorted) {
    k.loop(k.constant(0), line.kept, 1, [&](Value i) { line.put(i, positionOf(load(sorted, i))); });
  }

  /// Writes `count` different words in ascending order to `to`.
  void rank(Value from, Value to, Value count) {
    constexpr int64_t beside = 4;
    int64_t lanes = k.target.lanes(64);
    k.loop(k.constant(0), k.constant(padding), 1, [&](Value i) { store(k.constant(-1), from, k.add(count, i)); });
    mlir::Type vector = KernelBuilder::vectorOf(k.i64(), lanes);
    k.loop(k.constant(0), count, beside, [&](Value i) {
      Values own, sums(beside, k.zero(vector));
      for (int64_t n = 0; n < beside; ++n)
        own.push_back(load(from, k.add(i, n)));
      sums = k.loop(k.constant(0), count, lanes, sums, [&](Value j, mlir::ValueRange state) {
        Value others = k.load(from, j, ElementType::i64, lanes);
        Values next;
        for (int64_t n = 0; n < beside; ++n) {
          Value before = k.b.create<arith::CmpIOp>(k.loc, arith::CmpIPredicate::ult, others, k.splat(own[n], lanes));
          next.push_back(k.b.create<arith::AddIOp>(k.loc, state[n], k.b.create<arith::ExtUIOp>(k.loc, vector, before)));
        }
        return next;
      });
      for (int64_t n = 0; n < beside; ++n)
        store(own[n], to,
              h.across(ElementType::i64, sums[n], [](ScalarBuilder &b, Value x, Value y) { return b.add(x, y); }));
    });
  }

  /// The address of two cells: the number of words, and the position of the last of the best words.
  Value cells() { return k.gep(atWord(words * 2), k.constant(radixHistogram(bits)), k.i64()); }
  Value positionOf(Value word) { return k.b.create<arith::AndIOp>(k.loc, word, k.constant(0xffffffff)); }
  Value equal(Value x, Value y) { return k.b.createOrFold<arith::CmpIOp>(k.loc, arith::CmpIPredicate::eq, x, y); }
  Value one(Value condition) { return k.b.create<arith::ExtUIOp>(k.loc, k.i64(), condition); }

  /// True if an element goes before `least`, and always if one of them is NaN.
  Value goesBefore(Value elements, Value least) {
    return compared(elements, least, {F::UGT, F::ULT}, {P::sgt, P::slt});
  }

  /// Compares elements with others, by the first predicate for the greatest elements, by the second for the least.
  /// Integer predicates are given in their signed form.
  Value compared(Value elements, Value others, std::pair<F, F> floats, std::pair<P, P> integers) {
    if (isFloat(line.type))
      return k.b.create<arith::CmpFOp>(k.loc, line.largest ? floats.first : floats.second, elements, others);
    P predicate = line.largest ? integers.first : integers.second;
    if (!isSignedInteger(line.type))
      predicate = predicate == P::sgt ? P::ugt : predicate == P::slt ? P::ult : predicate == P::sge ? P::uge : P::ule;
    return k.b.create<arith::CmpIOp>(k.loc, predicate, elements, others);
  }

  /// Keeps the words of the first `kept` results, in their current order.
  void keepBest(const SortBuffers &buffers, Value count) {
    Value prefix = k.constant(0), needed = line.kept;
    for (int64_t low : {64 - topDigit, 64 - 2 * topDigit, int64_t(32)})
      std::tie(prefix, needed) = nextDigit(buffers, count, low, prefix, needed);
    // All words with a smaller key, and the first `needed` ones with this key.
    Values end = k.loop(
        k.constant(0), count, 1, {k.constant(0), k.constant(0), k.constant(0)}, [&](Value i, mlir::ValueRange state) {
          Value word = load(buffers.words, i), key = k.b.create<arith::ShRUIOp>(k.loc, word, k.constant(32));
          Value last = k.b.create<arith::AndIOp>(k.loc, equal(key, prefix), k.less(state[1], needed));
          Value stays = k.b.create<arith::OrIOp>(k.loc, k.less(key, prefix), last);
          store(word, buffers.words, state[0]);
          return Values{k.add(state[0], one(stays)), k.add(state[1], one(last)),
                        k.select(last, positionOf(word), state[2])};
        });
    store(end[0], cells(), k.constant(0));
    store(end[2], cells(), k.constant(1));
  }

  /// Among the words that begin with `prefix`, finds the next digit of word number `needed` in ascending order. Returns
  /// the longer prefix and the number of that word among the words that begin with it.
  std::pair<Value, Value> nextDigit(const SortBuffers &buffers, Value count, int64_t low, Value prefix, Value needed) {
    int64_t digit = std::min(topDigit, 64 - low), above = low == 32 ? 64 - 2 * topDigit : low + topDigit;
    if (low == 32)
      digit = above - low;
    Value counters = k.constant(int64_t(1) << digit);
    k.loop(k.constant(0), counters, 1, [&](Value i) { store(k.constant(0), buffers.histogram, i); });
    k.loop(k.constant(0), count, 1, [&](Value i) {
      Value word = load(buffers.words, i), shifted = k.b.create<arith::ShRUIOp>(k.loc, word, k.constant(low));
      Value at = k.b.create<arith::AndIOp>(k.loc, shifted, k.constant((int64_t(1) << digit) - 1)), add = k.constant(1);
      if (above < 64)
        add = one(equal(k.b.create<arith::ShRUIOp>(k.loc, word, k.constant(above)), prefix));
      store(k.add(load(buffers.histogram, at), add), buffers.histogram, at);
    });
    Values found = k.loop(k.constant(0), counters, 1, {k.constant(0), k.constant(0), k.constant(0)},
                          [&](Value i, mlir::ValueRange state) {
                            Value below = k.less(state[0], needed);
                            return Values{k.add(state[0], load(buffers.histogram, i)), k.select(below, i, state[1]),
                                          k.select(below, state[0], state[2])};
                          });
    Value shifted = k.b.create<arith::ShLIOp>(k.loc, prefix, k.constant(digit));
    return {k.b.create<arith::OrIOp>(k.loc, shifted, found[1]), k.sub(needed, found[2])};
  }
};

} // namespace

Dim topKScratch(ElementType type, const Dim &length) {
  int64_t bits = keyBits(type), counters = std::max(radixHistogram(bits), int64_t(1) << topDigit);
  return (length + padding) * (bits > 32 ? 32 : 16) + 8 * (counters + 2); // two cells of the filter
}

Dims topKExtents(const Dim &length, const Dim &kept) {
  Dims extents = {length, kept, collected(kept)};
  for (int64_t part = 1; part <= 4; ++part)
    extents.push_back((length + padding) * part);
  return extents;
}

void topKBySorting(KernelHarness &h, const TopKLine &line) { Sorting(h, line).emit(); }

} // namespace lathe
