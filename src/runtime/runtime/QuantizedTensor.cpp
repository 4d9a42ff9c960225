#include "runtime/QuantizedTensor.h"

#include <cmath>
#include <limits>

namespace lathe {
namespace {

std::string extentsText(const Tensor &tensor) {
  std::string text;
  for (int64_t dim : tensor.dims())
    text += fmt::format("{}{}", text.empty() ? "" : "x", dim);
  return text.empty() ? "a scalar" : text;
}

/// Calls use(element, channel) for every element; the channel is the index of its scale.
template <class Use> void eachElement(const Quantization &how, const Tensor &tensor, const Use &use) {
  int64_t inner = 1, channels = 1;
  if (how.perChannel()) {
    auto axis = static_cast<size_t>(how.axis);
    require(how.axis >= 0 && axis < tensor.rank() && tensor.dim(axis) == static_cast<int64_t>(how.scales.size()),
            "the tensor is {}, expected {} channels along axis {}", extentsText(tensor), how.scales.size(), how.axis);
    channels = tensor.dim(axis);
    for (size_t i = axis + 1; i < tensor.rank(); ++i)
      inner *= tensor.dim(i);
  }
  for (int64_t i = 0, count = tensor.elements(); i < count; ++i)
    use(i, static_cast<size_t>(i / inner % channels));
}

/// Calls use(T()) with the integer type.
template <class Use> void withInteger(ElementType type, const Use &use) {
  switch (type) {
  case ElementType::i8:
    return use(int8_t());
  case ElementType::u8:
    return use(uint8_t());
  case ElementType::i16:
    return use(int16_t());
  case ElementType::u16:
    return use(uint16_t());
  case ElementType::i32:
    return use(int32_t());
  default:
    fail("a quantised tensor is {}, expected i8, u8, i16, u16 or i32", name(type));
  }
}

void check(const Quantization &how, const Tensor &real, const Tensor &integers) {
  require(!how.scales.empty() && how.scales.size() == how.zeroPoints.size(), "has {} scales and {} zero points",
          how.scales.size(), how.zeroPoints.size());
  require(real.type() == ElementType::f32, "the real numbers are {}, expected f32", name(real.type()));
  require(real.dims() == integers.dims(), "the real numbers are {}, the integers {}", extentsText(real),
          extentsText(integers));
}

} // namespace

void quantizeInto(const Quantization &how, const Tensor &real, Tensor &integers) {
  check(how, real, integers);
  withInteger(integers.type(), [&](auto zero) {
    using T = decltype(zero);
    constexpr double least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
    const auto *from = real.as<float>();
    auto *to = integers.as<T>();
    eachElement(how, real, [&](int64_t i, size_t channel) {
      double steps = std::round(from[i] / how.scales[channel]); // a float, as TensorFlow Lite divides
      double value = (std::isnan(steps) ? 0 : steps) + static_cast<double>(how.zeroPoints[channel]);
      to[i] = static_cast<T>(std::clamp(value, least, most));
    });
  });
}

void dequantizeInto(const Quantization &how, const Tensor &integers, Tensor &real) {
  check(how, real, integers);
  withInteger(integers.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto *from = integers.as<T>();
    auto *to = real.as<float>();
    eachElement(how, integers, [&](int64_t i, size_t channel) {
      to[i] = how.scales[channel] * static_cast<float>(int64_t(from[i]) - how.zeroPoints[channel]);
    });
  });
}

Tensor quantized(const Quantization &how, const Tensor &real, ElementType type) {
  Tensor result(type, real.dims());
  quantizeInto(how, real.convertedTo(ElementType::f32), result);
  return result;
}

Tensor dequantized(const Quantization &how, const Tensor &integers) {
  Tensor result(ElementType::f32, integers.dims());
  dequantizeInto(how, integers, result);
  return result;
}

} // namespace lathe
