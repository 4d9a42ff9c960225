// The format `type=i16add` of contractions: products of pairs of i16 whose operands are added first, with half as
// many multiplications.
//
// Two units x and y on the left, u and v on the right, element by element:
//
//   (x + v)(y + u) = x u + y v + x y + u v
//
// so that one product and two additions stand for two products (S. Winograd, "A New Algorithm for Inner Product", IEEE
// Transactions on Computers, 1968). The sums of x y over the channels of an input position are the same for all output
// channels, the sums of u v belong to the weights; both are taken from the sums of each tap. Elements have at most 9
// bits, so their sums fit i16, and everything is exact.
//
// It is faster where multiplications have fewer ports than additions, and needs registers for the weights of two units.
#pragma once

#include "codegen/space/ContractionFormat.h"
#include "codegen/space/RegisterBlock.h"

#include <string_view>

namespace lathe {

/// True for the contraction format that adds operands before it multiplies (i16add). Only the algorithm `direct` on
/// blocks of channels has code for it.
inline bool addsOperands(const ContractionFormat &format) { return std::string_view(format.name) == "i16add"; }

/// True if a register block of `rows` x `vectors` accumulators fits the registers together with the operands of one
/// reduction step, or, for a format that adds operands, of two steps.
inline bool fitsRegisters(const Target &target, const ContractionFormat &format, int64_t rows, int64_t vectors) {
  if (!addsOperands(format))
    return fitsRegisters(target, rows, vectors);
  // Registers: the accumulators, the weights of two steps, an input of each of two steps in all lanes, and, if there are
  // several vectors, the two sums of an input and a weight. With one vector these overwrite the inputs.
  return rows * vectors + 2 * vectors + (vectors > 1 ? 4 : 2) <= int64_t(target.vectorRegisters);
}

} // namespace lathe
