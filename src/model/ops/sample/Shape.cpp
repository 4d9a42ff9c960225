#include "ops/ElementBounds.h"
#include "ops/Registry.h"
#include "ops/ShapeRules.h"

#include <algorithm>
#include <cmath>

namespace lathe {
namespace {

void requireOneOf(const std::string &value, std::initializer_list<const char *> known, const char *constraint,
                  const char *what) {
  require(std::find(known.begin(), known.end(), value) != known.end(), "{}: {} is '{}', expected one of {}", constraint,
          what, value, fmt::join(known, ", "));
}

/// The greatest coordinate of a region in units of rois: in pixels, coordinates stay below 1e9.
int64_t farthestCoordinate(double scale) {
  double farthest = 999999998 / std::abs(scale);
  return farthest < 1e15 ? static_cast<int64_t>(farthest) : std::isnan(farthest) ? 0 : int64_t(1000000000000000);
}

} // namespace

InferResult inferGridSample(const GridSampleAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0], &grid = *in[1];
  require((x.rank() == 4 || x.rank() == 5) && grid.rank() == x.rank(),
          "grid_sample_c1: x has rank {} and grid {}, expected equal ranks of 4 or 5", x.rank(), grid.rank());
  require(mayAgree(x.dims[0], grid.dims[0]) && mayAgree(grid.dims.back(), static_cast<int64_t>(x.rank() - 2)),
          "grid_sample_c2: grid is {}, expected {} x ... x {}", str(grid.dims), x.dims[0].str(), x.rank() - 2);
  requireOneOf(a.mode, {"linear", "nearest", "cubic"}, "grid_sample_c3", "mode");
  requireOneOf(a.padding_mode, {"zeros", "border", "reflection"}, "grid_sample_c3", "padding_mode");
  require(a.mode != "cubic" || x.rank() == 4, "grid_sample_c3: mode 'cubic' of rank {}, expected 4", x.rank());
  requireFloat(x.type, "grid_sample_c4");
  requireFloat(grid.type, "grid_sample_c4");
  for (size_t i = 2; i < x.rank(); ++i)
    require(mayReach(x.dims[i], 1), "grid_sample_c5: x is {}, spatial axis {} is empty", str(x.dims), i - 2);
  TensorInfo y{x.type, {x.dims[0], x.dims[1]}, std::nullopt};
  y.dims.insert(y.dims.end(), grid.dims.begin() + 1, grid.dims.end() - 1);
  return {y};
}

InferResult inferRoiAlign(const RoiAlignAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0], &rois = *in[1], &batch = *in[2];
  require(x.rank() == 4 && rois.rank() == 2 && mayAgree(rois.dims[1], 4) && batch.rank() == 1 &&
              mayAgree(batch.dims[0], rois.dims[0]) && isInteger(batch.type),
          "roi_align_c1: x is {}, rois {}, batch_indices {} {}, expected rank 4, R x 4, R integers", str(x.dims),
          str(rois.dims), name(batch.type), str(batch.dims));
  require(a.output_height > 0 && a.output_width > 0 && a.sampling_ratio >= 0 && a.sampling_ratio < 1 << 20,
          "roi_align_c2: output is {} x {} with sampling_ratio {}", a.output_height, a.output_width, a.sampling_ratio);
  requireOneOf(a.mode, {"avg", "max"}, "roi_align_c3", "mode");
  requireOneOf(a.coordinate_mode, {"half_pixel", "output_half_pixel"}, "roi_align_c3", "coordinate_mode");
  requireFloat(x.type, "roi_align_c4");
  require(rois.type == x.type, "roi_align_c4: x is {}, rois {}, expected the same type", name(x.type), name(rois.type));
  require(mayReach(x.dims[2], 1) && mayReach(x.dims[3], 1), "roi_align_c5: x is {}, it has no pixels", str(x.dims));
  Dim farthest = farthestCoordinate(a.spatial_scale);
  boundElements(1, {Dim(0) - farthest}, {farthest});
  boundElements(2, {0}, {x.dims[0] - 1});
  return {TensorInfo{x.type, {rois.dims[0], x.dims[1], a.output_height, a.output_width}, std::nullopt}};
}

InferResult inferMaxPoolIndices(const MaxPoolIndicesAttrs &a, const InferInputs &in) {
  MaxPoolAttrs pool;
  pool.kernel = a.kernel, pool.strides = a.strides, pool.pads = a.pads, pool.dilations = a.dilations;
  pool.ceil_mode = a.ceil_mode;
  InferResult result = findOp("max_pool")->infer(pool, in);
  result[0].type = ElementType::i64;
  return result;
}

