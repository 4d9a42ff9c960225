#include "ops/Registry.h"
#include "ops/ShapeRules.h"

namespace lathe {

InferResult inferRunning(const Attrs &attrs, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  require(x.rank() >= 1, "running_c1: x has rank 0");
  requireNumber(x.type, "running_c2");
  auto *sum = dynamic_cast<const CumSumAttrs *>(&attrs);
  auto *prod = dynamic_cast<const CumProdAttrs *>(&attrs);
  int64_t axis = sum ? sum->axis : prod->axis;
  if (const TensorInfo *given = operand(in, 1)) {
    require(mayAgree(product(given->dims), 1) && isInteger(given->type),
            "running_c3: axis_in is {} {}, expected one integer", name(given->type), str(given->dims));
    if (!given->contents || given->contents->size() != 1 || !(*given->contents)[0].isConstant())
      return {TensorInfo{x.type, x.dims, std::nullopt}}; // for every axis
    axis = (*given->contents)[0].constant();
  }
  normalizeAxis(axis, static_cast<int64_t>(x.rank()), "running_c1");
  return {TensorInfo{x.type, x.dims, std::nullopt}};
}

InferResult inferTopK(const TopKAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  require(x.rank() >= 1, "top_k_c1: x has rank 0");
  int64_t axis = normalizeAxis(a.axis, static_cast<int64_t>(x.rank()), "top_k_c1");
  requireNumber(x.type, "top_k_c2");
  Dim k = a.k;
  if (const TensorInfo *given = operand(in, 1)) {
    require(mayAgree(product(given->dims), 1) && isInteger(given->type),
            "top_k_c4: k_in is {} {}, expected one integer", name(given->type), str(given->dims));
    k = given->contents && given->contents->size() == 1 ? (*given->contents)[0] : unknownDim();
  }
  require(mayReach(k, 0), "top_k_c3: k is {}, expected at least 0", k.str());
  require(mayReach(x.dims[axis], k), "top_k_c3: k is {}, more than the extent {} of axis {}", k.str(),
          x.dims[axis].str(), axis);
  TensorInfo values{x.type, x.dims, std::nullopt}, indices{ElementType::i64, x.dims, std::nullopt};
  values.dims[axis] = indices.dims[axis] = k;
  return {values, indices};
}

} // namespace lathe
