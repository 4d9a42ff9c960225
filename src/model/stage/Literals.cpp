#include "stage/Literals.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace lathe::staging {
namespace {

constexpr int64_t mostIntegers = 16;
constexpr int64_t mostFilled = int64_t(1) << 20;

class Collector : public AttrVisitor {
public:
  std::vector<AttributeLiteral> list;
  void field(const char *name, int64_t &value) override { put(name, value); }
  void field(const char *name, double &value) override { put(name, value); }
  void field(const char *name, bool &value) override { put(name, value); }
  void field(const char *name, std::string &value) override { put(name, value); }
  void field(const char *name, ElementType &value) override { put(name, value); }
  void field(const char *name, std::vector<int64_t> &value) override { put(name, value); }
  void field(const char *name, std::vector<double> &value) override { put(name, value); }

private:
  template <class T> void put(const char *name, const T &value) { list.push_back({name, Literal(value), false}); }
};

template <class T> int64_t elementAt(const char *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return static_cast<int64_t>(value);
}

/// The integer or boolean at `at`; nothing for another type, or one that an int64_t cannot hold.
std::optional<int64_t> integerAt(ElementType type, const char *at) {
  switch (type) {
  case ElementType::boolean:
  case ElementType::u8:
    return elementAt<uint8_t>(at);
  case ElementType::i8:
    return elementAt<int8_t>(at);
  case ElementType::i16:
    return elementAt<int16_t>(at);
  case ElementType::u16:
    return elementAt<uint16_t>(at);
  case ElementType::i32:
    return elementAt<int32_t>(at);
  case ElementType::u32:
    return elementAt<uint32_t>(at);
  case ElementType::i64:
    return elementAt<int64_t>(at);
  default:
    return std::nullopt;
  }
}

/// The finite real at `at`; for f32 the shortest decimal that rounds to it.
std::optional<double> realAt(ElementType type, const char *at) {
  double value = 0;
  if (type == ElementType::f32) {
    float single;
    std::memcpy(&single, at, sizeof single);
    value = single;
    if (double decimal = std::strtod(fmt::format("{}", single).c_str(), nullptr); static_cast<float>(decimal) == single)
      value = decimal;
  } else if (type == ElementType::f64) {
    std::memcpy(&value, at, sizeof value);
  } else {
    return std::nullopt;
  }
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// True if all elements have the same bytes.
bool isFilled(const nn::ConstantData &data, int64_t count) {
  if (data.splat)
    return true;
  auto width = static_cast<int64_t>(data.bytes.size()) / std::max<int64_t>(count, 1);
  return count > 0 && data.bytes.size() > size_t(width) && bitWidth(data.type) >= 8 &&
         std::memcmp(data.bytes.data(), data.bytes.data() + width, data.bytes.size() - size_t(width)) == 0;
}

} // namespace

std::vector<AttributeLiteral> attributeLiterals(mlir::Operation *op) {
  Collector collector, defaults;
  auto attrs = nn::attrsOf(op);
  attrs->visit(collector);
  attrs->defaults()->visit(defaults);
  for (size_t i = 0; i < collector.list.size(); ++i)
    collector.list[i].isDefault = sameLiteral(collector.list[i].value, defaults.list[i].value);
  return collector.list;
}

std::optional<ConstantLiteral> constantLiteral(mlir::ElementsAttr elements) {
  nn::ConstantData data = nn::constantData(elements);
  ConstantLiteral literal{data.type, data.dims, {}, {}};
  int64_t count = 1;
  for (int64_t extent : data.dims)
    count *= extent;
  if (count == 0 || bitWidth(data.type) < 8)
    return std::nullopt;
  bool filled = count > 1 && count <= mostFilled && isFilled(data, count);
  if (count > mostIntegers && !filled)
    return std::nullopt;
  size_t width = bitWidth(data.type) / 8;
  for (int64_t i = 0; i < (filled ? 1 : count); ++i) {
    const char *at = data.bytes.data() + (data.splat ? 0 : size_t(i) * width);
    if (auto integer = integerAt(data.type, at))
      literal.integers.push_back(*integer);
    else if (auto real = realAt(data.type, at); real && (count == 1 || filled))
      literal.reals.push_back(*real);
    else
      return std::nullopt;
  }
  return literal;
}

} // namespace lathe::staging
