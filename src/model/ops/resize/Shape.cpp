#include "ops/Registry.h"
#include "ops/ShapeRules.h"

#include <algorithm>
#include <cmath>

namespace lathe {
namespace {

void requireOneOf(const std::string &value, std::initializer_list<const char *> choices, const char *what) {
  require(std::find(choices.begin(), choices.end(), value) != choices.end(),
          "resize_c4: {} is '{}', expected one of {}", what, value, fmt::join(choices, ", "));
}

/// Operand `index`; null if it is absent or has length zero.
const TensorInfo *given(const InferInputs &in, size_t index) {
  const TensorInfo *info = operand(in, index);
  return info && !(info->rank() == 1 && info->dims[0] == Dim(0)) ? info : nullptr;
}

void requireModes(const ResizeAttrs &a) {
  requireOneOf(a.mode, {"nearest", "linear", "cubic"}, "mode");
  requireOneOf(a.coordinate_mode,
               {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                "tf_half_pixel_for_nn", "tf_crop_and_resize"},
               "coordinate_mode");
  requireOneOf(a.nearest_mode, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}, "nearest_mode");
}

/// floor(extent * scale); unknown if no formula gives it.
Dim scaled(const Dim &extent, double scale, size_t axis) {
  require(std::isfinite(scale) && scale > 0, "resize_c3: scale {} on axis {}, expected a positive number", scale, axis);
  if (extent.isConstant()) {
    double length = std::floor(static_cast<double>(extent.constant()) * scale);
    require(length < 1e15, "resize_c3: scale {} makes {} absurdly large", scale, extent.str());
    return static_cast<int64_t>(length);
  }
  if (scale == std::floor(scale) && scale < 1e9)
    return extent * static_cast<int64_t>(scale);
  if (double inverse = 1 / scale; inverse == std::floor(inverse) && inverse < 1e9)
    return floorDiv(extent, static_cast<int64_t>(inverse));
  return unknownDim();
}

/// The extents of x multiplied by `scales`. `known`: 0 stands for a scale in an operand.
Dims scaledExtents(const Dims &x, const std::vector<double> &scales, bool known) {
  require(scales.size() == x.size(), "resize_c2: scales has {} values, expected {}", scales.size(), x.size());
  Dims result;
  for (size_t i = 0; i < scales.size(); ++i)
    result.push_back(known && scales[i] == 0 ? unknownDim() : scaled(x[i], scales[i], i));
  return result;
}

Dims sizedExtents(const Dims &x, const Dims &wanted) {
  require(wanted.size() == x.size(), "resize_c2: sizes has {} values, expected {}", wanted.size(), x.size());
  Dims result;
  for (size_t i = 0; i < wanted.size(); ++i) {
    // An empty axis may stay empty.
    bool fits = wanted[i] == Dim(-1) || wanted[i] == x[i] || wanted[i].constantOr(0) >= 1 ||
                mayReach(wanted[i], minimum(x[i], 1));
    require(fits, "resize_c3: size {} on axis {}, expected a positive number or -1", wanted[i].str(), i);
    result.push_back(wanted[i] == Dim(-1) ? x[i] : wanted[i]);
  }
  for (size_t i = 0; i < wanted.size(); ++i)
    require(result[i] == x[i] || mayIndex(x[i], result), "resize_c7: axis {} of x, {}, is empty, y is {}", i, str(x),
            str(result));
  return result;
}

} // namespace

InferResult inferResize(const ResizeAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  requireNumber(x.type, "resize_c6");
  requireModes(a);
  if (a.coordinate_mode == "tf_crop_and_resize" && !given(in, 1))
    require(a.roi.size() == 2 * x.rank(), "resize_c5: roi has {} values, expected {}", a.roi.size(), 2 * x.rank());
  const TensorInfo *scales = given(in, 2), *sizes = given(in, 3);
  bool hasScales = scales || !a.scales.empty(), hasSizes = sizes || !a.sizes.empty();
  require(hasScales || hasSizes || x.rank() == 0, "resize_c1: neither sizes nor scales are given");

  const TensorInfo *open = sizes && !sizes->contents ? sizes : scales && !hasSizes ? scales : nullptr;
  if (open) { // values are computed at run time
    require(open->rank() == 1 && mayAgree(open->dims[0], static_cast<int64_t>(x.rank())),
            "resize_c2: {} is {}, expected {} values", open == scales ? "scales_in" : "sizes_in", str(open->dims),
            x.rank());
    return {TensorInfo{x.type, unknownDims(x.rank()), std::nullopt}};
  }
  if (!hasSizes)
    return {TensorInfo{x.type, scaledExtents(x.dims, a.scales, false), std::nullopt}};
  TensorInfo y{x.type, sizedExtents(x.dims, sizes ? *sizes->contents : toDims(a.sizes)), std::nullopt};
  if (a.scales.empty())
    return {y};
  Dims stated = scaledExtents(x.dims, a.scales, scales != nullptr);
  for (size_t i = 0; i < stated.size(); ++i) // rounded down, or to the nearest
    require(!y.dims[i].isConstant() || !stated[i].isConstant() || y.dims[i] == stated[i] || y.dims[i] == stated[i] + 1,
            "resize_c1: size {} on axis {}, but the scale makes {}", y.dims[i].str(), i, stated[i].str());
  return {y};
}

} // namespace lathe
