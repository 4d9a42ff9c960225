include "ops/Base.td"

// Integer arithmetic of quantised networks as TensorFlow Lite defines it. Sources: common.h of tensorflow/lite/kernels/internal
// (MultiplyByQuantizedMultiplier, LUTLookup) and fixedpoint.h of gemmlowp.

def Nn_RequantizeOp : NnOp<"requantize"> {
  let summary = "integer sums times multiplier * 2^(shift - 31), rounded, plus a zero point, limited to [min, max]";
  let description = [{
    y = min(max(scaled(x) + zero_point, min), max), limited to the range of `to` as well. multiplier and shift broadcast to x: one value, one
    a channel, or one a row. A positive shift goes left; shift lies in [-31, 30]. `>>` is the arithmetic shift, and results of scaled
    are the low 32 bits. m is the multiplier, left = max(shift, 0), right = max(-shift, 0). scaled(x) by `rounding`:

    "double": t = ((x << left) * m + 2^30) >> 31 with the shifted x as an i32, then t / 2^right rounded, halves away from zero.
    TensorFlow Lite's reference kernels.
    "single": (x * m + 2^(30 - shift)) >> (31 - shift). The library ruy, which the optimised kernels of TensorFlow Lite call.
    "reduced": (x * r + 2^(14 - shift)) >> (15 - shift) with r = min((m + 2^15) >> 16, 2^15 - 1), shift at most 14. 64-bit sums of 16-bit inputs.

    Constraints: requantize_c1: x is i32 with "double" and "single", i64 with "reduced". requantize_c2: multiplier and shift are i32 and broadcast to
    x. requantize_c3: `to` is i8, u8, i16 or i32. requantize_c4: zero_point lies in the range of `to` (i32: is 0). requantize_c5: min is not greater
    than max, and both sides of the range hold a value of `to`. requantize_c6: rounding is one of the three. requantize_c7: a known shift lies in
    its range.
  }];
  let arguments = (ins NnTensor:$x, NnTensor:$multiplier, NnTensor:$shift, NnElementType:$to, NnI64<"0">:$zero_point,
    NnI64<"INT64_MIN">:$min, NnI64<"INT64_MAX">:$max, NnStr<"double">:$rounding);
  let results = (outs NnTensor:$y);
  let lowering = "elementwise";
  let tolerance = "0";
  let benchmarkAxes = ["shape"];
}

def Nn_LookupOp : NnOp<"lookup"> {
  let summary = "elements of x replaced by those of a table";
  let description = [{
    8-bit x: `values` has 256 entries, from the least x to the greatest. i16 x: `values` has 513 entries v, one every 128 steps of x, and y is
    interpolated: v[i] + (((v[i + 1] - v[i]) * o + 64) >> 7) with i = 256 + (x >> 7), o = x & 127 (TensorFlow Lite's LUTLookup).

    Constraints: lookup_c1: x is i8, u8 or i16. lookup_c2: values has one of these counts. lookup_c3: `to` is i8, u8, i16 or i32 (i16 x: i16) and
    holds every value.
  }];
  let arguments = (ins NnTensor:$x, NnI64s<>:$values, NnElementType:$to);
  let results = (outs NnTensor:$y);
  let lowering = "elementwise";
  let flops = "Dim(0)";
  let tolerance = "0";
  let benchmarkAxes = ["shape"];
}

class Nn_IntegerUnary<string mnemonic> : NnOp<mnemonic> {
  let description = [{
    Constraints: integer_unary_c1: x is i32.
  }];
  let arguments = (ins NnTensor:$x);
  let results = (outs NnTensor:$y);
  let inferFunction = "inferIntegerUnary";
  let lowering = "elementwise";
  let tolerance = "0";
  let benchmarkAxes = ["shape"];
}

def Nn_CountLeadingZerosOp : Nn_IntegerUnary<"count_leading_zeros"> {
  let summary = "zero bits above the highest one of the 32 bits of x; 32 for 0";
}

def Nn_FixedReciprocalOp : Nn_IntegerUnary<"fixed_reciprocal"> {
  let summary = "2^62 / x', where x' is x shifted left until bit 31 is set: a reciprocal in fixed point";
  let description = [{
    An x below 1 counts as 1. The result is 2^31 / (1 + f) for x' = 2^31 * (1 + f), at most 2^31 - 1, computed with three Newton
    iterations from 48/17 - 32/17 * (1 + f) / 2 and the roundings of gemmlowp (one_over_one_plus_x_for_x_in_0_1). 1 / x is about
    fixed_reciprocal(x) * 2^(count_leading_zeros(x) - 62). The sum in the softmax of quantised networks takes it.

    Constraints: integer_unary_c1: x is i32.
  }];
}
