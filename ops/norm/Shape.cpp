#include "ops/Registry.h"

namespace lathe {

InferResult inferBatchNorm(const BatchNormAttrs &, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  require(x.rank() >= 2, "batch_norm_c1: x has rank {}, expected at least 2", x.rank());
  requireFloat(x.type, "batch_norm_c3");
  constexpr const char *names[] = {"x", "scale", "bias", "mean", "var"};
  for (size_t i = 1; i < 5; ++i) {
    require(in[i]->rank() == 1 && mayAgree(in[i]->dims[0], x.dims[1]), "batch_norm_c2: {} is {}, expected {}", names[i],
            str(in[i]->dims), x.dims[1].str());
    requireFloat(in[i]->type, "batch_norm_c3");
  }
  return {TensorInfo{x.type, x.dims, std::nullopt}};
}

InferResult inferLrn(const LrnAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  require(x.rank() >= 2, "lrn_c1: x has rank {}, expected at least 2", x.rank());
  require(a.size > 0, "lrn_c2: size={}, expected a positive number", a.size);
  requireFloat(x.type, "lrn_c3");
  return {TensorInfo{x.type, x.dims, std::nullopt}};
}

/// Softmax and LogSoftmax have the same fields; both structs are given to one function.
InferResult inferSoftmaxLike(const Attrs &attrs, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  auto *softmax = dynamic_cast<const SoftmaxAttrs *>(&attrs);
  int64_t axis = softmax ? softmax->axis : dynamic_cast<const LogSoftmaxAttrs &>(attrs).axis;
  normalizeAxis(axis, x.rank(), "softmax_c1");
  requireFloat(x.type, "softmax_c2");
  return {TensorInfo{x.type, x.dims, std::nullopt}};
}

} // namespace lathe
