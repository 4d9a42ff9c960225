#include "ops/Registry.h"

#include <limits>

namespace lathe {
namespace {

TensorInfo like(const TensorInfo &x, ElementType type) { return TensorInfo{type, x.dims, std::nullopt}; }

Dims broadcastOperands(const Dims &a, const Dims &b, const char *constraint) {
  try {
    return broadcast(a, b);
  } catch (const Error &error) {
    fail("{}: {}", constraint, error.what());
  }
}

/// Contents of f(a, b) if both are known and have rank 0 or 1, so that broadcasting is by index or from one element.
template <class F> TensorInfo binaryContents(TensorInfo y, const TensorInfo &a, const TensorInfo &b, F &&f) {
  return withContents(std::move(y), [&]() -> std::optional<std::vector<Dim>> {
    if (!a.contents || !b.contents || a.rank() > 1 || b.rank() > 1)
      return std::nullopt;
    size_t na = a.contents->size(), nb = b.contents->size();
    if (na != nb && na != 1 && nb != 1)
      return std::nullopt;
    std::vector<Dim> result;
    for (size_t i = 0; i < (na == 0 || nb == 0 ? 0 : std::max(na, nb)); ++i) {
      std::optional<Dim> value = f((*a.contents)[na == 1 ? 0 : i], (*b.contents)[nb == 1 ? 0 : i]);
      if (!value)
        return std::nullopt;
      result.push_back(*value);
    }
    return result;
  });
}

TensorInfo arithmetic(const InferInputs &in) {
  const TensorInfo &a = *in[0], &b = *in[1];
  require(a.type == b.type, "binary_c1: operands are {} and {}, expected the same type", name(a.type), name(b.type));
  requireNumber(a.type, "binary_c3");
  return TensorInfo{a.type, broadcastOperands(a.dims, b.dims, "binary_c2"), std::nullopt};
}

/// Shape arithmetic uses i64 (or i32, in which extents do not overflow).
template <class F> InferResult arithmeticWith(const InferInputs &in, F &&f) {
  TensorInfo y = arithmetic(in);
  if (y.type != ElementType::i64 && y.type != ElementType::i32)
    return {y};
  return {binaryContents(std::move(y), *in[0], *in[1], f)};
}

bool bothConstant(const Dim &a, const Dim &b) { return a.isConstant() && b.isConstant(); }

} // namespace

InferResult inferFloatUnary(const Attrs &, const InferInputs &in) {
  requireFloat(in[0]->type, "unary_c1");
  return {like(*in[0], in[0]->type)};
}

InferResult inferNumberUnary(const Attrs &, const InferInputs &in) {
  requireNumber(in[0]->type, "unary_c1");
  return {like(*in[0], in[0]->type)};
}

InferResult inferNeg(const NegAttrs &attrs, const InferInputs &in) {
  InferResult result = inferNumberUnary(attrs, in);
  const auto &values = in[0]->contents;
  if (values && (result[0].type == ElementType::i64 || result[0].type == ElementType::i32))
    result[0] = withContents(std::move(result[0]), [&]() -> std::optional<std::vector<Dim>> {
      std::vector<Dim> negated;
      for (const Dim &value : *values)
        negated.push_back(Dim(0) - value);
      return negated;
    });
  return result;
}

InferResult inferLogicalUnary(const Attrs &, const InferInputs &in) {
  require(in[0]->type == ElementType::boolean, "unary_c1: the element type is {}, expected bool", name(in[0]->type));
  return {withContents(like(*in[0], in[0]->type), [&]() -> std::optional<std::vector<Dim>> {
    if (!in[0]->contents)
      return std::nullopt;
    std::vector<Dim> result;
    for (const Dim &value : *in[0]->contents) {
      if (!value.isConstant())
        return std::nullopt;
      result.push_back(value.constant() == 0);
    }
    return result;
  })};
}

InferResult inferFloatPredicate(const Attrs &, const InferInputs &in) {
  requireFloat(in[0]->type, "unary_c1");
  return {like(*in[0], ElementType::boolean)};
}

InferResult inferBitwiseUnary(const Attrs &, const InferInputs &in) {
  require(isInteger(in[0]->type), "bitwise_c1: the element type is {}, expected an integer type", name(in[0]->type));
  return {like(*in[0], in[0]->type)};
}

InferResult inferBitwise(const Attrs &, const InferInputs &in) {
  TensorInfo y = arithmetic(in);
  require(isInteger(y.type), "bitwise_c1: the element type is {}, expected an integer type", name(y.type));
  return {y};
}

InferResult inferBitShift(const BitShiftAttrs &a, const InferInputs &in) {
  TensorInfo y = arithmetic(in);
  require(isUnsignedInteger(y.type), "bit_shift_c1: the element type is {}, expected an unsigned integer",
          name(y.type));
  require(a.direction == "LEFT" || a.direction == "RIGHT",
          "bit_shift_c2: direction is '{}', expected 'LEFT' or 'RIGHT'", a.direction);
  return {y};
}

InferResult inferGelu(const GeluAttrs &a, const InferInputs &in) {
  require(a.approximate == "none" || a.approximate == "tanh", "gelu_c1: approximate is '{}', expected 'none' or 'tanh'",
          a.approximate);
  return inferFloatUnary(a, in);
}

InferResult inferClip(const ClipAttrs &, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  requireNumber(x.type, "clip_c2");
  for (size_t i = 1; i < 3; ++i)
    if (const TensorInfo *bound = operand(in, i)) {
      require(bound->type == x.type && mayAgree(product(bound->dims), 1),
              "clip_c1: bound is {} {}, expected one element of {}", name(bound->type), str(bound->dims), name(x.type));
    }
  return {like(x, x.type)};
}

InferResult inferCast(const CastAttrs &a, const InferInputs &in) {
  require(a.to != ElementType::invalid, "cast_c1: the element type to convert to is missing");
  const TensorInfo &x = *in[0];
  return {withContents(like(x, a.to), [&]() -> std::optional<std::vector<Dim>> {
    if (!x.contents)
      return std::nullopt;
    if (a.to == ElementType::i64)
      return x.contents;
    std::vector<Dim> result;
    for (const Dim &value : *x.contents) {
      if (a.to == ElementType::boolean && value.isConstant())
        result.push_back(value.constant() != 0);
      else if (a.to == ElementType::i32 &&
               (!value.isConstant() || value.constant() == static_cast<int32_t>(value.constant())))
        result.push_back(value);
      else
        return std::nullopt;
    }
    return result;
  })};
}

InferResult inferAdd(const AddAttrs &, const InferInputs &in) {
  return arithmeticWith(in, [](const Dim &a, const Dim &b) { return std::optional(a + b); });
}

InferResult inferSub(const SubAttrs &, const InferInputs &in) {
  return arithmeticWith(in, [](const Dim &a, const Dim &b) { return std::optional(a - b); });
}

InferResult inferMul(const MulAttrs &, const InferInputs &in) {
  return arithmeticWith(in, [](const Dim &a, const Dim &b) { return std::optional(a * b); });
}

InferResult inferDiv(const DivAttrs &, const InferInputs &in) {
  return arithmeticWith(in, [](const Dim &a, const Dim &b) -> std::optional<Dim> {
    if (b == Dim(0))
      return std::nullopt;
    if (bothConstant(a, b)) { // truncates
      if (b.constant() == -1)
        return Dim(0) - a;
      return Dim(a.constant() / b.constant());
    }
    if (isNonNegative(a) && isNonNegative(b))
      return floorDiv(a, b);
    return std::nullopt;
  });
}

InferResult inferMax(const MaxAttrs &, const InferInputs &in) {
  return arithmeticWith(in, [](const Dim &a, const Dim &b) { return std::optional(maximum(a, b)); });
}

InferResult inferMin(const MinAttrs &, const InferInputs &in) {
  return arithmeticWith(in, [](const Dim &a, const Dim &b) { return std::optional(minimum(a, b)); });
}

InferResult inferMod(const ModAttrs &attrs, const InferInputs &in) {
  require(attrs.fmod || !isFloat(in[0]->type), "mod_c1: {} operands need fmod", name(in[0]->type));
  return arithmeticWith(in, [](const Dim &a, const Dim &b) -> std::optional<Dim> {
    if (isNonNegative(a) && b.isConstant() && b.constant() > 0) // both operands are non-negative
      return a - floorDiv(a, b) * b;
    return std::nullopt;
  });
}

InferResult inferPow(const PowAttrs &, const InferInputs &in) { return {arithmetic(in)}; }

InferResult inferPrelu(const PreluAttrs &, const InferInputs &in) {
  TensorInfo y = arithmetic(in);
  bool same = y.rank() == in[0]->rank();
  for (size_t i = 0; same && i < y.rank(); ++i)
    same = mayAgree(y.dims[i], in[0]->dims[i]);
  require(same, "prelu_c1: slope is {}, expected to broadcast to {}", str(in[1]->dims), str(in[0]->dims));
  y.dims = in[0]->dims;
  return {y};
}

InferResult inferComparison(const Attrs &, const InferInputs &in) {
  TensorInfo y = arithmetic(in);
  y.type = ElementType::boolean;
  return {y};
}

InferResult inferEqual(const EqualAttrs &, const InferInputs &in) {
  const TensorInfo &a = *in[0], &b = *in[1];
  require(a.type == b.type, "binary_c1: operands are {} and {}, expected the same type", name(a.type), name(b.type));
  TensorInfo y{ElementType::boolean, broadcastOperands(a.dims, b.dims, "binary_c2"), std::nullopt};
  return {binaryContents(std::move(y), a, b, [](const Dim &a, const Dim &b) -> std::optional<Dim> {
    if (a == b)
      return Dim(1);
    Dim difference = a - b;
    if (difference.isConstant())
      return Dim(0);
    // An extent never equals a negative number. Exported shape arithmetic compares with -1.
    if ((b.constantOr(0) < 0 && isNonNegative(a)) || (a.constantOr(0) < 0 && isNonNegative(b)))
      return Dim(0);
    return std::nullopt;
  })};
}

InferResult inferLogical(const Attrs &, const InferInputs &in) {
  const TensorInfo &a = *in[0], &b = *in[1];
  require(a.type == ElementType::boolean && b.type == ElementType::boolean,
          "binary_c3: operands are {} and {}, expected bool", name(a.type), name(b.type));
  return {TensorInfo{a.type, broadcastOperands(a.dims, b.dims, "binary_c2"), std::nullopt}};
}

InferResult inferWhere(const WhereAttrs &, const InferInputs &in) {
  const TensorInfo &cond = *in[0], &a = *in[1], &b = *in[2];
  require(cond.type == ElementType::boolean, "where_c1: the condition is {}, expected bool", name(cond.type));
  require(a.type == b.type, "where_c2: operands are {} and {}, expected the same type", name(a.type), name(b.type));
  TensorInfo y{a.type, broadcastOperands(cond.dims, broadcastOperands(a.dims, b.dims, "where_c3"), "where_c3"),
               std::nullopt};
  return {withContents(std::move(y), [&]() -> std::optional<std::vector<Dim>> {
    if (!cond.contents || !a.contents || !b.contents || cond.rank() > 1 || a.rank() > 1 || b.rank() > 1)
      return std::nullopt;
    size_t count = std::max({cond.contents->size(), a.contents->size(), b.contents->size()});
    auto at = [](const TensorInfo &info, size_t i) -> const Dim & {
      return (*info.contents)[info.contents->size() == 1 ? 0 : i];
    };
    std::vector<Dim> result;
    for (const TensorInfo *info : {&cond, &a, &b})
      if (info->contents->size() != 1 && info->contents->size() != count)
        return std::nullopt;
    for (size_t i = 0; i < count; ++i) {
      if (!at(cond, i).isConstant())
        return std::nullopt;
      result.push_back(at(cond, i).constant() ? at(a, i) : at(b, i));
    }
    return result;
  })};
}

} // namespace lathe
