#include "lab/problems/Window.h"
#include "lab/providers/onednn/OneDnn.h"

#include <algorithm>

namespace lathe::lab::onednn {

Outcome<std::string> preparePool(Job &job) {
  const Problem &problem = job.problem;
  Window window = *windowOf(problem);
  auto postOps = postOpsOf(problem);
  if (!postOps)
    return NotApplicable{postOps.reason()};
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(*postOps);

  auto algorithm = dnnl::algorithm::pooling_max;
  if (problem.op == "average_pool") {
    auto &attrs = problem.attrsAs<AveragePoolAttrs>();
    algorithm = attrs.count_include_pad ? dnnl::algorithm::pooling_avg_include_padding
                                        : dnnl::algorithm::pooling_avg_exclude_padding;
    auto given = attrs.pads;
    auto needed = window.own(window.padAfter);
    if (attrs.count_include_pad)
      for (size_t i = 0; i < needed.size(); ++i)
        if (needed[i] > given[needed.size() + i])
          return NotApplicable{"what ceil_mode adds is counted by oneDNN's average with padding"};
  }
  Desc rowX = Job::rowMajor(*job.operand(0)), rowY = Job::rowMajor(job.results[0]);
  // The layout that convolutions produce.
  Desc wantedX = job.laidOut(rowX, Job::blocked(rowX)), wantedY = job.laidOut(rowY, Job::blocked(rowY));
  Dims strides = window.own(window.stride), kernel = window.own(window.kernel), dilations = window.own(window.dilation);
  Dims before = window.own(window.padBefore), after = window.own(window.padAfter);
  auto kind = dnnl::prop_kind::forward_inference;
  std::string implementation;
  auto finish = [&](auto chosen) {
    implementation = chosen.impl_info_str();
    job.give(DNNL_ARG_SRC, 0, rowX, chosen.src_desc());
    job.take(DNNL_ARG_DST, chosen.dst_desc());
  };
  if (std::all_of(dilations.begin(), dilations.end(), [](int64_t dilation) { return dilation == 1; })) {
    dnnl::pooling_forward::desc description(kind, algorithm, wantedX, wantedY, strides, kernel, before, after);
    dnnl::pooling_forward::primitive_desc chosen(description, attributes, job.engine);
    job.select(chosen);
    job.primitive = dnnl::pooling_forward(chosen);
    finish(chosen);
  } else {
    for (int64_t &dilation : dilations) // 0 means dense
      --dilation;
    dnnl::pooling_v2_forward::desc description(kind, algorithm, wantedX, wantedY, strides, kernel, dilations, before,
                                               after);
    dnnl::pooling_v2_forward::primitive_desc chosen(description, attributes, job.engine);
    job.select(chosen);
    job.primitive = dnnl::pooling_v2_forward(chosen);
    finish(chosen);
  }
  return implementation + " " + layoutName(wantedX);
}

/// True if oneDNN's nearest neighbour differs from the operator's along an axis: both round (i + 0.5) * in / out - 0.5,
/// but the operator rounds halves down and oneDNN rounds them up.
static bool hasHalf(int64_t in, int64_t out) {
  for (int64_t i = 0; i < out; ++i)
    if ((2 * i + 1) * in % (2 * out) == 0 && in != out)
      return true;
  return false;
}

Outcome<std::string> prepareResize(Job &job) {
  auto &attrs = job.problem.attrsAs<ResizeAttrs>();
  const ProblemOperand &x = *job.operand(0), &y = job.results[0];
  if (job.problem.operands.size() > 1)
    return NotApplicable{"extents that are operands are not implemented"};
  if (attrs.mode != "nearest" && attrs.mode != "linear")
    return NotApplicable{"oneDNN has no " + attrs.mode + " resampling"};
  if (attrs.coordinate_mode != "half_pixel")
    return NotApplicable{"oneDNN samples at half pixels, not " + attrs.coordinate_mode};
  if (attrs.antialias || attrs.exclude_outside)
    return NotApplicable{"oneDNN's kernel has no antialiasing and nothing excluded"};
  if (x.dims.size() < 3 || x.dims.size() > 5 || x.dims[0] != y.dims[0] || x.dims[1] != y.dims[1])
    return NotApplicable{"oneDNN resamples one to three spatial axes only"};
  for (size_t i = 2; i < x.dims.size(); ++i) {
    if (!attrs.scales.empty() && attrs.scales[i] * double(x.dims[i]) != double(y.dims[i]))
      return NotApplicable{"oneDNN's scale is the ratio of the extents"};
    if (attrs.mode == "nearest" && (attrs.nearest_mode != "round_prefer_floor" || hasHalf(x.dims[i], y.dims[i])))
      return NotApplicable{"oneDNN rounds halves another way"};
  }
  auto postOps = postOpsOf(job.problem);
  if (!postOps)
    return NotApplicable{postOps.reason()};
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(*postOps);
  Desc rowX = Job::rowMajor(x), rowY = Job::rowMajor(y);
  dnnl::resampling_forward::desc description(
      dnnl::prop_kind::forward_inference,
      attrs.mode == "linear" ? dnnl::algorithm::resampling_linear : dnnl::algorithm::resampling_nearest,
      job.laidOut(rowX, Job::blocked(rowX)), job.laidOut(rowY, Job::blocked(rowY)));
  dnnl::resampling_forward::primitive_desc chosen(description, attributes, job.engine);
  job.select(chosen);
  job.primitive = dnnl::resampling_forward(chosen);
  job.give(DNNL_ARG_SRC, 0, rowX, chosen.src_desc());
  job.take(DNNL_ARG_DST, chosen.dst_desc());
  return fmt::format("{} {}", chosen.impl_info_str(), layoutName(chosen.src_desc()));
}

} // namespace lathe::lab::onednn
