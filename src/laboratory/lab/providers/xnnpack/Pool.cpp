#include "lab/problems/Window.h"
#include "lab/providers/xnnpack/XnnPack.h"

#include <algorithm>

namespace lathe::lab::xnnpack {

static uint32_t extent(int64_t value) { return uint32_t(value); }

static Window planarWindow(const Job &job) {
  Window window = *windowOf(job.problem);
  if (window.axes > 2)
    throw Declined{"XNNPACK has at most two spatial axes"};
  if (window.taps() == 1)
    throw Declined{"XNNPACK has no pooling of one element"};
  return window;
}

std::string prepareMaxPool(Job &job) {
  Window w = planarWindow(job);
  auto [low, high] = job.limits();
  const ProblemOperand &x = *job.operand(0);
  auto channels = size_t(x.dims[1]);
  job.make(xnn_create_max_pooling2d_nhwc_f32, extent(w.padBefore[1]), extent(w.padAfter[2]), extent(w.padAfter[1]),
           extent(w.padBefore[2]), extent(w.kernel[1]), extent(w.kernel[2]), extent(w.stride[1]), extent(w.stride[2]),
           extent(w.dilation[1]), extent(w.dilation[2]), channels, channels, channels, low, high, uint32_t(0));
  job.giveChannelsLast();
  job.outputIsChannelsLast = true;
  check(xnn_setup_max_pooling2d_nhwc_f32(job.op.get(), size_t(x.dims[0]), size_t(w.in[1]), size_t(w.in[2]),
                                         job.in[0].data(), job.out.data(), job.pool.get()),
        "setting up the pooling");
  return "max_pooling2d_nhwc";
}

std::string prepareAveragePool(Job &job) {
  Window w = planarWindow(job);
  auto &attrs = job.problem.attrsAs<AveragePoolAttrs>();
  bool padded = w.padBefore != Window::Extents{} || w.padAfter != Window::Extents{};
  if (padded && attrs.count_include_pad)
    throw Declined{"XNNPACK's padding does not count"};
  if (w.dilation != Window::Extents{1, 1, 1})
    throw Declined{"XNNPACK's average has no dilation"};
  auto [low, high] = job.limits();
  const ProblemOperand &x = *job.operand(0);
  auto channels = size_t(x.dims[1]);
  job.make(xnn_create_average_pooling2d_nhwc_f32, extent(w.padBefore[1]), extent(w.padAfter[2]), extent(w.padAfter[1]),
           extent(w.padBefore[2]), extent(w.kernel[1]), extent(w.kernel[2]), extent(w.stride[1]), extent(w.stride[2]),
           channels, channels, channels, low, high, uint32_t(0));
  job.giveChannelsLast();
  job.outputIsChannelsLast = true;
  check(xnn_setup_average_pooling2d_nhwc_f32(job.op.get(), size_t(x.dims[0]), size_t(w.in[1]), size_t(w.in[2]),
                                             job.in[0].data(), job.out.data(), job.pool.get()),
        "setting up the pooling");
  return "average_pooling2d_nhwc";
}

std::string prepareGlobalAverage(Job &job) {
  auto axes = job.problem.attrsAs<ReduceMeanAttrs>().axes;
  const ProblemOperand &x = *job.operand(0);
  auto rank = int64_t(x.dims.size());
  for (int64_t &axis : axes)
    axis = axis < 0 ? axis + rank : axis;
  std::sort(axes.begin(), axes.end());
  bool spatial = rank > 2 && job.problem.operands.size() == 1 && int64_t(axes.size()) == rank - 2 && axes[0] == 2;
  if (!spatial)
    throw Declined{"XNNPACK has the mean over all spatial axes and no other reduction"};
  auto [low, high] = job.limits();
  auto channels = size_t(x.dims[1]), batch = size_t(x.dims[0]);
  job.make(xnn_create_global_average_pooling_nwc_f32, channels, channels, channels, low, high, uint32_t(0));
  job.giveChannelsLast();
  check(xnn_setup_global_average_pooling_nwc_f32(job.op.get(), batch, size_t(x.elements()) / batch / channels,
                                                 job.in[0].data(), job.out.data(), job.pool.get()),
        "setting up the mean");
  return "global_average_pooling_nwc"; // one pixel: channels last and row-major are the same
}

std::string prepareResize(Job &job) {
  job.expectNoEpilogue();
  auto &attrs = job.problem.attrsAs<ResizeAttrs>();
  const ProblemOperand &x = *job.operand(0), &y = job.result;
  if (job.problem.operands.size() > 1)
    throw Declined{"extents that are operands are not implemented"};
  if (attrs.mode != "linear" || attrs.antialias || attrs.exclude_outside)
    throw Declined{"XNNPACK resizes linearly only, without antialiasing"};
  if (x.dims.size() != 4 || x.dims[0] != y.dims[0] || x.dims[1] != y.dims[1])
    throw Declined{"XNNPACK resizes height and width only"};
  for (size_t i = 2; i < 4; ++i)
    if (!attrs.scales.empty() && attrs.scales[i] * double(x.dims[i]) != double(y.dims[i]))
      throw Declined{"XNNPACK's scale is the ratio of the extents"};
  uint32_t flags = 0;
  if (attrs.coordinate_mode == "align_corners")
    flags = XNN_FLAG_ALIGN_CORNERS;
  else if (attrs.coordinate_mode == "asymmetric")
    flags = XNN_FLAG_TENSORFLOW_LEGACY_MODE;
  else if (attrs.coordinate_mode != "half_pixel")
    throw Declined{"XNNPACK has half_pixel, align_corners and asymmetric, not " + attrs.coordinate_mode};
  auto channels = size_t(x.dims[1]);
  job.make(xnn_create_resize_bilinear2d_nhwc_f32, channels, channels, channels, flags);
  job.giveChannelsLast();
  job.outputIsChannelsLast = true;
  check(xnn_setup_resize_bilinear2d_nhwc_f32(job.op.get(), size_t(x.dims[0]), size_t(x.dims[2]), size_t(x.dims[3]),
                                             size_t(y.dims[2]), size_t(y.dims[3]), job.in[0].data(), job.out.data(),
                                             job.pool.get()),
        "setting up the resizing");
  return "resize_bilinear2d_nhwc";
}

} // namespace lathe::lab::xnnpack
