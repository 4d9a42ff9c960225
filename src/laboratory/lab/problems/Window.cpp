#include "lab/problems/Window.h"

#include <algorithm>

namespace lathe::lab {

bool Window::pointwise() const {
  return taps() == 1 && stride == Extents{1, 1, 1} && padBefore == Extents{} && padAfter == Extents{};
}

static Window windowFrom(const Problem &problem, const std::vector<int64_t> &kernel,
                         const std::vector<int64_t> &strides, const std::vector<int64_t> &dilations,
                         const std::vector<int64_t> &pads) {
  Window window;
  auto &x = problem.operand("x")->dims;
  auto y = problem.results().at(0).dims;
  window.axes = x.size() - 2;
  for (size_t i = 0; i < window.axes; ++i) {
    size_t axis = 3 - window.axes + i;
    window.in[axis] = x[2 + i];
    window.out[axis] = y[2 + i];
    window.kernel[axis] = kernel[i];
    window.stride[axis] = strides[i];
    window.dilation[axis] = dilations[i];
    window.padBefore[axis] = pads[i];
    int64_t reach =
        (window.out[axis] - 1) * window.stride[axis] + (window.kernel[axis] - 1) * window.dilation[axis] + 1;
    window.padAfter[axis] = std::max<int64_t>(0, reach - window.in[axis] - window.padBefore[axis]);
  }
  return window;
}

std::optional<Window> windowOf(const Problem &problem) {
  auto pooled = [&](auto &attrs) {
    return windowFrom(problem, attrs.kernel, attrs.strides, attrs.dilations, attrs.pads);
  };
  if (problem.op == "max_pool")
    return pooled(problem.attrsAs<MaxPoolAttrs>());
  if (problem.op == "average_pool")
    return pooled(problem.attrsAs<AveragePoolAttrs>());
  auto convolved = [&](auto &attrs) {
    auto &w = problem.operand("w")->dims;
    Window window = windowFrom(problem, {w.begin() + 2, w.end()}, attrs.strides, attrs.dilations, attrs.pads);
    window.groups = attrs.group;
    return window;
  };
  if (problem.op == "conv")
    return convolved(problem.attrsAs<ConvAttrs>());
  if (problem.op == "conv_integer")
    return convolved(problem.attrsAs<ConvIntegerAttrs>());
  return std::nullopt;
}

} // namespace lathe::lab
