#include "ops/Registry.h"

#include <algorithm>

namespace lathe {
namespace {

struct Range {
  int64_t least, most;
};

/// The range of an integer type that results of requantize and lookup may have.
Range rangeOf(ElementType type, const char *constraint) {
  require(isByte(type) || type == ElementType::i16 || type == ElementType::i32,
          "{}: `to` is {}, expected i8, u8, i16 or i32", constraint, name(type));
  if (type == ElementType::u8)
    return {0, 255};
  int64_t half = int64_t(1) << (bitWidth(type) - 1);
  return {-half, half - 1};
}

void requireScale(const TensorInfo &scale, const TensorInfo &x, const char *what) {
  require(scale.type == ElementType::i32, "requantize_c2: {} is {}, expected i32", what, name(scale.type));
  bool fits = scale.rank() <= x.rank();
  for (size_t i = 0; fits && i < scale.rank(); ++i) {
    const Dim &own = scale.dims[i], &whole = x.dims[x.rank() - scale.rank() + i];
    fits = own == Dim(1) || mayAgree(own, whole);
  }
  require(fits, "requantize_c2: {} is {}, expected to broadcast to {}", what, str(scale.dims), str(x.dims));
}

} // namespace

InferResult inferRequantize(const RequantizeAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0], &shift = *in[2];
  bool reduced = a.rounding == "reduced";
  require(reduced || a.rounding == "double" || a.rounding == "single",
          "requantize_c6: rounding is '{}', expected 'double', 'single' or 'reduced'", a.rounding);
  ElementType sums = reduced ? ElementType::i64 : ElementType::i32;
  require(x.type == sums, "requantize_c1: x is {}, expected {} with rounding '{}'", name(x.type), name(sums),
          a.rounding);
  requireScale(*in[1], x, "multiplier");
  requireScale(shift, x, "shift");
  Range range = rangeOf(a.to, "requantize_c3");
  require(a.to == ElementType::i32 ? a.zero_point == 0 : a.zero_point >= range.least && a.zero_point <= range.most,
          "requantize_c4: zero_point is {}, expected a value of {}", a.zero_point, name(a.to));
  require(a.min <= a.max && a.min <= range.most && a.max >= range.least,
          "requantize_c5: the result is limited to [{}, {}], expected values of {}", a.min, a.max, name(a.to));
  if (shift.contents)
    for (const Dim &value : *shift.contents)
      require(!value.isConstant() || (value.constant() >= -31 && value.constant() <= (reduced ? 14 : 30)),
              "requantize_c7: shift is {}, expected a value in [-31, {}]", value.str(), reduced ? 14 : 30);
  return {TensorInfo{a.to, x.dims, std::nullopt}};
}

InferResult inferLookup(const LookupAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  bool wide = x.type == ElementType::i16;
  require(wide || isByte(x.type), "lookup_c1: x is {}, expected i8, u8 or i16", name(x.type));
  size_t count = wide ? 513 : 256;
  require(a.values.size() == count, "lookup_c2: values has {} entries, expected {}", a.values.size(), count);
  Range range = rangeOf(a.to, "lookup_c3");
  require(!wide || a.to == ElementType::i16, "lookup_c3: `to` is {}, expected i16", name(a.to));
  for (int64_t value : a.values)
    require(value >= range.least && value <= range.most, "lookup_c3: values has {}, expected a value of {}", value,
            name(a.to));
  return {TensorInfo{a.to, x.dims, std::nullopt}};
}

InferResult inferIntegerUnary(const Attrs &, const InferInputs &in) {
  require(in[0]->type == ElementType::i32, "integer_unary_c1: x is {}, expected i32", name(in[0]->type));
  return {TensorInfo{ElementType::i32, in[0]->dims, std::nullopt}};
}

} // namespace lathe
