#include "lab/problems/ConvProblem.h"

#include "lab/problems/Window.h"

namespace lathe::lab {

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
  if ((problem.op != "conv" && problem.op != "conv_integer") || problem.operand("x")->dims.size() != 4)
    return std::nullopt;
  if (problem.epilogue.size() > 1 || (problem.epilogue.size() == 1 && problem.epilogue[0] != "relu"))
    return std::nullopt;
  Window window = *windowOf(problem);
  ConvProblem p;
  p.batch = problem.operand("x")->dims[0];
  p.groups = window.groups;
  p.inChannels = problem.operand("x")->dims[1];
  p.outChannels = problem.operand("w")->dims[0];
  p.inHeight = window.in[1], p.inWidth = window.in[2];
  p.outHeight = window.out[1], p.outWidth = window.out[2];
  p.kernelHeight = window.kernel[1], p.kernelWidth = window.kernel[2];
  p.strideHeight = window.stride[1], p.strideWidth = window.stride[2];
  p.dilationHeight = window.dilation[1], p.dilationWidth = window.dilation[2];
  p.padTop = window.padBefore[1], p.padLeft = window.padBefore[2];
  p.padBottom = window.padAfter[1], p.padRight = window.padAfter[2];
  p.bias = problem.operand("b") != nullptr;
  p.relu = !problem.epilogue.empty();
  return p;
}

} // namespace lathe::lab
