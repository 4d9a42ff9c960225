// The formats in which contractions multiply: the types of operands, units and sums (`type=` of a schedule).
//
// A unit is what the microkernel loads or broadcasts at once: `group` adjacent reduction steps, the earliest one in the
// lowest bits. A product of two units multiplies them step by step and adds all results to a sum. Steps beyond the last
// one are zero.
//
//   type  operands  elements of a unit  sums  group  product
//   f32   any type  the operands' own   *     1      multiply-add           * own type, fp32 for 16-bit floats
//                   (f32 beside constant weights of f16: each operand is loaded in its own type)
//   bf16  f32       bf16, rounded       f32   2      vdpbf16ps
//   i8    i8, u8    u8 or i8, then i8   i32   4      vpdpbusd, usdot or sdot  * right operand: constant i8
//   i8mm  i8, u8    u8, then i8         i32   8      usmmla, for products     * two rows times two columns
//   i16   i8, u8    i16                 i32   2      vpdpwssd, or vpmaddwd and vpaddd; i16add: AddedOperands.h
//   i32   i8, u8    i32                 i32   1      multiply and add
//
// A zero point of the left operand is subtracted when the operand is converted. Differences have 9 bits, so the sum of
// two products fits i32; longer sums wrap around. Units of bytes have no room for differences. For them, each sum is
// corrected instead: the excess of the operand (its zero point plus addedTo()) times the sum of the weights is
// subtracted. The packed weights end with the sums of the weights.
//
// A zero point of constant weights is never subtracted from the weights, because bytes have no room for the
// differences. Instead it is multiplied by the sum of the left elements of each position, which is the same for all
// columns, and subtracted from the sums.
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

/// The element types of the operands and results of a contraction in memory.
struct ContractionTypes {
  ElementType left; // type of the input of a convolution, or of the left operand of a product
  /// Type of constant weights. For a right operand that is computed or has a zero point: a type that can hold its
  /// values.
  ElementType right;
  ElementType sum; // type of the elements of the results
};

struct ContractionFormat {
  const char *name;    // word for the format in the parameter `type` of a schedule
  ElementType element; // type of the elements of a unit
  ElementType unit;    // type as which a unit is loaded and broadcast
  ElementType sum;     // type of the accumulators and of partial sums in scratch
  int64_t group;       // number of reduction steps in a unit
  bool converts;       // true: operands are converted when they are packed; false: they are units as they are in memory
  bool rounds;         // true: the conversion to units changes values
  /// True if the format can multiply operands and give results of these types.
  bool (*takes)(const ContractionTypes &types);
  /// The types that `takes` accepts, in words for messages.
  const char *takesText;
  /// Returns the reason why the target cannot multiply units of the format; "" if it can.
  std::string (*obstacle)(const Target &target);
  /// Number of vector products of units that the target can start in one cycle.
  double (*productsPerCycle)(const Target &target);
  /// Cycles after a product until the next product can be added to the same sum.
  double (*latency)(const Target &target);
  /// Writes one element of a constant operand, of type `type`, as an element of a unit. Integers may have any type of
  /// at most 16 bits, so that a zero point can be subtracted before.
  void (*write)(const char *from, ElementType type, char *to);
  /// Type as which elements of the left operand are loaded, if it differs from `unit`; invalid: it is `unit`.
  ElementType left = ElementType::invalid;

  ElementType leftUnit() const { return left == ElementType::invalid ? unit : left; }
  int64_t unitBytes() const { return bitWidth(unit) / 8; }
  int64_t elementBytes() const { return bitWidth(element) / 8; }
  /// Returns the bytes of one unit divided by the number of its reduction steps.
  double bytesPerStep() const { return double(unitBytes()) / double(group); }
  /// Number of units for `extent` reduction steps.
  int64_t unitsOf(int64_t extent) const { return (extent + group - 1) / group; }
  /// True if the format multiplies more reduction steps per cycle than multiply-adds do. Any other format is faster
  /// only if a contraction waits for weights from memory.
  bool isFast(const Target &target) const { return productsPerCycle(target) * double(group) > target.fmaPerCycle(); }
  /// True if the format handles zero points by correcting sums instead of operands.
  bool correctsSums() const { return converts && group >= 4; }
  /// True if one product of the format multiplies two rows by two columns. Only matrix products have code for it.
  bool pairsRows() const { return converts && group == 8; }
  /// A unit of integers whose elements are all 1.
  int64_t unitOfOnes() const;
};

/// True if the target has one x86 instruction that adds the products of pairs of i16, or of groups of four bytes, to
/// sums (vpdpwssd, vpdpbusd).
bool addsDotProducts(const Target &target);
/// True if the target's products of groups of four bytes take signed elements on the left, as on AArch64 without i8mm,
/// which has sdot but no usdot.
bool multipliesSignedBytes(const Target &target);
/// The number that formats with correctsSums() add to each 8-bit element of `type` on the left, so that it has the
/// sign that the target's products take: 128, -128 or 0. Adding 128 or -128 changes only the highest bit.
int64_t addedTo(const Target &target, ElementType type);

/// The contraction format that multiplies operands of `type` without conversion.
ContractionFormat plainFormat(ElementType type);
/// The contraction format that multiplies operands of these types without conversion.
ContractionFormat plainFormat(const ContractionTypes &types);
/// The contraction format for a word of the parameter `type=`, which must be declared; "f32" means the format without
/// conversion, for `type`.
ContractionFormat formatNamed(std::string_view name, ElementType type);

/// The contraction format that a schedule names, for a contraction of these types. Throws Illegal ("type") if the
/// format does not take the operands or the target cannot multiply in it.
ContractionFormat scheduledFormat(const Schedule &schedule, const Target &target, const ContractionTypes &types);
/// True if a precision allows a contraction format, or the format of a schedule, which must be declared. A format that
/// rounds operands changes results, so only the precision of its name allows it.
bool allows(Precision precision, const ContractionFormat &format);
bool allows(Precision precision, const Schedule &schedule);
/// True if scheduledFormat accepts the word `name` of the parameter `type=` for these types on this target.
bool formatApplies(std::string_view name, const Target &target, const ContractionTypes &types);

/// The contraction format that priors choose for a precision: one that converts operands if the target has one,
/// because units take less memory than operands.
ContractionFormat preferredFormat(Precision precision, const Target &target, const ContractionTypes &types);
/// The format that priors choose for a contraction that gains nothing from smaller weights: without conversion, unless
/// the format of preferredFormat multiplies faster.
ContractionFormat fastestFormat(Precision precision, const Target &target, const ContractionTypes &types);

} // namespace lathe
