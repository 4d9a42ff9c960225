// The formats in which contractions multiply: the types of operands, units and sums (`type=` of a schedule).
//
// A unit is what the microkernel loads or broadcasts at once: `group` adjacent reduction steps, the earliest one in the
// lowest bits. A product adds the products of the steps of two units to a sum. Steps beyond the last one are zero.
//
//   type  operands  elements of a unit   sums  group  product
//   f32   any type  the operands' own    *     1      multiply-add             * own type, fp32 for 16-bit floats
//                   (f32 beside constant weights of f16: each operand is loaded in its own type)
//   bf16  f32       bf16, rounded        f32   2      vdpbf16ps
//   i8    i8, u8    u8 or i8, then i8    i32   4      vpdpbusd, usdot or sdot   * right operand: constant i8
//   i8mm  i8, u8    u8, then i8           i32   8      usmmla, for products       * two rows times two columns
//   i16   i8, u8    i16                  i32   2      vpdpwssd, or vpmaddwd and vpaddd; i16add: AddedOperands.h
//   i32   i8, u8    i32                  i32   1      multiply and add
//
// A zero point of the left operand is subtracted by the conversion. Differences have 9 bits, so that sums of two
// products fit i32; sums wrap around. "i8" has no bits for it: what the zero point and the change of sign (addedTo) add
// to a sum, times the sum of the weights, is subtracted from it; packed weights end with those sums.
//
// A zero point of constant weights is never subtracted from them, because 9 bits are too many for "i8". It is multiplied
// by the sum of the left elements of each position instead, which is the same for all columns.
//
// A new format is a row of the table in ContractionFormat.cpp, a word in schedule/Algorithms.cpp, and its conversion
// and product in codegen/contraction/common/FormatCode.cpp.
#pragma once

#include "codegen/target/Target.h"
#include "schedule/Schedule.h"
#include "support/ElementType.h"
#include "support/Precision.h"

#include <cstdint>
#include <string>

namespace lathe {

/// The element types of a contraction.
struct ContractionTypes {
  ElementType left;  // of the input, or of the left operand
  ElementType right; // of constant weights; of a right operand that is computed or has a zero point, one that holds it
  ElementType sum;   // of the results
};

struct ContractionFormat {
  const char *name;    // word of the parameter `type` of a schedule
  ElementType element; // of a unit
  ElementType unit;    // type that units are loaded and broadcast as
  ElementType sum;     // of the accumulators and of partial sums in scratch
  int64_t group;       // reduction steps of a unit
  bool converts;       // operands are converted when they are packed; false: units are operands as they are
  bool rounds;         // the conversion changes values
  /// True for operands in memory and results of these types.
  bool (*takes)(const ContractionTypes &types);
  /// The types that `takes` accepts, for messages.
  const char *takesText;
  /// Reason why the target cannot multiply units; "": it can.
  std::string (*obstacle)(const Target &target);
  /// Vector products of units that begin in one cycle.
  double (*productsPerCycle)(const Target &target);
  /// Cycles from a product to the next one that adds to the same sum.
  double (*latency)(const Target &target);
  /// Writes one element of a constant operand, of type `type`, as an element of a unit. Integers may have any type of at
  /// most 16 bits, so that a zero point can be subtracted before.
  void (*write)(const char *from, ElementType type, char *to);
  /// Type that elements of the left operand are loaded as where that is not `unit`; `invalid`: it is.
  ElementType left = ElementType::invalid;

  ElementType leftUnit() const { return left == ElementType::invalid ? unit : left; }
  int64_t unitBytes() const { return bitWidth(unit) / 8; }
  int64_t elementBytes() const { return bitWidth(element) / 8; }
  /// Bytes that an operand's element takes in units.
  double bytesPerStep() const { return double(unitBytes()) / double(group); }
  /// Units of `extent` reduction steps.
  int64_t unitsOf(int64_t extent) const { return (extent + group - 1) / group; }
  /// True if the format multiplies more steps per cycle than multiply-adds do. Other formats gain only where a
  /// contraction waits for weights from memory.
  bool isFast(const Target &target) const { return productsPerCycle(target) * double(group) > target.fmaPerCycle(); }
  /// True if sums are corrected for zero points instead of operands.
  bool correctsSums() const { return converts && group >= 4; }
  /// True if a product is that of two rows and two columns; only matrix products have code for it.
  bool pairsRows() const { return converts && group == 8; }
  /// The unit whose elements are all 1, of integers.
  int64_t unitOfOnes() const;
};

/// True if one instruction of x86 adds the products of pairs of i16, or of fours of bytes, to sums (vpdpwssd, vpdpbusd).
bool addsDotProducts(const Target &target);
/// True if products of fours of bytes take signed elements on the left: AArch64 without i8mm has sdot, but no usdot.
bool multipliesSignedBytes(const Target &target);
/// What formats that correct sums add to each 8-bit element of `type` on the left, so that it has the sign that products
/// take: 128, -128 or 0. Both are a change of the highest bit.
int64_t addedTo(const Target &target, ElementType type);

/// The format without conversion, for operands of `type`.
ContractionFormat plainFormat(ElementType type);
/// Likewise for operands of these types.
ContractionFormat plainFormat(const ContractionTypes &types);
/// The format of a word of `type=`; "f32" is the plain one, of `type`. The word must be declared.
ContractionFormat formatNamed(std::string_view name, ElementType type);

/// The format that a schedule names, for a contraction of these types.
/// Throws Illegal ("type") if the format does not take the operands or the target cannot multiply it.
ContractionFormat scheduledFormat(const Schedule &schedule, const Target &target, const ContractionTypes &types);
/// True if a precision allows the format, or that of the schedule, which must be declared: a format that rounds operands
/// changes results, so only the precision of its name allows it.
bool allows(Precision precision, const ContractionFormat &format);
bool allows(Precision precision, const Schedule &schedule);
/// True if scheduledFormat accepts the word.
bool formatApplies(std::string_view name, const Target &target, const ContractionTypes &types);

/// The format that priors choose under a precision.
ContractionFormat preferredFormat(Precision precision, const Target &target, const ContractionTypes &types);
/// As preferredFormat, where the contraction gains nothing from smaller weights: plain if that is as fast.
ContractionFormat fastestFormat(Precision precision, const Target &target, const ContractionTypes &types);

} // namespace lathe
