#include "ops/Registry.h"
#include "ops/ShapeRules.h"

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

/// Softmax and LogSoftmax have the same fields, so one function handles both structs.
InferResult inferSoftmaxLike(const Attrs &attrs, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  auto *softmax = dynamic_cast<const SoftmaxAttrs *>(&attrs);
  int64_t axis = softmax ? softmax->axis : dynamic_cast<const LogSoftmaxAttrs &>(attrs).axis;
  normalizeAxis(axis, x.rank(), "softmax_c1");
  requireFloat(x.type, "softmax_c2");
  return {TensorInfo{x.type, x.dims, std::nullopt}};
}

InferResult inferHardmax(const HardmaxAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  normalizeAxis(a.axis, static_cast<int64_t>(x.rank()), "softmax_c1");
  requireFloat(x.type, "softmax_c2");
  return {TensorInfo{x.type, x.dims, std::nullopt}};
}

namespace {

void requireOneFloatType(const InferInputs &in, const char *constraint) {
  requireFloat(in[0]->type, constraint);
  for (size_t i = 1; i < in.size(); ++i)
    if (const TensorInfo *other = operand(in, i))
      require(other->type == in[0]->type, "{}: operands are {} and {}, expected the same type", constraint,
              name(in[0]->type), name(other->type));
}

InferResult inferRowNorm(int64_t axis, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  normalizeAxis(axis, static_cast<int64_t>(x.rank()), "layer_norm_c1");
  requireOneFloatType(in, "layer_norm_c3");
  constexpr const char *names[] = {"x", "scale", "bias"};
  for (size_t i = 1; i < in.size(); ++i) {
    const TensorInfo *other = operand(in, i);
    if (!other)
      continue;
    bool fits = other->rank() <= x.rank();
    for (size_t k = 0; fits && k < other->rank(); ++k) {
      const Dim &extent = other->dims[k];
      fits = mayBroadcast(extent, x.dims[x.rank() - other->rank() + k]);
    }
    require(fits, "layer_norm_c2: {} is {}, expected to broadcast to {}", names[i], str(other->dims), str(x.dims));
  }
  return {TensorInfo{x.type, x.dims, std::nullopt}};
}

} // namespace

InferResult inferLayerNorm(const LayerNormAttrs &a, const InferInputs &in) { return inferRowNorm(a.axis, in); }
InferResult inferRmsNorm(const RmsNormAttrs &a, const InferInputs &in) { return inferRowNorm(a.axis, in); }

InferResult inferChannelNorm(const Attrs &, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  require(x.rank() >= 2, "instance_norm_c1: x has rank {}, expected at least 2", x.rank());
  requireOneFloatType(in, "instance_norm_c3");
  for (size_t i = 1; i < 3; ++i)
    require(in[i]->rank() == 1 && mayAgree(in[i]->dims[0], x.dims[1]), "instance_norm_c2: {} is {}, expected {}",
            i == 1 ? "scale" : "bias", str(in[i]->dims), x.dims[1].str());
  return {TensorInfo{x.type, x.dims, std::nullopt}};
}

InferResult inferGroupNorm(const GroupNormAttrs &a, const InferInputs &in) {
  InferResult result = inferChannelNorm(a, in);
  const Dim &channels = in[0]->dims[1];
  require(a.num_groups > 0 && mayDivide(a.num_groups, channels),
          "group_norm_c1: num_groups={}, expected a divisor of {} channels", a.num_groups, channels.str());
  return result;
}

InferResult inferLpNormalize(const LpNormalizeAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  normalizeAxis(a.axis, static_cast<int64_t>(x.rank()), "lp_normalize_c1");
  require(a.p == 1 || a.p == 2, "lp_normalize_c2: p={}, expected 1 or 2", a.p);
  requireFloat(x.type, "lp_normalize_c3");
  return {TensorInfo{x.type, x.dims, std::nullopt}};
}

} // namespace lathe