InferResult inferMaxUnpool(const MaxUnpoolAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0], &indices = *in[1];
  require(x.rank() >= 3 && x.rank() <= 5 && indices.rank() == x.rank() && indices.type == ElementType::i64,
          "max_unpool_c1: x has rank {}, indices are {} {}, expected rank 3 to 5 and i64 of x's extents", x.rank(),
          name(indices.type), str(indices.dims));
  for (size_t i = 0; i < x.rank(); ++i)
    require(mayAgree(x.dims[i], indices.dims[i]), "max_unpool_c1: x is {} and indices {}", str(x.dims),
            str(indices.dims));
  size_t spatial = x.rank() - 2;
  require(a.kernel.size() == spatial && a.strides.size() == spatial && a.pads.size() == 2 * spatial,
          "max_unpool_c2: kernel, strides and pads have {}, {} and {} values, expected {}, {} and {}", a.kernel.size(),
          a.strides.size(), a.pads.size(), spatial, spatial, 2 * spatial);
  TensorInfo y{x.type, {x.dims[0], x.dims[1]}, std::nullopt};
  for (size_t i = 0; i < spatial; ++i) {
    require(a.kernel[i] > 0 && a.strides[i] > 0 && a.pads[i] >= 0 && a.pads[spatial + i] >= 0,
            "max_unpool_c2: kernel {}, stride {}, pads [{}, {}]", a.kernel[i], a.strides[i], a.pads[i],
            a.pads[spatial + i]);
    y.dims.push_back((x.dims[2 + i] - 1) * a.strides[i] - a.pads[i] - a.pads[spatial + i] + a.kernel[i]);
  }
  boundElements(1, {0}, {product(y.dims) - 1}); // positions in the pooled tensor
  const TensorInfo *given = operand(in, 2);
  if (given || !a.output_shape.empty()) {
    if (given && !given->contents) {
      y.dims = unknownDims(x.rank());
      return {y};
    }
    Dims dims = given ? *given->contents : toDims(a.output_shape);
    require(dims.size() == x.rank() && mayAgree(dims[0], x.dims[0]) && mayAgree(dims[1], x.dims[1]),
            "max_unpool_c3: output_shape is {}, expected {} extents, the first two {} and {}", str(dims), x.rank(),
            x.dims[0].str(), x.dims[1].str());
    y.dims = dims;
  }
  for (const Dim &extent : y.dims)
    require(mayReach(extent, 0), "max_unpool_c4: the result would be {}", str(y.dims));
  return {y};
}

InferResult inferCol2Im(const Col2ImAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  require(x.rank() == 3, "col2im_c1: x has rank {}, expected 3", x.rank());
  requireNumber(x.type, "col2im_c6");
  std::vector<int64_t> image = staticOperand(in, 1, a.image, "col2im_c2: image_in"),
                       block = staticOperand(in, 2, a.block, "col2im_c2: block_in");
  size_t spatial = image.size();
  require(spatial >= 1 && spatial <= 6 && block.size() == spatial,
          "col2im_c2: image has {} values and block {}, expected equally many", spatial, block.size());
  require(a.strides.size() == spatial && a.dilations.size() == spatial && a.pads.size() == 2 * spatial,
          "col2im_c3: strides, dilations and pads have {}, {} and {} values, expected {}, {} and {}", a.strides.size(),
          a.dilations.size(), a.pads.size(), spatial, spatial, 2 * spatial);
  Dim elements = 1, positions = 1;
  TensorInfo y{x.type, {x.dims[0], 1}, std::nullopt};
  for (size_t i = 0; i < spatial; ++i) {
    require(image[i] > 0 && block[i] > 0, "col2im_c2: image extent {} and block extent {} must be positive", image[i],
            block[i]);
    require(a.strides[i] > 0 && a.dilations[i] > 0 && a.pads[i] >= 0 && a.pads[spatial + i] >= 0,
            "col2im_c3: stride {}, dilation {}, pads [{}, {}]", a.strides[i], a.dilations[i], a.pads[i],
            a.pads[spatial + i]);
    elements = elements * block[i];
    Dim room = Dim(image[i]) + a.pads[i] + a.pads[spatial + i] - ((Dim(block[i]) - 1) * a.dilations[i] + 1);
    require(room.constant() >= 0, "col2im_c5: block extent {} exceeds the padded image extent on axis {}", block[i], i);
    positions = positions * (floorDiv(room, a.strides[i]) + 1);
    y.dims.push_back(image[i]);
  }
  require(mayDivide(elements, x.dims[1]), "col2im_c4: {} elements a block do not divide {}", elements.str(),
          x.dims[1].str());
  require(mayAgree(x.dims[2], positions), "col2im_c5: x has {} blocks, expected {}", x.dims[2].str(), positions.str());
  y.dims[1] = floorDiv(x.dims[1], elements);
  return {y};
}

InferResult inferDet(const DetAttrs &, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  require(x.rank() >= 2 && mayAgree(x.dims[x.rank() - 1], x.dims[x.rank() - 2]),
          "det_c1: x is {}, expected ... x n x n", str(x.dims));
  requireFloat(x.type, "det_c2");
  return {TensorInfo{x.type, Dims(x.dims.begin(), x.dims.end() - 2), std::nullopt}};
}

} // namespace lathe
