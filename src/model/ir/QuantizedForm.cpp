#include "ir/QuantizedForm.h"

#include "support/Error.h"

#include <cmath>
#include <cstring>

namespace lathe::nn {
namespace {

template <class T> void readAs(const ConstantData &data, std::vector<double> &numbers) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    T element;
    std::memcpy(&element, data.bytes.data() + (data.splat ? 0 : i * sizeof(T)), sizeof(T));
    numbers[i] = static_cast<double>(element);
  }
}

/// A constant that scales or offsets a tensor, with values along at most one axis.
struct Parameter {
  std::vector<double> values;
  std::optional<int64_t> axis; // counted from the last axis (-1)
};

/// `value` as a parameter: a constant, possibly with views and casts.
std::optional<Parameter> parameterOf(mlir::Value value) {
  auto shape = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  if (!shape || !shape.hasStaticShape())
    return std::nullopt;
  while (value.getDefiningOp() && (isOp(value.getDefiningOp(), "reshape") || isOp(value.getDefiningOp(), "cast")))
    value = value.getDefiningOp()->getOperand(0);
  auto values = constantNumbers(value);
  if (!values)
    return std::nullopt;
  Parameter parameter{std::move(*values), std::nullopt};
  for (int64_t i = 0; i < shape.getRank(); ++i)
    if (shape.getDimSize(i) != 1) {
      if (parameter.axis)
        return std::nullopt; // scales of blocks
      parameter.axis = i - shape.getRank();
    }
  return parameter;
}

/// A binary operator with a parameter, and its other operand.
struct Binary {
  mlir::Value other;
  Parameter parameter;
};
std::optional<Binary> binaryAt(mlir::Operation *op, std::string_view mnemonic, bool commutes) {
  if (!isOp(op, mnemonic))
    return std::nullopt;
  for (unsigned position : {1u, 0u}) {
    if (position == 0 && !commutes)
      break;
    if (auto parameter = parameterOf(op->getOperand(position)))
      return Binary{op->getOperand(1 - position), std::move(*parameter)};
  }
  return std::nullopt;
}

/// Gives both parameters one axis of a tensor of `rank`. Returns false if they vary along different axes.
bool settle(QuantizedScale &result, const Parameter &scale, const std::optional<Parameter> &zero, int64_t rank) {
  std::optional<int64_t> axis = scale.axis ? scale.axis : zero ? zero->axis : std::nullopt;
  if (zero && zero->axis && scale.axis && zero->axis != scale.axis)
    return false;
  if (axis)
    result.axis = *axis + rank;
  size_t count = std::max(scale.values.size(), zero ? zero->values.size() : 1);
  auto spread = [&](const std::vector<double> &values) {
    return values.size() == count ? values : std::vector<double>(count, values.at(0));
  };
  result.scale = spread(scale.values);
  result.zeroPoint = zero ? spread(zero->values) : std::vector<double>(count, 0.0);
  return true;
}

bool isQuantizedType(ElementType type) { return isInteger(type) && bitWidth(type) <= 32 && bitWidth(type) >= 8; }

bool onlyUse(mlir::Value value) { return value.hasOneUse(); }

ElementType typeOf(mlir::Value value) { return infoOf(value).type; }

int64_t rankOf(mlir::Value value) { return static_cast<int64_t>(infoOf(value).dims.size()); }

mlir::Value parameterConstant(mlir::OpBuilder &builder, mlir::Location loc, const std::vector<double> &values,
                              const QuantizedScale &scale, int64_t rank, const std::string &name) {
  std::vector<int64_t> dims;
  if (scale.axis) {
    dims.assign(rank - *scale.axis, 1);
    dims[0] = static_cast<int64_t>(values.size());
  }
  std::vector<float> floats(values.begin(), values.end());
  auto attr = makeConstant(builder.getContext(), ElementType::f32, dims,
                           {reinterpret_cast<const char *>(floats.data()), floats.size() * sizeof(float)}, name);
  return builder.create<ConstantOp>(mlir::NameLoc::get(builder.getStringAttr(name), loc), attr.getType(), attr);
}

bool allZero(const std::vector<double> &values) {
  return llvm::all_of(values, [](double value) { return value == 0; });
}

} // namespace

std::pair<double, double> integerLimits(ElementType type) {
  double steps = std::exp2(bitWidth(type));
  return isSignedInteger(type) ? std::pair(-steps / 2, steps / 2 - 1) : std::pair(0.0, steps - 1);
}

std::optional<std::vector<double>> constantNumbers(mlir::Value value) {
  auto constant = value ? value.getDefiningOp<ConstantOp>() : nullptr;
  if (!constant)
    return std::nullopt;
  ConstantData data = constantData(constant.getValue());
  int64_t count = 1;
  for (int64_t extent : data.dims)
    count *= extent;
  std::vector<double> numbers(count);
  switch (data.type) {
  case ElementType::f32:
    readAs<float>(data, numbers);
    return numbers;
  case ElementType::f64:
    readAs<double>(data, numbers);
    return numbers;
  case ElementType::i8:
    readAs<int8_t>(data, numbers);
    return numbers;
  case ElementType::u8:
    readAs<uint8_t>(data, numbers);
    return numbers;
  case ElementType::i16:
    readAs<int16_t>(data, numbers);
    return numbers;
  case ElementType::u16:
    readAs<uint16_t>(data, numbers);
    return numbers;
  case ElementType::i32:
    readAs<int32_t>(data, numbers);
    return numbers;
  default:
    return std::nullopt;
  }
}

