#include "ops/ReferenceSupport.h"

namespace lathe {

std::vector<int64_t> stridesOf(std::span<const int64_t> dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

std::vector<int64_t> broadcastStrides(std::span<const int64_t> operand, std::span<const int64_t> dims) {
  std::vector<int64_t> own = stridesOf(operand), result(dims.size(), 0);
  for (size_t i = 0; i < operand.size(); ++i) {
    size_t axis = i + dims.size() - operand.size();
    require(operand[i] == dims[axis] || operand[i] == 1, "shape {} does not broadcast to {}", fmt::join(operand, "x"),
            fmt::join(dims, "x"));
    result[axis] = operand[i] == 1 ? 0 : own[i];
  }
  return result;
}

void copyStrided(const ReferenceCall &call, const Tensor &x, Tensor &y, std::span<const int64_t> dims,
                 const std::vector<int64_t> &strides, int64_t offset) {
  StridedLoop<1> loop(dims, {strides});
  forStorage(x, y, [&](auto *from, auto *to) {
    call.parallelFor(loop.count(), [&](int64_t begin, int64_t end) {
      int64_t step = loop.innerStride(0);
      loop.run(begin, end, [&](int64_t at, const std::array<int64_t, 1> &offsets, int64_t length) {
        auto *source = from + offset + offsets[0];
        for (int64_t i = 0; i < length; ++i)
          to[at + i] = source[i * step];
      });
    });
  });
}

Tensor lessZeroPoint(const ReferenceCall &call, const Tensor &value, const Tensor &zero,
                     std::span<const int64_t> zeroDims) {
  Tensor from = value.convertedTo(ElementType::i64), zeros = zero.convertedTo(ElementType::i64);
  Tensor result(ElementType::i64, value.dims());
  StridedLoop<2> loop(value.dims(), {stridesOf(value.dims()), broadcastStrides(zeroDims, value.dims())});
  call.parallelFor(loop.count(), [&](int64_t begin, int64_t end) {
    loop.run(begin, end, [&](int64_t at, const std::array<int64_t, 2> &offsets, int64_t length) {
      for (int64_t i = 0; i < length; ++i)
        result.as<int64_t>()[at + i] =
            from.as<int64_t>()[at + i] - zeros.as<int64_t>()[offsets[1] + i * loop.innerStride(1)];
    });
  });
  return result;
}

void assign(Tensor &out, const Tensor &value) {
  if (!out.defined()) {
    out = value;
    return;
  }
  require(out.type() == value.type() && out.elements() == value.elements(), "a result is {} {}, expected {} {}",
          name(value.type()), fmt::join(value.dims(), "x"), name(out.type()), fmt::join(out.dims(), "x"));
  if (out.type() == ElementType::string)
    out.strings() = value.strings();
  else if (value.bytes() > 0)
    std::memcpy(out.data(), value.data(), static_cast<size_t>(value.bytes()));
}

} // namespace lathe
