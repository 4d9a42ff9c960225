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

/// A static operand of length zero counts as absent.
const TensorInfo *given(const InferInputs &in, size_t index) {
  const TensorInfo *info = operand(in, index);
  return info && !(info->rank() == 1 && info->dims[0] == Dim(0)) ? info : nullptr;
}

} // namespace

InferResult inferResize(const ResizeAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  requireNumber(x.type, "resize_c6");
  requireOneOf(a.mode, {"nearest", "linear", "cubic"}, "mode");
  requireOneOf(a.coordinate_mode,
               {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                "tf_half_pixel_for_nn", "tf_crop_and_resize"},
               "coordinate_mode");
  requireOneOf(a.nearest_mode, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}, "nearest_mode");
  if (a.coordinate_mode == "tf_crop_and_resize" && !given(in, 1))
    require(a.roi.size() == 2 * x.rank(), "resize_c5: roi has {} values, expected {}", a.roi.size(), 2 * x.rank());
  const TensorInfo *scales = given(in, 2), *sizes = given(in, 3);
  bool hasScales = scales || !a.scales.empty(), hasSizes = sizes || !a.sizes.empty();
  require(hasScales != hasSizes || x.rank() == 0, "resize_c1: {} sizes and scales given, expected one",
          hasScales ? "both" : "neither");

  if (scales || (sizes && !sizes->contents)) { // values that come at run time
    const TensorInfo &values = scales ? *scales : *sizes;
    require(values.rank() == 1 && mayAgree(values.dims[0], static_cast<int64_t>(x.rank())),
            "resize_c2: {} is {}, expected {} values", scales ? "scales_in" : "sizes_in", str(values.dims), x.rank());
    return {TensorInfo{x.type, unknownDims(x.rank()), std::nullopt}};
  }
  TensorInfo y{x.type, {}, std::nullopt};
  if (hasSizes) {
    Dims wanted = sizes ? *sizes->contents : toDims(a.sizes);
    require(wanted.size() == x.rank(), "resize_c2: sizes has {} values, expected {}", wanted.size(), x.rank());
    for (size_t i = 0; i < wanted.size(); ++i) {
      require(wanted[i] == Dim(-1) || mayReach(wanted[i], 1),
              "resize_c3: size {} on axis {}, expected a positive number or -1", wanted[i].str(), i);
      y.dims.push_back(wanted[i] == Dim(-1) ? x.dims[i] : wanted[i]);
    }
    for (size_t i = 0; i < wanted.size(); ++i)
      require(y.dims[i] == x.dims[i] || mayIndex(x.dims[i], y.dims), "resize_c7: axis {} of x, {}, is empty, y is {}",
              i, str(x.dims), str(y.dims));
    return {y};
  }
  require(a.scales.size() == x.rank(), "resize_c2: scales has {} values, expected {}", a.scales.size(), x.rank());
  for (size_t i = 0; i < a.scales.size(); ++i) {
    double scale = a.scales[i];
    require(std::isfinite(scale) && scale > 0, "resize_c3: scale {} on axis {}, expected a positive number", scale, i);
    if (x.dims[i].isConstant()) {
      double extent = std::floor(static_cast<double>(x.dims[i].constant()) * scale);
      require(extent < 1e15, "resize_c3: scale {} makes {} absurdly large", scale, x.dims[i].str());
      y.dims.push_back(static_cast<int64_t>(extent));
    } else if (scale == std::floor(scale) && scale < 1e9) {
      y.dims.push_back(x.dims[i] * static_cast<int64_t>(scale));
    } else if (double inverse = 1 / scale; inverse == std::floor(inverse) && inverse < 1e9) {
      y.dims.push_back(floorDiv(x.dims[i], static_cast<int64_t>(inverse)));
    } else {
      y.dims.push_back(unknownDim());
    }
  }
  return {y};
}

} // namespace lathe
