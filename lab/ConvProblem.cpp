#include "lab/ConvProblem.h"

#include <algorithm>

namespace lathe::lab {

double ConvProblem::flops() const {
  return 2.0 * double(batch * outChannels) * double(outHeight * outWidth) * double(inChannels / groups) *
         double(kernelHeight * kernelWidth);
}

std::string ConvProblem::kind() const {
  if (groups > 1 && groups == inChannels)
    return "depthwise";
  if (strideHeight > 1 || strideWidth > 1)
    return "strided";
  if (groups == 1 && dilationHeight == 1 && dilationWidth == 1 && kernelHeight == kernelWidth) {
    if (kernelHeight == 3)
      return "3x3";
    if (kernelHeight == 1)
      return "1x1";
  }
  return "other";
}

std::optional<ConvProblem> convOf(const Problem &problem) {
  if (problem.op != "conv" || problem.operand("x")->dims.size() != 4)
    return std::nullopt;
  if (problem.epilogue.size() > 1 || (problem.epilogue.size() == 1 && problem.epilogue[0] != "relu"))
    return std::nullopt;
  auto &attrs = problem.attrsAs<ConvAttrs>();
  auto &x = problem.operand("x")->dims, &w = problem.operand("w")->dims;
  auto y = problem.results().at(0).dims;
  ConvProblem p;
  p.batch = x[0];
  p.groups = attrs.group;
  p.inChannels = x[1], p.inHeight = x[2], p.inWidth = x[3];
  p.outChannels = y[1], p.outHeight = y[2], p.outWidth = y[3];
  p.kernelHeight = w[2], p.kernelWidth = w[3];
  if (!attrs.strides.empty())
    p.strideHeight = attrs.strides[0], p.strideWidth = attrs.strides[1];
  if (!attrs.dilations.empty())
    p.dilationHeight = attrs.dilations[0], p.dilationWidth = attrs.dilations[1];
  if (!attrs.pads.empty())
    p.padTop = attrs.pads[0], p.padLeft = attrs.pads[1];
  auto padAfter = [](int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation) {
    return std::max<int64_t>(0, (out - 1) * stride + (kernel - 1) * dilation + 1 - in - pad);
  };
  p.padBottom = padAfter(p.inHeight, p.outHeight, p.kernelHeight, p.strideHeight, p.padTop, p.dilationHeight);
  p.padRight = padAfter(p.inWidth, p.outWidth, p.kernelWidth, p.strideWidth, p.padLeft, p.dilationWidth);
  p.bias = problem.operand("b") != nullptr;
  p.relu = !problem.epilogue.empty();
  return p;
}

} // namespace lathe::lab
