#include "codegen/families/RadixSort.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {
namespace {

namespace arith = mlir::arith;
using mlir::Value;
using Values = KernelBuilder::Values;

/// Bits of a digit: 32-bit keys take three passes over 2048 counters, 64-bit keys eight passes over 256 counters, most
/// of which find equal digits.
int64_t digitBits(int64_t bits) { return bits == 32 ? 11 : 8; }

Value digitOf(KernelBuilder &k, Value word, int64_t shift, int64_t digit) {
  Value moved = shift ? k.b.create<arith::ShRUIOp>(k.loc, word, k.constant(shift)).getResult() : word;
  return k.b.create<arith::AndIOp>(k.loc, moved, k.constant((int64_t(1) << digit) - 1));
}

Value word(KernelBuilder &k, Value base, Value at) { return k.load(base, at, ElementType::i64); }
void put(KernelBuilder &k, Value value, Value base, Value at) { k.store(value, base, at, ElementType::i64); }

/// Counts every digit of every word.
void countDigits(KernelBuilder &k, const SortBuffers &buffers, Value count, int64_t low, int64_t bits) {
  int64_t digit = digitBits(bits), counters = int64_t(1) << digit;
  Value zero = k.constant(0);
  k.loop(zero, k.constant(radixHistogram(bits)), 1, [&](Value i) { put(k, zero, buffers.histogram, i); });
  k.loop(zero, count, 1, [&](Value i) {
    Value own = word(k, buffers.words, i);
    for (int64_t pass = 0; pass * digit < bits; ++pass) {
      Value at = k.add(digitOf(k, own, low + pass * digit, std::min(digit, bits - pass * digit)), pass * counters);
      put(k, k.add(word(k, buffers.histogram, at), 1), buffers.histogram, at);
    }
  });
}

} // namespace

int64_t keyBits(ElementType type) {
  if (isFloat(type))
    return type == ElementType::f64 ? 64 : 32; // narrower types are computed in 32 bits
  return type == ElementType::boolean ? 8 : bitWidth(type);
}

Value orderedKey(KernelBuilder &k, Value element, ElementType type, bool descending) {
  int64_t bits = keyBits(type);
  Value key;
  if (isFloat(type)) {
    // Adding 0 makes -0 positive. Negative numbers order the other way round; positive ones get the highest bit.
    Value number = k.b.create<arith::AddFOp>(k.loc, element, k.zero(element.getType()));
    mlir::Type integer = k.b.getIntegerType(static_cast<unsigned>(bits));
    Value raw = k.b.create<arith::BitcastOp>(k.loc, integer, number);
    auto same = [&](int64_t value) -> Value {
      return k.b.create<arith::ConstantOp>(k.loc, k.b.getIntegerAttr(integer, value));
    };
    Value sign = k.b.create<arith::ShRSIOp>(k.loc, raw, same(bits - 1));
    Value flipped = k.b.create<arith::OrIOp>(k.loc, sign, same(bits == 32 ? INT32_MIN : INT64_MIN));
    Value ordered = k.b.create<arith::XOrIOp>(k.loc, raw, flipped);
    Value isNan = k.b.create<arith::CmpFOp>(k.loc, arith::CmpFPredicate::UNO, element, element);
    key = k.b.create<arith::SelectOp>(k.loc, isNan, same(-1), ordered);
  } else if (bits < 64 || !isSignedInteger(type)) {
    key = element;
  }
  bool isSigned = isSignedInteger(type);
  if (isSigned && bits < 64) {
    key = k.b.create<arith::ExtSIOp>(k.loc, k.i64(), element);
    key = k.b.create<arith::AddIOp>(k.loc, key, k.constant(int64_t(1) << (bits - 1)));
  } else if (isSigned) {
    key = k.b.create<arith::XOrIOp>(k.loc, element, k.constant(INT64_MIN));
  } else if (key.getType() != k.i64()) {
    key = k.b.create<arith::ExtUIOp>(k.loc, k.i64(), key);
  }
  if (descending)
    key = k.b.create<arith::XOrIOp>(k.loc, key, k.constant(bits == 64 ? -1 : (int64_t(1) << bits) - 1));
  return key;
}

int64_t radixHistogram(int64_t bits) {
  int64_t digit = digitBits(bits);
  return ((bits + digit - 1) / digit) << digit;
}

SortBuffers radixSort(KernelBuilder &k, const SortBuffers &given, Value count, int64_t low, int64_t bits) {
  SortBuffers buffers = given;
  int64_t digit = digitBits(bits), counters = int64_t(1) << digit;
  countDigits(k, buffers, count, low, bits);
  Value zero = k.constant(0);
  for (int64_t pass = 0; pass * digit < bits; ++pass) {
    int64_t shift = low + pass * digit, width = std::min(digit, bits - pass * digit), base = pass * counters;
    auto counterOf = [&](Value own) { return k.add(digitOf(k, own, shift, width), base); };
    // Without words the first counter is 0, like `count`.
    Value first = word(k, buffers.histogram, counterOf(word(k, buffers.words, zero)));
    Value alike = k.b.create<arith::CmpIOp>(k.loc, arith::CmpIPredicate::eq, first, count);
    Value differs =
        k.b.create<arith::XOrIOp>(k.loc, alike, k.b.create<arith::ConstantOp>(k.loc, k.b.getBoolAttr(true)));
    k.ifThen(differs, [&] {
      k.loop(zero, k.constant(int64_t(1) << width), 1, {zero}, [&](Value i, mlir::ValueRange state) {
        Value at = k.add(i, base), own = word(k, buffers.histogram, at);
        put(k, state[0], buffers.histogram, at);
        return Values{k.add(state[0], own)};
      });
      k.loop(zero, count, 1, [&](Value i) {
        Value own = word(k, buffers.words, i), at = counterOf(own), to = word(k, buffers.histogram, at);
        put(k, k.add(to, 1), buffers.histogram, at);
        put(k, own, buffers.spareWords, to);
        if (buffers.beside)
          put(k, word(k, buffers.beside, i), buffers.spareBeside, to);
      });
    });
    auto swap = [&](Value &a, Value &b) {
      Value before = a;
      a = k.b.create<arith::SelectOp>(k.loc, alike, before, b);
      b = k.b.create<arith::SelectOp>(k.loc, alike, b, before);
    };
    swap(buffers.words, buffers.spareWords);
    if (buffers.beside)
      swap(buffers.beside, buffers.spareBeside);
  }
  return buffers;
}

} // namespace lathe
