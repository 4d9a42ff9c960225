#include "ops/Registry.h"
#include "ops/ShapeRules.h"
#include "ops/WindowPads.h"

namespace lathe {
namespace {

template <class PoolAttrs> InferResult inferPool(const PoolAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  require(x.rank() >= 3 && x.rank() <= 5, "pool_c1: x has rank {}, expected 3 to 5", x.rank());
  size_t spatial = x.rank() - 2;
  require(a.kernel.size() == spatial, "pool_c2: kernel has {} values, expected {}", a.kernel.size(), spatial);
  require(a.strides.size() == spatial, "pool_c2: strides has {} values, expected {}", a.strides.size(), spatial);
  require(a.dilations.size() == spatial, "pool_c2: dilations has {} values, expected {}", a.dilations.size(), spatial);
  checkPads("pool_c2", a.pads, spatial);
  requireNumber(x.type, "pool_c6");
  TensorInfo y{x.type, {x.dims[0], x.dims[1]}, std::nullopt};
  for (size_t i = 0; i < spatial; ++i) {
    int64_t begin = a.pads[i], end = a.pads[spatial + i];
    require(a.kernel[i] > 0 && a.strides[i] > 0 && a.dilations[i] > 0,
            "pool_c3: kernel {}, stride {} and dilation {} must be positive", a.kernel[i], a.strides[i],
            a.dilations[i]);
    require(begin >= 0 && end >= 0, "pool_c3: pads [{}, {}] must not be negative", begin, end);
    Dim window = Dim(a.kernel[i] - 1) * a.dilations[i] + 1;
    require(begin < window.constant() && end < window.constant(), "pool_c4: pads [{}, {}] reach the window's extent {}",
            begin, end, window.str());
    checkFollowingPads("pool_c3", a.pads, i, spatial, window);
    Dim padded = x.dims[2 + i] + begin + end;
    Dim room = padded - window;
    // With ceil_mode a window may extend beyond the end by less than a stride.
    require(mayReach(room + (a.ceil_mode ? a.strides[i] - 1 : 0), 0),
            "pool_c5: window extent {} exceeds padded input extent {} on spatial axis {}", window.str(), padded.str(),
            i);
    Dim extent = floorDiv(room, a.strides[i]) + 1;
    if (a.ceil_mode) // without windows that would start behind x and its padding
      extent = minimum(ceilDiv(room, a.strides[i]) + 1, floorDiv(x.dims[2 + i] + begin - 1, a.strides[i]) + 1);
    y.dims.push_back(extent);
  }
  return {y};
}

} // namespace

InferResult inferMaxPool(const MaxPoolAttrs &a, const InferInputs &in) { return inferPool(a, in); }
InferResult inferAveragePool(const AveragePoolAttrs &a, const InferInputs &in) { return inferPool(a, in); }

} // namespace lathe