std::optional<QuantizedForm> quantizeAt(mlir::Operation *op) {
  if (!isOp(op, "cast") || !isQuantizedType(typeOf(op->getResult(0))))
    return std::nullopt;
  QuantizedForm form;
  form.scale.type = typeOf(op->getResult(0));
  mlir::Operation *clip = op->getOperand(0).getDefiningOp();
  if (!isOp(clip, "clip") || !onlyUse(clip->getResult(0)))
    return std::nullopt;
  auto limits = attrsAs<ClipAttrs>(clip);
  if (std::pair(limits.min, limits.max) != integerLimits(form.scale.type))
    return std::nullopt;
  mlir::Operation *sum = clip->getOperand(0).getDefiningOp(), *round = sum;
  auto offset = binaryAt(sum, "add", true);
  if (offset)
    round = offset->other.getDefiningOp();
  if (!isOp(round, "round") || !onlyUse(round->getResult(0)) || (offset && !onlyUse(sum->getResult(0))))
    return std::nullopt;
  mlir::Operation *quotient = round->getOperand(0).getDefiningOp();
  auto divided = binaryAt(quotient, "div", false);
  if (!divided || !onlyUse(quotient->getResult(0)) || typeOf(divided->other) != ElementType::f32)
    return std::nullopt;
  form.x = divided->other;
  std::optional<Parameter> zero = offset ? std::optional(offset->parameter) : std::nullopt;
  if (!settle(form.scale, divided->parameter, zero, rankOf(form.x)))
    return std::nullopt;
  form.ops = {quotient, round};
  if (offset)
    form.ops.push_back(sum);
  form.ops.append({clip, op});
  return form;
}

std::optional<QuantizedForm> dequantizeAt(mlir::Operation *op) {
  auto scaled = binaryAt(op, "mul", true);
  if (!scaled)
    return std::nullopt;
  QuantizedForm form;
  mlir::Operation *difference = scaled->other.getDefiningOp(), *cast = difference;
  auto offset = binaryAt(difference, "sub", false);
  if (offset)
    cast = offset->other.getDefiningOp();
  if (!isOp(cast, "cast") || !isQuantizedType(typeOf(cast->getOperand(0))) ||
      typeOf(cast->getResult(0)) != ElementType::f32)
    return std::nullopt;
  form.x = cast->getOperand(0);
  form.scale.type = typeOf(form.x);
  std::optional<Parameter> zero = offset ? std::optional(offset->parameter) : std::nullopt;
  if (!settle(form.scale, scaled->parameter, zero, rankOf(form.x)) || rankOf(op->getResult(0)) != rankOf(form.x))
    return std::nullopt;
  form.ops = {cast};
  if (offset)
    form.ops.push_back(difference);
  form.ops.push_back(op);
  return form;
}

std::optional<QuantizedForm> dequantizeOf(mlir::Value value) {
  mlir::Operation *op = value ? value.getDefiningOp() : nullptr;
  return op ? dequantizeAt(op) : std::nullopt;
}

mlir::Value buildQuantize(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x, const QuantizedScale &scale,
                          llvm::StringRef name) {
  auto parameter = [&](const std::vector<double> &values, const char *suffix) {
    return parameterConstant(builder, loc, values, scale, rankOf(x), name.str() + suffix);
  };
  mlir::Value y = buildValue(builder, loc, "div", {x, parameter(scale.scale, "_scale")}, DivAttrs());
  y = buildValue(builder, loc, "round", {y}, RoundAttrs());
  if (!allZero(scale.zeroPoint))
    y = buildValue(builder, loc, "add", {y, parameter(scale.zeroPoint, "_zero_point")}, AddAttrs());
  ClipAttrs limits;
  std::tie(limits.min, limits.max) = integerLimits(scale.type);
  y = buildValue(builder, loc, "clip", {y, {}, {}}, std::move(limits));
  CastAttrs cast;
  cast.to = scale.type;
  return buildValue(builder, loc, "cast", {y}, std::move(cast));
}

mlir::Value buildDequantize(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x, const QuantizedScale &scale,
                            llvm::StringRef name) {
  auto parameter = [&](const std::vector<double> &values, const char *suffix) {
    return parameterConstant(builder, loc, values, scale, rankOf(x), name.str() + suffix);
  };
  CastAttrs cast;
  cast.to = ElementType::f32;
  mlir::Value y = buildValue(builder, loc, "cast", {x}, std::move(cast));
  if (!allZero(scale.zeroPoint))
    y = buildValue(builder, loc, "sub", {y, parameter(scale.zeroPoint, "_zero_point")}, SubAttrs());
  return buildValue(builder, loc, "mul", {y, parameter(scale.scale, "_scale")}, MulAttrs());
}

} // namespace lathe::nn
