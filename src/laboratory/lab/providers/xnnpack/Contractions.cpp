#include "lab/problems/MatrixProblem.h"
#include "lab/problems/Window.h"
#include "lab/providers/xnnpack/XnnPack.h"

#include <algorithm>

namespace lathe::lab::xnnpack {

std::string prepareConv(Job &job) {
  Window w = *windowOf(job.problem);
  if (w.axes > 2)
    throw Declined{"XNNPACK has at most two spatial axes"};
  job.expectConstant(1), job.expectConstant(2);
  const ProblemOperand &x = *job.operand(0), &weights = *job.operand(1);
  auto groups = uint32_t(job.problem.attrsAs<ConvAttrs>().group);
  auto inChannels = size_t(x.dims[1]), outChannels = size_t(weights.dims[0]);
  auto [low, high] = job.limits();
  Buffer kernel = channelsLast(job.inputs[1]); // outputs x taps x inputs
  Buffer bias = job.operand(2) ? rowMajor(job.inputs[2]) : Buffer();
  auto extent = [](int64_t value) { return uint32_t(value); };
  job.make(xnn_create_convolution2d_nhwc_f32, extent(w.padBefore[1]), extent(w.padAfter[2]), extent(w.padAfter[1]),
           extent(w.padBefore[2]), extent(w.kernel[1]), extent(w.kernel[2]), extent(w.stride[1]), extent(w.stride[2]),
           extent(w.dilation[1]), extent(w.dilation[2]), groups, inChannels / groups, outChannels / groups, inChannels,
           outChannels, kernel.data(), bias.empty() ? nullptr : bias.data(), low, high, uint32_t(0));
  job.giveChannelsLast();
  job.outputIsChannelsLast = true;
  check(xnn_setup_convolution2d_nhwc_f32(job.op.get(), size_t(x.dims[0]), size_t(w.in[1]), size_t(w.in[2]),
                                         job.in[0].data(), job.out.data(), job.pool.get()),
        "setting up the convolution");
  return "convolution2d_nhwc";
}

std::string prepareFullyConnected(Job &job) {
  MatrixProblem p = *matrixOf(job.problem);
  job.expectConstant(1), job.expectConstant(2);
  const ProblemOperand *c = job.operand(2);
  if (p.transA || p.alpha != 1)
    throw Declined{"XNNPACK's inputs are rows and its products have no factor"};
  if (std::any_of(p.batchOfB.begin(), p.batchOfB.end(), [](int64_t extent) { return extent != 1; }))
    throw Declined{"XNNPACK has one matrix of weights"};
  if (c && (p.beta != 1 || p.addendRow != 0 || c->elements() != p.columns))
    throw Declined{"XNNPACK adds one value to each output channel"};
  auto [low, high] = job.limits();
  auto in = size_t(p.inner), out = size_t(p.columns);
  job.make(xnn_create_fully_connected_nc_f32, in, out, in, out, job.inputs[1].as<float>(),
           c ? job.inputs[2].as<float>() : nullptr, low, high, uint32_t(p.transB ? 0 : XNN_FLAG_TRANSPOSE_WEIGHTS));
  job.in[0] = rowMajor(job.inputs[0]);
  check(xnn_setup_fully_connected_nc_f32(job.op.get(), size_t(job.result.elements() / p.columns), job.in[0].data(),
                                         job.out.data(), job.pool.get()),
        "setting up the product");
  return "fully_connected_nc";
}

} // namespace lathe::lab::xnnpack
