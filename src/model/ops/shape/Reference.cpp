#include "ops/ReferenceSupport.h"

namespace lathe {

void runReshape(const ReshapeAttrs &, ReferenceCall &call) {
  assign(call.out(0), call.in(0).reshaped(call.out(0).dims()));
}

void runBitCast(const BitCastAttrs &a, ReferenceCall &call) {
  Tensor copy = call.in(0).clone();
  assign(call.out(0), Tensor::borrow(a.to, copy.dims(), copy.data()).clone());
}

void runShape(const ShapeAttrs &a, ReferenceCall &call) {
  const std::vector<int64_t> &dims = call.in(0).dims();
  int64_t rank = dims.size();
  int64_t start = std::clamp<int64_t>(a.start < 0 ? a.start + rank : a.start, 0, rank);
  std::copy_n(dims.begin() + start, call.out(0).elements(), call.out(0).as<int64_t>());
}

void runConstantOfShape(const ConstantOfShapeAttrs &a, ReferenceCall &call) {
  Tensor value = Tensor::of<double>({}, {a.value}).convertedTo(a.type);
  Tensor &y = call.out(0);
  if (bitWidth(y.type()) < 8) // two elements a byte
    return assign(y, Tensor::of<double>(y.dims(), std::vector<double>(y.elements(), a.value)).convertedTo(a.type));
  copyStrided(call, value, y, y.dims(), std::vector<int64_t>(y.rank(), 0));
}

void runRange(const RangeAttrs &, ReferenceCall &call) {
  forNumber(call.in(0).type(), [&]<class T>(T) {
    T start = *call.in(0).as<T>(), limit = *call.in(1).as<T>(), delta = *call.in(2).as<T>();
    require(delta != 0, "range_c2: delta is zero");
    double span = static_cast<double>(limit) - static_cast<double>(start);
    double exact = std::ceil(span / static_cast<double>(delta));
    require(exact < 4e9, "range: {} values from {} to {} by {}", exact, start, limit, delta); // false for NaN too
    Tensor &y = call.out(0);
    if (!y.defined())
      y = Tensor(call.in(0).type(), {std::max<int64_t>(static_cast<int64_t>(exact), 0)});
    for (int64_t i = 0; i < y.elements(); ++i)
      y.as<T>()[i] = wrapAdd(start, wrapMul(static_cast<T>(i), delta));
  });
}

} // namespace lathe
