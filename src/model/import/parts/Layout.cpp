// Layouts with the channels last and first, and TensorFlow's padding of windows. nn has the channels first: importers
// put transposes around operators, and the passes cancel pairs of transposes between two operators.
#include "import/parts/Emitter.h"
#include "ops/WindowPads.h"

namespace lathe::source {

constexpr int64_t most = int64_t(1) << 31;

mlir::Value transpose(Node &node, mlir::Value x, std::vector<int64_t> perm) {
  require(node.rank(x) == static_cast<int64_t>(perm.size()), "an operand has rank {}, expected {}", node.rank(x),
          perm.size());
  return node.emit("transpose", {x}, {{"perm", std::move(perm)}});
}

mlir::Value channelsFirst(Node &node, mlir::Value x) {
  int64_t rank = node.rank(x);
  std::vector<int64_t> perm = {0, rank - 1};
  for (int64_t axis = 1; axis + 1 < rank; ++axis)
    perm.push_back(axis);
  return transpose(node, x, perm);
}

mlir::Value channelsLast(Node &node, mlir::Value x) {
  int64_t rank = node.rank(x);
  std::vector<int64_t> perm = {0};
  for (int64_t axis = 2; axis < rank; ++axis)
    perm.push_back(axis);
  perm.push_back(1);
  return transpose(node, x, perm);
}

void checkWindow(const Window &window) {
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    require(window.kernel[i] >= 1 && window.kernel[i] < most, "the kernel has extent {}, expected at least 1",
            window.kernel[i]);
    require(window.strides[i] >= 1 && window.strides[i] < most, "has stride {}, expected at least 1",
            window.strides[i]);
    require(window.dilations[i] >= 1 && window.dilations[i] < most, "has dilation {}, expected at least 1",
            window.dilations[i]);
  }
}

void padSame(const Dims &extents, Window &window) {
  std::vector<int64_t> windows;
  for (size_t i = 0; i < window.kernel.size(); ++i)
    windows.push_back((window.kernel[i] - 1) * window.dilations[i] + 1);
  window.pads = samePads(extents, windows, window.strides, sameUpper);
}

Window padded(const Dims &dims, size_t first, bool same, Window window) {
  size_t count = window.kernel.size();
  require(dims.size() == count + 2, "the operand has rank {}, expected {}", dims.size(), count + 2);
  require(window.strides.size() == count && window.dilations.size() == count,
          "has {} strides and {} dilations, expected {}", window.strides.size(), window.dilations.size(), count);
  checkWindow(window);
  window.pads.assign(2 * count, 0);
  if (same)
    padSame(Dims(dims.begin() + static_cast<ptrdiff_t>(first), dims.begin() + static_cast<ptrdiff_t>(first + count)),
            window);
  return window;
}

TransposedPads transposedPads(const Ints &in, const Ints &out, const Window &window, bool same,
                              const Ints &explicitPads) {
  size_t count = in.size();
  TransposedPads result{Ints(2 * count), Ints(count)};
  for (size_t i = 0; i < count; ++i) {
    require(window.kernel[i] >= 1 && window.kernel[i] < most && window.dilations[i] >= 1 &&
                window.dilations[i] < most && in[i] >= 0 && in[i] < most,
            "has a kernel of extent {}, dilation {} and an operand of extent {}", window.kernel[i], window.dilations[i],
            in[i]);
    int64_t stride = window.strides[i], k = (window.kernel[i] - 1) * window.dilations[i] + 1;
    require(stride >= 1 && stride < most && out[i] >= 1 && out[i] < most,
            "has stride {} and a result of extent {}, expected at least 1", stride, out[i]);
    int64_t begin = 0;
    if (!explicitPads.empty())
      begin = explicitPads[i];
    else if (same)
      begin = std::max<int64_t>(((out[i] + stride - 1) / stride - 1) * stride + k - out[i], 0) / 2;
    int64_t end = (in[i] - 1) * stride + k - begin - out[i];
    result.pads[i] = begin;
    result.pads[count + i] = std::max<int64_t>(end, 0);
    result.outputPadding[i] = std::max<int64_t>(-end, 0);
  }
  return result;
}

} // namespace lathe::source
