#include "ops/reduce/ReduceFields.h"

#include "ops/Registry.h"
#include "ops/ShapeRules.h"

#include <algorithm>

namespace lathe {

namespace {

/// The result if the axes are computed at run time: each extent stays or becomes 1, or reduced axes are removed.
TensorInfo computedAxes(const TensorInfo &x, const TensorInfo &axes, const ReduceFields &fields) {
  require(isInteger(axes.type) && axes.rank() <= 1, "reduce_c1: the axes are {} {}, expected a vector of integers",
          name(axes.type), str(axes.dims));
  TensorInfo y{x.type, x.dims, std::nullopt};
  for (Dim &dim : y.dims)
    if (!(dim == Dim(1)))
      dim = unknownDim();
  if (fields.keepdims)
    return y;
  Dim count = product(axes.dims);
  require(count.isConstant(),
          "reduce_c1: the number of axes is computed at run time, so that the rank of the result is not known");
  auto rank = static_cast<int64_t>(x.rank()), reduced = count.constant();
  if (reduced == 0 && !fields.noop)
    reduced = rank;
  require(reduced <= rank, "reduce_c1: names {} axes of {}", reduced, rank);
  if (reduced > 0)
    y.dims = unknownDims(static_cast<size_t>(rank - reduced));
  return y;
}

} // namespace

InferResult inferReduce(const Attrs &attrs, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  requireNumber(x.type, "reduce_c2");
  ReduceFields fields;
  attrs.clone()->visit(fields);
  if (in.size() > 1 && in[1] && !in[1]->contents)
    return {computedAxes(x, *in[1], fields)};
  std::vector<int64_t> axes = staticOperand(in, 1, fields.axes, "reduce_c1: axes");
  axes = normalizeAxes(axes, x.rank(), "reduce_c1");
  TensorInfo y{x.type, {}, std::nullopt};
  bool all = axes.empty() && !fields.noop;
  for (size_t i = 0; i < x.rank(); ++i) {
    if (!all && std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) == axes.end())
      y.dims.push_back(x.dims[i]);
    else if (fields.keepdims)
      y.dims.push_back(1);
  }
  return {y};
}

InferResult inferReduceProd(const ReduceProdAttrs &attrs, const InferInputs &in) {
  InferResult result = inferReduce(attrs, in);
  if (in[0]->contents && in[0]->rank() == 1) // the number of elements, from a shape
    result[0] = withContents(std::move(result[0]), [&]() -> std::optional<std::vector<Dim>> {
      return std::vector<Dim>{product(*in[0]->contents)};
    });
  return result;
}

InferResult inferArgExtreme(const Attrs &attrs, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  requireNumber(x.type, "arg_c2");
  auto *most = dynamic_cast<const ArgMaxAttrs *>(&attrs);
  auto *least = dynamic_cast<const ArgMinAttrs *>(&attrs);
  int64_t axis = normalizeAxis(most ? most->axis : least->axis, x.rank(), "arg_c1");
  require(mayReach(x.dims[axis], 1), "arg_c3: axis {} of {} is empty", axis, str(x.dims));
  TensorInfo y{ElementType::i64, x.dims, std::nullopt};
  if (most ? most->keepdims : least->keepdims)
    y.dims[axis] = 1;
  else
    y.dims.erase(y.dims.begin() + axis);
  return {y};
}

} // namespace lathe
