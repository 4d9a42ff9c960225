#include "lab/providers/onednn/OneDnn.h"

namespace lathe::lab::onednn {

static int64_t product(const std::vector<int64_t> &dims, size_t begin, size_t end) {
  int64_t count = 1;
  for (size_t i = begin; i < end; ++i)
    count *= dims[i];
  return count;
}

static bool hasEpilogue(const Job &job) { return !job.problem.epilogue.empty(); }
static const NotApplicable noEpilogue{"oneDNN's primitive applies nothing to its result"};

Outcome<std::string> prepareSoftmax(Job &job) {
  if (hasEpilogue(job))
    return noEpilogue;
  bool logarithm = job.problem.op == "log_softmax";
  int64_t axis = logarithm ? job.problem.attrsAs<LogSoftmaxAttrs>().axis : job.problem.attrsAs<SoftmaxAttrs>().axis;
  const ProblemOperand &x = *job.operand(0);
  if (x.dims.empty())
    return NotApplicable{"a scalar has no axis"};
  if (axis < 0)
    axis += int64_t(x.dims.size());
  Desc row = Job::rowMajor(x);
  dnnl::softmax_v2_forward::desc description(
      dnnl::prop_kind::forward_inference, logarithm ? dnnl::algorithm::softmax_log : dnnl::algorithm::softmax_accurate,
      row, row, int(axis));
  dnnl::softmax_v2_forward::primitive_desc chosen(description, job.engine);
  job.select(chosen);
  job.primitive = dnnl::softmax_v2_forward(chosen);
  job.give(DNNL_ARG_SRC, 0, row, chosen.src_desc());
  job.take(DNNL_ARG_DST, chosen.dst_desc());
  return std::string(chosen.impl_info_str()) + " row-major";
}

Outcome<std::string> prepareLayerNorm(Job &job) {
  if (hasEpilogue(job))
    return noEpilogue;
  auto &attrs = job.problem.attrsAs<LayerNormAttrs>();
  const ProblemOperand &x = *job.operand(0), &scale = *job.operand(1);
  const ProblemOperand *bias = job.operand(2);
  size_t rank = x.dims.size(), axis = size_t(attrs.axis < 0 ? attrs.axis + int64_t(rank) : attrs.axis);
  int64_t rows = product(x.dims, 0, axis), columns = product(x.dims, axis, rank);
  if (scale.elements() != columns || scale.dims.size() > rank - axis || (bias && bias->elements() != columns))
    return NotApplicable{"oneDNN's scale and bias have the extents that are normalised"};
  Desc row = Job::rowMajor(x, {rows, columns}), rowScale = Job::rowMajor(scale, {columns});
  Desc wide({columns}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::a); // for every type of x
  auto flags = dnnl::normalization_flags::use_scale;
  if (bias)
    flags |= dnnl::normalization_flags::use_shift;
  dnnl::layer_normalization_forward::desc description(dnnl::prop_kind::forward_inference, row, float(attrs.epsilon),
                                                      flags);
  dnnl::layer_normalization_forward::primitive_desc chosen(description, job.engine);
  job.select(chosen);
  job.primitive = dnnl::layer_normalization_forward(chosen);
  job.give(DNNL_ARG_SRC, 0, row, chosen.src_desc());
  job.give(DNNL_ARG_SCALE, 1, rowScale, wide);
  if (bias)
    job.give(DNNL_ARG_SHIFT, 2, rowScale, wide);
  job.take(DNNL_ARG_DST, chosen.dst_desc());
  return std::string(chosen.impl_info_str()) + " row-major";
}

Outcome<std::string> prepareLrn(Job &job) {
  if (hasEpilogue(job))
    return noEpilogue;
  auto &attrs = job.problem.attrsAs<LrnAttrs>();
  if (attrs.size % 2 == 0)
    return NotApplicable{"oneDNN's window of channels has a middle"};
  Desc row = Job::rowMajor(*job.operand(0));
  dnnl::lrn_forward::desc description(dnnl::prop_kind::forward_inference, dnnl::algorithm::lrn_across_channels,
                                      job.laidOut(row, Job::blocked(row)), attrs.size, float(attrs.alpha),
                                      float(attrs.beta), float(attrs.bias));
  dnnl::lrn_forward::primitive_desc chosen(description, job.engine);
  job.select(chosen);
  job.primitive = dnnl::lrn_forward(chosen);
  job.give(DNNL_ARG_SRC, 0, row, chosen.src_desc());
  job.take(DNNL_ARG_DST, chosen.dst_desc());
  return fmt::format("{} {}", chosen.impl_info_str(), layoutName(chosen.src_desc()));
}

/// The algorithm of a reduction with its exponent; nothing if oneDNN has none.
static std::optional<std::pair<dnnl::algorithm, float>> reductionOf(const std::string &op) {
  using dnnl::algorithm;
  static const std::map<std::string, std::pair<algorithm, float>> table = {
      {"reduce_sum", {algorithm::reduction_sum, 0.0f}},
      {"reduce_mean", {algorithm::reduction_mean, 0.0f}},
      {"reduce_max", {algorithm::reduction_max, 0.0f}},
      {"reduce_min", {algorithm::reduction_min, 0.0f}},
      {"reduce_prod", {algorithm::reduction_mul, 0.0f}},
      {"reduce_l1", {algorithm::reduction_norm_lp_sum, 1.0f}},
      {"reduce_l2", {algorithm::reduction_norm_lp_sum, 2.0f}},
      {"reduce_sum_square", {algorithm::reduction_norm_lp_power_p_sum, 2.0f}}};
  auto found = table.find(op);
  return found == table.end() ? std::nullopt : std::optional(found->second);
}

Outcome<std::string> prepareReduction(Job &job) {
  auto known = reductionOf(job.problem.op);
  if (!known)
    return NotApplicable{"oneDNN has no " + job.problem.op};
  if (job.problem.operands.size() > 1)
    return NotApplicable{"axes that are an operand are not implemented"};
  auto postOps = postOpsOf(job.problem);
  if (!postOps)
    return NotApplicable{postOps.reason()};
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(*postOps);
  auto attrs = toJson(*job.problem.attrs); // all reductions have the same attributes
  auto axes = attrs.at("axes").get<std::vector<int64_t>>();
  const ProblemOperand &x = *job.operand(0);
  Dims dims = x.dims, reduced = x.dims;
  if (axes.empty() && !attrs.at("noop_with_empty_axes"))
    reduced.assign(reduced.size(), 1);
  for (int64_t axis : axes)
    reduced[size_t(axis < 0 ? axis + int64_t(dims.size()) : axis)] = 1;
  if (dims == reduced)
    return NotApplicable{"nothing is reduced"};
  Desc rowX = Job::rowMajor(x), rowY = Job::rowMajor(job.results[0], reduced);
  dnnl::reduction::desc description(known->first, rowX, rowY, known->second, 0.0f);
  dnnl::reduction::primitive_desc chosen(description, attributes, job.engine);
  job.select(chosen);
  job.primitive = dnnl::reduction(chosen);
  job.give(DNNL_ARG_SRC, 0, rowX, chosen.src_desc());
  job.take(DNNL_ARG_DST, chosen.dst_desc());
  return std::string(chosen.impl_info_str()) + " row-major";
}

} // namespace lathe::lab::onednn
