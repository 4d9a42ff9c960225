#include "ops/Registry.h"
#include "ops/ShapeRules.h"

#include <algorithm>
#include <limits>

namespace lathe {

InferResult inferReshape(const ReshapeAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  Dims target = toDims(a.shape);
  if (const TensorInfo *shape = operand(in, 1)) {
    require(shape->rank() == 1 && shape->dims[0].isConstant() && isInteger(shape->type),
            "reshape_c4: shape_in is {} {}, expected an integer vector of static length", name(shape->type),
            str(shape->dims));
    if (!shape->contents) // the rank is known, the extents are not
      return {TensorInfo{x.type, unknownDims(shape->dims[0].constant()), std::nullopt}};
    target = *shape->contents;
  }
  require(target.size() <= maxRank, "reshape_c4: shape has {} values, more than the {} supported", target.size(),
          maxRank);
  Dims result;
  // Copied extents are on both sides: -1 is the rest of x divided by the stated extents, also if x is empty.
  Dim known = 1, stated = 1;
  Dims left = x.dims;
  int inferred = -1;
  for (size_t i = 0; i < target.size(); ++i) {
    Dim extent = target[i];
    if (extent == Dim(0) && !a.allow_zero) {
      require(i < x.rank(), "reshape_c3: shape copies extent {} of x, which has rank {}", i, x.rank());
      extent = x.dims[i];
      left[i] = 1;
    } else if (!(extent == Dim(-1))) {
      stated = stated * extent;
    }
    require(extent == Dim(-1) || mayReach(extent, 0), "reshape_c2: shape has the extent {}", extent.str());
    // A computed 0 would copy the extent of x, which must then be 0, too.
    if (!extent.isConstant() && !a.allow_zero && !(i < x.rank() && extent == x.dims[i]))
      mayReach(extent, i < x.rank() ? minimum(x.dims[i], 1) : Dim(1));
    if (extent == Dim(-1)) {
      require(inferred < 0, "reshape_c2: shape has more than one -1");
      inferred = static_cast<int>(i);
      result.push_back(1);
      continue;
    }
    known = known * extent;
    result.push_back(extent);
  }
  Dim total = product(x.dims);
  if (inferred >= 0) {
    Dim rest = product(left);
    require(mayReach(stated, 1) && mayDivide(stated, rest), "reshape_c1: {} elements do not divide into {}",
            total.str(), str(target));
    result[inferred] = floorDiv(rest, stated);
  } else {
    require(mayAgree(total, known), "reshape_c1: x has {} elements, shape {} has {}", total.str(), str(result),
            known.str());
  }
  return {withContents(TensorInfo{x.type, result, std::nullopt}, [&] { return x.contents; })};
}

InferResult inferBitCast(const BitCastAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  auto isNumber = [](ElementType type) { return isFloat(type) || isInteger(type); };
  require((isNumber(x.type) || x.type == ElementType::boolean) && isNumber(a.to),
          "bit_cast_c1: x is {} and `to` is {}, expected numbers", name(x.type), name(a.to));
  require(bitWidth(x.type) == bitWidth(a.to) && bitWidth(a.to) >= 8,
          "bit_cast_c2: x is {} and `to` is {}, expected types of the same width", name(x.type), name(a.to));
  return {TensorInfo{a.to, x.dims, std::nullopt}};
}

InferResult inferShape(const ShapeAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  int64_t rank = x.rank();
  auto position = [&](int64_t p) { return std::clamp<int64_t>(p < 0 ? p + rank : p, 0, rank); };
  int64_t start = position(a.start), end = std::max(position(a.end), start);
  TensorInfo y{ElementType::i64, {end - start}, std::nullopt};
  return {withContents(std::move(y), [&]() -> std::optional<std::vector<Dim>> {
    return std::vector<Dim>(x.dims.begin() + start, x.dims.begin() + end);
  })};
}

InferResult inferConstantOfShape(const ConstantOfShapeAttrs &a, const InferInputs &in) {
  const TensorInfo &shape = *in[0];
  require(shape.rank() == 1 && shape.dims[0].isConstant() && isInteger(shape.type),
          "constant_of_shape_c1: shape_in is {} {}, expected an integer vector of static length", name(shape.type),
          str(shape.dims));
  require(isFloat(a.type) || isInteger(a.type) || a.type == ElementType::boolean,
          "constant_of_shape_c3: the type is {}", name(a.type));
  if (!shape.contents)
    return {TensorInfo{a.type, unknownDims(shape.dims[0].constant()), std::nullopt}};
  for (const Dim &extent : *shape.contents)
    require(mayReach(extent, 0), "constant_of_shape_c2: shape_in has the extent {}", extent.str());
  return {withContents(TensorInfo{a.type, *shape.contents, std::nullopt}, [&]() -> std::optional<std::vector<Dim>> {
    Dim count = product(*shape.contents);
    if (count.constantOr(maxContents + 1) > static_cast<int64_t>(maxContents) || !(a.value >= -9e15 && a.value <= 9e15))
      return std::nullopt;
    return std::vector<Dim>(count.constant(), Dim(static_cast<int64_t>(a.value)));
  })};
}

InferResult inferRange(const RangeAttrs &, const InferInputs &in) {
  for (size_t i = 0; i < 3; ++i)
    require(mayAgree(product(in[i]->dims), 1) && in[i]->type == in[0]->type,
            "range_c1: operand {} is {} {}, expected a scalar of {}", i, name(in[i]->type), str(in[i]->dims),
            name(in[0]->type));
  requireNumber(in[0]->type, "range_c3");
  TensorInfo y{in[0]->type, {unknownDim()}, std::nullopt};
  auto known = [&](size_t i) { return in[i]->contents && in[i]->contents->size() == 1; };
  if (!known(0) || !known(1) || !known(2))
    return {y};
  const Dim &start = (*in[0]->contents)[0], &limit = (*in[1]->contents)[0], &delta = (*in[2]->contents)[0];
  require(delta != Dim(0), "range_c2: delta is zero");
  if (!delta.isConstant() || delta.constant() == std::numeric_limits<int64_t>::min())
    return {y};
  Dim count = delta.constant() > 0 ? ceilDiv(limit - start, delta) : ceilDiv(start - limit, Dim(0) - delta);
  y.dims[0] = isNonNegative(count) ? count : maximum(count, 0);
  return {withContents(std::move(y), [&]() -> std::optional<std::vector<Dim>> {
    if (count.constantOr(maxContents + 1) > static_cast<int64_t>(maxContents))
      return std::nullopt;
    std::vector<Dim> values;
    for (int64_t i = 0; i < count.constant(); ++i)
      values.push_back(start + delta * i);
    return values;
  })};
}

} // namespace lathe
