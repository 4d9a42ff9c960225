#include "ops/Registry.h"
#include "ops/ShapeRules.h"

namespace lathe {

namespace {

/// False only if the extents `own` are known not to broadcast to `wanted`.
bool broadcastsTo(const Dims &own, const Dims &wanted) {
  if (own.size() > wanted.size())
    return false;
  for (size_t i = 0; i < own.size(); ++i)
    if (!mayBroadcast(own[i], wanted[wanted.size() - own.size() + i]))
      return false;
  return true;
}

} // namespace

InferResult inferAttention(const AttentionAttrs &a, const InferInputs &in) {
  const TensorInfo &q = *in[0], &k = *in[1], &v = *in[2];
  require(q.rank() >= 2 && k.rank() == q.rank() && v.rank() == q.rank(),
          "attention_c1: q is {}, k {} and v {}, expected one rank of at least 2", str(q.dims), str(k.dims),
          str(v.dims));
  size_t batch = q.rank() - 2;
  require(mayAgree(q.dims.back(), k.dims.back()), "attention_c2: q is {} and k {}, expected the same last extent",
          str(q.dims), str(k.dims));
  require(mayAgree(k.dims[batch], v.dims[batch]), "attention_c2: k is {} and v {}, expected equally many keys",
          str(k.dims), str(v.dims));
  for (size_t i = 0; i < batch; ++i)
    require(mayAgree(k.dims[i], v.dims[i]) && mayDivide(k.dims[i], q.dims[i]),
            "attention_c3: batch extents of q {}, k {} and v {} do not fit", str(q.dims), str(k.dims), str(v.dims));
  requireFloat(q.type, "attention_c5");
  require(k.type == q.type && v.type == q.type, "attention_c5: q is {}, k {} and v {}, expected the same type",
          name(q.type), name(k.type), name(v.type));
  Dims scores(q.dims.begin(), q.dims.end() - 1);
  scores.push_back(k.dims[batch]);
  for (size_t i : {3, 4}) {
    const TensorInfo *added = operand(in, i);
    if (!added)
      continue;
    const char *what = i == 3 ? "bias" : "mask";
    require(broadcastsTo(added->dims, scores), "attention_c4: {} is {}, expected to broadcast to {}", what,
            str(added->dims), str(scores));
    require(added->type == q.type || (i == 4 && added->type == ElementType::boolean), "attention_c5: {} is {}, q is {}",
            what, name(added->type), name(q.type));
  }
  require(a.causal == "none" || a.causal == "upper_left" || a.causal == "lower_right",
          "attention_c6: causal is '{}', expected none, upper_left or lower_right", a.causal);
  require(a.softcap >= 0, "attention_c7: softcap is {}, expected 0 or more", a.softcap);
  Dims dims(q.dims.begin(), q.dims.end() - 1);
  dims.push_back(v.dims.back());
  return {TensorInfo{q.type, dims, std::nullopt}};
}

} // namespace lathe
