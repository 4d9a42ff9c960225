#include "codegen/space/ContractionFormat.h"

#include "codegen/space/AddedOperands.h"
#include "codegen/space/KernelFacts.h"
#include "support/Text.h"

#include <cmath>
#include <cstring>

namespace lathe {
namespace {

// ---- What formats need ----

/// True for fp32 sums of fp32 values and weights of fp16.
bool halfWeights(const ContractionTypes &types) {
  return types.left == ElementType::f32 && types.right == ElementType::f16 && types.sum == ElementType::f32;
}
bool sameType(const ContractionTypes &types) { return types.left == types.sum && !halfWeights(types); }
bool fp32(const ContractionTypes &types) {
  return types.left == ElementType::f32 && types.sum == ElementType::f32 && !halfWeights(types);
}

bool bytes(const ContractionTypes &types) { return isByte(types.left) && types.sum == ElementType::i32; }
bool timesI8(const ContractionTypes &types) { return bytes(types) && types.right == ElementType::i8; }

std::string noObstacle(const Target &) { return ""; }
std::string bf16Obstacle(const Target &target) {
  if (!target.has("avx512bf16") || target.lanes(32) != 16)
    return fmt::format("{} has no products of bf16 (avx512bf16)", target.str());
  return "";
}

bool isArm(const Target &target) { return target.has("neon"); }

std::string dotProductObstacle(const Target &target) {
  if (isArm(target))
    return target.has("dotprod") ? "" : fmt::format("{} has no dot products of bytes (sdot)", target.str());
  return addsDotProducts(target) ? "" : fmt::format("{} has no dot products of bytes (vpdpbusd)", target.str());
}

std::string pairsOfRowsObstacle(const Target &target) {
  return isArm(target) && target.has("i8mm")
             ? ""
             : fmt::format("{} has no products of pairs of rows of bytes (usmmla)", target.str());
}

std::string pairsOfI16Obstacle(const Target &target) {
  bool has = target.vectorBits == 512   ? target.has("avx512bw")
             : target.vectorBits == 256 ? target.has("avx2")
                                        : target.has("sse4.2");
  return has ? "" : fmt::format("{} has no products of pairs of i16 (vpmaddwd)", target.str());
}

// ---- Rates ----

double multiplyAdds(const Target &target) { return target.fmaPerCycle(); }
double multiplyAddLatency(const Target &target) { return target.machine.fmaLatency; }
double bf16Products(const Target &target) { return target.machine.bf16PerCycle; }
double bf16Latency(const Target &) { return 6; }
/// Two instructions on the ports of multiply-adds.
double multipliesAndAdds(const Target &target) { return target.fmaPerCycle() / 2; }
/// Without VNNI the additions have ports beside those of the products as well: 1.5 a cycle, measured 1.57 (Zen 4).
double pairsOfI16(const Target &target) { return target.fmaPerCycle() * (addsDotProducts(target) ? 1 : 0.75); }
/// One product and three additions for two products: measured 1.85 a cycle (Zen 4).
double addedPairsOfI16(const Target &target) { return target.fmaPerCycle() * 0.92; }

// ---- Elements of constant operands ----

void copy(const char *from, ElementType type, char *to) { std::memcpy(to, from, bitWidth(type) / 8); }

/// Rounds f32 to nearest even; NaN stays NaN.
void roundToBf16(const char *from, ElementType, char *to) {
  float value;
  uint32_t bits;
  std::memcpy(&value, from, sizeof value);
  std::memcpy(&bits, from, sizeof bits);
  uint32_t rounded = std::isnan(value) ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  auto half = static_cast<uint16_t>(rounded);
  std::memcpy(to, &half, sizeof half);
}

int64_t integer(const char *from, ElementType type) {
  switch (type) {
  case ElementType::i8:
    return *reinterpret_cast<const int8_t *>(from);
  case ElementType::u8:
    return *reinterpret_cast<const uint8_t *>(from);
  default: // i16
    int16_t value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
}

template <class Integer> void widen(const char *from, ElementType type, char *to) {
  auto value = static_cast<Integer>(integer(from, type));
  std::memcpy(to, &value, sizeof value);
}

/// The formats that convert operands, the one that priors prefer first.
const std::vector<ContractionFormat> &converting() {
  static const std::vector<ContractionFormat> table = {
      {"bf16", ElementType::bf16, ElementType::f32, ElementType::f32, 2, true, true, fp32, "f32", bf16Obstacle,
       bf16Products, bf16Latency, roundToBf16},
      {"i8", ElementType::i8, ElementType::i32, ElementType::i32, 4, true, false, timesI8,
       "i8 or u8 and constant weights of type i8", dotProductObstacle, multiplyAdds, multiplyAddLatency, widen<int8_t>},
      {"i8mm", ElementType::i8, ElementType::i64, ElementType::i32, 8, true, false, timesI8,
       "i8 or u8 and constant weights of type i8", pairsOfRowsObstacle, multiplyAdds, multiplyAddLatency,
       widen<int8_t>},
      {"i16", ElementType::i16, ElementType::i32, ElementType::i32, 2, true, false, bytes, "i8 or u8",
       pairsOfI16Obstacle, pairsOfI16, multiplyAddLatency, widen<int16_t>},
      {"i16add", ElementType::i16, ElementType::i32, ElementType::i32, 2, true, false, timesI8,
       "i8 or u8 and constant weights of type i8", pairsOfI16Obstacle, addedPairsOfI16, multiplyAddLatency,
       widen<int16_t>},
      {"i32", ElementType::i32, ElementType::i32, ElementType::i32, 1, true, false, bytes, "i8 or u8", noObstacle,
       multipliesAndAdds, multiplyAddLatency, widen<int32_t>},
  };
  return table;
}

/// Returns the reason why the format cannot take these operands; "" if it can.
std::string mismatch(const ContractionFormat &format, const ContractionTypes &types) {
  if (format.takes(types))
    return "";
  return fmt::format("type={} is for operands of type {}, these are {} and {} with sums of type {}", format.name,
                     format.takesText, name(types.left), name(types.right), name(types.sum));
}

} // namespace

int64_t ContractionFormat::unitOfOnes() const {
  int64_t unit = 0;
  for (int64_t step = 0; step < group; ++step)
    unit |= int64_t(1) << (step * bitWidth(element));
  return unit;
}

bool multipliesSignedBytes(const Target &target) { return isArm(target) && !target.has("i8mm"); }

int64_t addedTo(const Target &target, ElementType type) {
  if (isSignedInteger(type) == multipliesSignedBytes(target))
    return 0;
  return isSignedInteger(type) ? 128 : -128;
}

bool addsDotProducts(const Target &target) {
  if (target.vectorBits == 512)
    return target.has("avx512vnni");
  return (target.has("avx512vnni") && target.has("avx512vl")) || target.has("avxvnni");
}

ContractionFormat plainFormat(ElementType type) {
  ElementType sum = isFloat(type) && bitWidth(type) == 16 ? ElementType::f32 : type;
  return {
      "f32", type, type, sum, 1, false, false, sameType, "of their sums", noObstacle, multiplyAdds, multiplyAddLatency,
      copy};
}

ContractionFormat plainFormat(const ContractionTypes &types) {
  if (!halfWeights(types))
    return plainFormat(types.sum);
  ContractionFormat format = plainFormat(types.right);
  format.takes = halfWeights;
  format.left = types.left;
  return format;
}

ContractionFormat formatNamed(std::string_view name, ElementType type) {
  for (const ContractionFormat &format : converting())
    if (format.name == name)
      return format;
  return plainFormat(type);
}

namespace {

ContractionFormat formatNamed(std::string_view name, const ContractionTypes &types) {
  ContractionFormat format = lathe::formatNamed(name, types.sum);
  return format.converts ? format : plainFormat(types);
}

} // namespace

ContractionFormat scheduledFormat(const Schedule &schedule, const Target &target, const ContractionTypes &types) {
  ContractionFormat format = formatNamed(schedule.word("type"), types);
  if (std::string reason = mismatch(format, types); !reason.empty())
    throw Illegal{"type", reason};
  if (std::string reason = format.obstacle(target); !reason.empty())
    throw Illegal{"type", reason};
  return format;
}

bool allows(Precision precision, const ContractionFormat &format) {
  return !format.rounds || format.name == name(precision);
}

bool allows(Precision precision, const Schedule &schedule) {
  std::string type = validate(schedule).find("type") ? schedule.word("type") : ""; // some algorithms have no formats
  return allows(precision, formatNamed(type, ElementType::f32));
}

bool formatApplies(std::string_view name, const Target &target, const ContractionTypes &types) {
  ContractionFormat format = formatNamed(name, types);
  return format.takes(types) && format.obstacle(target).empty();
}

ContractionFormat preferredFormat(Precision precision, const Target &target, const ContractionTypes &types) {
  for (const ContractionFormat &format : converting())
    if (format.takes(types) && allows(precision, format) && !format.pairsRows() && !addsOperands(format) &&
        format.obstacle(target).empty())
      return format;
  return plainFormat(types);
}

ContractionFormat fastestFormat(Precision precision, const Target &target, const ContractionTypes &types) {
  ContractionFormat format = preferredFormat(precision, target, types), plain = plainFormat(types);
  return plain.takes(types) && !format.isFast(target) ? plain : format;
}

} // namespace lathe
