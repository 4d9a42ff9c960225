// The formats in which contractions multiply: the types of operands, units and sums (`type=` of a schedule).
//
// A unit is what the microkernel loads or broadcasts at once: `group` adjacent reduction steps, the earliest one in the
// lowest bits. A product adds the products of the steps of two units to a sum. Steps beyond the last one are zero.
//
//   type  operands  elements of a unit   sums  group  product
//   f32   any type  the operands' own    *     1      multiply-add             * own type, fp32 for 16-bit floats
//   bf16  f32       bf16, rounded        f32   2      vdpbf16ps
//   u8    u8, i8    u8, i8               i32   4      vpdpbusd
//   i16   i8, u8    i16                  i32   2      vpdpwssd, or vpmaddwd and vpaddd
//   i32   i8, u8    i32                  i32   1      multiply and add
//
// A zero point of 8-bit operands is subtracted by the conversion. Differences have 9 bits, so that sums of two products
// fit i32; sums wrap around. u8 multiplies left operands of u8 by right ones of i8 as they are, so that neither may have a
// zero point: productOperand.
//
// A new format is a row of the table in ContractionFormat.cpp, a word in schedule/Algorithms.cpp, and its conversion
// and product in codegen/contraction/FormatCode.cpp.
#pragma once

#include "codegen/target/Target.h"
#include "schedule/Schedule.h"
#include "support/ElementType.h"
#include "support/Precision.h"

#include <cstdint>
#include <string>

namespace lathe {

struct ContractionFormat {
  const char *name;    // word of the parameter `type` of a schedule
  ElementType element; // of a unit
  ElementType unit;    // type that units are loaded and broadcast as
  ElementType sum;     // of the accumulators and of partial sums in scratch
  int64_t group;       // reduction steps of a unit
  bool converts;       // operands are converted when they are packed; false: units are operands as they are
  bool rounds;         // the conversion changes values
  /// True for operands of type `operand` in memory whose contraction has results of type `result`.
  bool (*takes)(ElementType operand, ElementType result);
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

  int64_t unitBytes() const { return bitWidth(unit) / 8; }
  int64_t elementBytes() const { return bitWidth(element) / 8; }
  /// Bytes that an operand's element takes in units.
  double bytesPerStep() const { return double(unitBytes()) / double(group); }
  /// Units of `extent` reduction steps.
  int64_t unitsOf(int64_t extent) const { return (extent + group - 1) / group; }
  /// True if the format multiplies more steps per cycle than multiply-adds do. Other formats gain only where a
  /// contraction waits for weights from memory.
  bool isFast(const Target &target) const { return productsPerCycle(target) * double(group) > target.fmaPerCycle(); }
};

/// True if one instruction adds the products of pairs of i16 (vpdpwssd), and of fours of u8 and i8 (vpdpbusd), to sums.
bool addsPairsOfI16(const Target &target);

/// The type of the operands that decides which formats take a product: that of the left operand; i8 stands for bytes that
/// are not u8 times i8 without zero points.
ElementType productOperand(ElementType left, ElementType right, bool zeroPoints);

/// The format without conversion, for operands of `type`.
ContractionFormat plainFormat(ElementType type);
/// The format of a word of `type=`; "f32" is the plain one, of `type`. The word must be declared.
ContractionFormat formatNamed(std::string_view name, ElementType type);

/// The format that a schedule names, for a contraction of operands of type `operand` with results of type `result`.
/// Throws Illegal ("type") if the format does not take the operands or the target cannot multiply it.
ContractionFormat scheduledFormat(const Schedule &schedule, const Target &target, ElementType operand,
                                  ElementType result);
/// True if results of the schedule differ from those of others because it rounds operands: an alternative only where the
/// precision asks for it. The schedule must be declared.
bool roundsOperands(const Schedule &schedule);
/// True if scheduledFormat accepts the word.
bool formatApplies(std::string_view name, const Target &target, ElementType operand, ElementType result);

/// The format that priors choose under a precision.
ContractionFormat preferredFormat(Precision precision, const Target &target, ElementType operand, ElementType result);
/// As preferredFormat, where the contraction gains nothing from smaller weights: plain if that is as fast.
ContractionFormat fastestFormat(Precision precision, const Target &target, ElementType operand, ElementType result);

} // namespace lathe
