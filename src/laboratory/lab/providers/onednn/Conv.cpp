#include "lab/problems/Window.h"
#include "lab/providers/onednn/OneDnn.h"

#include <algorithm>

namespace lathe::lab::onednn {

Outcome<std::string> prepareConv(Job &job) {
  const Problem &problem = job.problem;
  Window window = *windowOf(problem);
  const ProblemOperand &x = *job.operand(0), &w = *job.operand(1);
  const ProblemOperand *b = problem.operand("b");
  int64_t groups = window.groups;
  Dims weightDims = w.dims;
  if (groups > 1) {
    weightDims[0] /= groups;
    weightDims.insert(weightDims.begin(), groups);
  }
  Desc rowX = Job::rowMajor(x), rowW = Job::rowMajor(w, weightDims), rowY = Job::rowMajor(job.results[0]);
  Desc rowB = b ? Job::rowMajor(*b) : Desc();
  // Layouts of the activations; weights are always packed as oneDNN prefers.
  Desc wantedX = job.laidOut(rowX, Job::any(rowX)), wantedY = job.laidOut(rowY, Job::any(rowY));
  Desc wantedW = w.constant ? Job::any(rowW) : rowW;
  auto algorithm = job.variant == "winograd" ? dnnl::algorithm::convolution_winograd
                   : job.variant == "direct" ? dnnl::algorithm::convolution_direct
                                             : dnnl::algorithm::convolution_auto;
  Dims strides = window.own(window.stride), dilations = window.own(window.dilation);
  for (int64_t &dilation : dilations) // 0 means dense
    --dilation;
  auto choose = [&](const dnnl::primitive_attr &attributes) {
    dnnl::convolution_forward::desc description(dnnl::prop_kind::forward_inference, algorithm, wantedX, wantedW, rowB,
                                                wantedY, strides, dilations, window.own(window.padBefore),
                                                window.own(window.padAfter));
    dnnl::convolution_forward::primitive_desc chosen(description, attributes, job.engine);
    job.select(chosen);
    return chosen;
  };
  // Second operands of the epilogue must be described before the primitive exists: in the layout that it chooses
  // without them.
  if (std::any_of(problem.epilogue.begin(), problem.epilogue.end(), takesSecondOperand)) {
    auto bare = choose({});
    wantedX = bare.src_desc(), wantedY = bare.dst_desc();
  }
  dnnl::post_ops operators;
  auto appended = appendEpilogue(operators, problem, &wantedY);
  if (!appended)
    return NotApplicable{appended.reason()};
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(operators);
  auto chosen = choose(attributes);
  job.primitive = dnnl::convolution_forward(chosen);
  job.give(DNNL_ARG_SRC, 0, rowX, chosen.src_desc());
  job.give(DNNL_ARG_WEIGHTS, 1, rowW, chosen.weights_desc());
  if (b)
    job.give(DNNL_ARG_BIAS, 2, rowB, chosen.bias_desc());
  job.giveEpilogue(chosen.dst_desc());
  job.take(DNNL_ARG_DST, chosen.dst_desc());
  return fmt::format("{} {} to {}", chosen.impl_info_str(), layoutName(chosen.src_desc()),
                     layoutName(chosen.dst_desc()));
}

} // namespace lathe::lab::onednn
