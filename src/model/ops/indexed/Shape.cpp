#include "ops/ElementBounds.h"
#include "ops/Registry.h"
#include "ops/ShapeRules.h"

#include <algorithm>
#include <array>

namespace lathe {
namespace {

void requireIndices(ElementType type, const char *constraint) {
  require(type == ElementType::i32 || type == ElementType::i64, "{}: indices are {}, expected i32 or i64", constraint,
          name(type));
}

void requireReduction(const std::string &reduction, ElementType type, const char *constraint) {
  constexpr std::array<const char *, 5> known = {"none", "add", "mul", "max", "min"};
  require(std::find(known.begin(), known.end(), reduction) != known.end(),
          "{}: reduction is '{}', expected none, add, mul, max or min", constraint, reduction);
  require(reduction == "none" || isFloat(type) || isInteger(type),
          "{}: reduction '{}' of elements of type {}, expected numbers", constraint, reduction, name(type));
}

void requireEqualDims(const Dims &a, const Dims &b, const char *constraint, const char *what) {
  bool agree = a.size() == b.size();
  for (size_t i = 0; agree && i < a.size(); ++i)
    agree = mayAgree(a[i], b[i]);
  require(agree, "{}: {} is {}, expected {}", constraint, what, str(a), str(b));
}

/// Checks indices for one axis of x: the same rank, and extents that do not exceed those of x on other axes.
void requireElementIndices(const TensorInfo &x, const TensorInfo &indices, int64_t axis, const char *constraint) {
  require(indices.rank() == x.rank(), "{}: indices have rank {}, expected {} as x", constraint, indices.rank(),
          x.rank());
  for (size_t i = 0; i < x.rank(); ++i)
    require(static_cast<int64_t>(i) == axis || mayReach(x.dims[i], indices.dims[i]),
            "{}: indices are {}, on axis {} more than x, which is {}", constraint, str(indices.dims), i, str(x.dims));
}

/// The number of coordinates in an index vector.
int64_t coordinates(const TensorInfo &indices, int64_t most, const char *constraint) {
  require(indices.dims.back().isConstant(), "{}: the last extent of indices, {}, is not known", constraint,
          indices.dims.back().str());
  int64_t count = indices.dims.back().constant();
  require(count >= 0 && count <= most, "{}: index vectors have {} coordinates, expected at most {}", constraint, count,
          most);
  return count;
}

} // namespace

InferResult inferGatherElements(const GatherElementsAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0], &indices = *in[1];
  require(x.rank() >= 1, "gather_elements_c1: x has rank 0");
  int64_t axis = normalizeAxis(a.axis, static_cast<int64_t>(x.rank()), "gather_elements_c1");
  requireIndices(indices.type, "gather_elements_c2");
  requireElementIndices(x, indices, axis, "gather_elements_c3");
  require(mayIndex(x.dims[axis], indices.dims), "gather_elements_c4: axis {} of x, {}, is empty, indices are {}", axis,
          str(x.dims), str(indices.dims));
  boundIndices(1, {x.dims[axis]});
  return {TensorInfo{x.type, indices.dims, std::nullopt}};
}

InferResult inferGatherNd(const GatherNdAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0], &indices = *in[1];
  require(x.rank() >= 1 && indices.rank() >= 1, "gather_nd_c1: x has rank {} and indices {}, expected at least 1",
          x.rank(), indices.rank());
  auto rank = static_cast<int64_t>(x.rank());
  require(a.batch_dims >= 0 && a.batch_dims < rank && a.batch_dims < static_cast<int64_t>(indices.rank()),
          "gather_nd_c1: batch_dims is {}, expected at least 0 and less than the ranks {} and {}", a.batch_dims, rank,
          indices.rank());
  requireIndices(indices.type, "gather_nd_c2");
  int64_t count = coordinates(indices, rank - a.batch_dims, "gather_nd_c3");
  for (int64_t i = 0; i < a.batch_dims; ++i)
    require(mayAgree(x.dims[i], indices.dims[i]), "gather_nd_c4: x is {} and indices {}, batch axis {} differs",
            str(x.dims), str(indices.dims), i);
  TensorInfo y{x.type, Dims(indices.dims.begin(), indices.dims.end() - 1), std::nullopt};
  y.dims.insert(y.dims.end(), x.dims.begin() + a.batch_dims + count, x.dims.end());
  for (int64_t i = a.batch_dims; i < a.batch_dims + count; ++i)
    require(mayIndex(x.dims[i], y.dims), "gather_nd_c5: axis {} of x, {}, is empty, y is {}", i, str(x.dims),
            str(y.dims));
  boundIndices(1, Dims(x.dims.begin() + a.batch_dims, x.dims.begin() + a.batch_dims + count));
  return {y};
}

InferResult inferScatterElements(const ScatterElementsAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0], &indices = *in[1], &updates = *in[2];
  require(x.rank() >= 1, "scatter_elements_c1: x has rank 0");
  int64_t axis = normalizeAxis(a.axis, static_cast<int64_t>(x.rank()), "scatter_elements_c1");
  requireIndices(indices.type, "scatter_elements_c2");
  requireElementIndices(x, indices, axis, "scatter_elements_c3");
  requireEqualDims(updates.dims, indices.dims, "scatter_elements_c4", "updates");
  require(updates.type == x.type, "scatter_elements_c4: updates are {}, expected {}", name(updates.type), name(x.type));
  requireReduction(a.reduction, x.type, "scatter_elements_c5");
  boundIndices(1, {x.dims[axis]});
  return {TensorInfo{x.type, x.dims, std::nullopt}};
}

InferResult inferScatterNd(const ScatterNdAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0], &indices = *in[1], &updates = *in[2];
  require(x.rank() >= 1 && indices.rank() >= 1, "scatter_nd_c1: x has rank {} and indices {}, expected at least 1",
          x.rank(), indices.rank());
  requireIndices(indices.type, "scatter_nd_c2");
  int64_t count = coordinates(indices, static_cast<int64_t>(x.rank()), "scatter_nd_c3");
  Dims expected(indices.dims.begin(), indices.dims.end() - 1);
  expected.insert(expected.end(), x.dims.begin() + count, x.dims.end());
  requireEqualDims(updates.dims, expected, "scatter_nd_c4", "updates");
  require(updates.type == x.type, "scatter_nd_c4: updates are {}, expected {}", name(updates.type), name(x.type));
  requireReduction(a.reduction, x.type, "scatter_nd_c5");
  boundIndices(1, Dims(x.dims.begin(), x.dims.begin() + count));
  return {TensorInfo{x.type, x.dims, std::nullopt}};
}

InferResult inferNonZero(const NonZeroAttrs &, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  if (x.type != ElementType::boolean)
    requireNumber(x.type, "non_zero_c1");
  // ONNX here calls a vector of one element a scalar.
  return {
      TensorInfo{ElementType::i64, {static_cast<int64_t>(std::max<size_t>(x.rank(), 1)), unknownDim()}, std::nullopt}};
}

InferResult inferCompress(const CompressAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0], &condition = *in[1];
  bool flat = a.axis == std::numeric_limits<int64_t>::max();
  int64_t axis = flat ? 0 : normalizeAxis(a.axis, static_cast<int64_t>(x.rank()), "compress_c1");
  require(condition.rank() == 1 && condition.type == ElementType::boolean,
          "compress_c2: condition is {} {}, expected a vector of bool", name(condition.type), str(condition.dims));
  Dim extent = flat ? product(x.dims) : x.dims[axis];
  require(mayReach(extent, condition.dims[0]), "compress_c2: condition has {} elements, expected at most {}",
          condition.dims[0].str(), extent.str());
  TensorInfo y{x.type, flat ? Dims{0} : x.dims, std::nullopt};
  y.dims[axis] = unknownDim();
  return {y};
}

InferResult inferUnique(const UniqueAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  TensorInfo y{x.type, {}, std::nullopt};
  Dim count = unknownDim(), all = product(x.dims);
  if (a.axis == std::numeric_limits<int64_t>::max()) {
    y.dims = {count};
  } else {
    int64_t axis = normalizeAxis(a.axis, static_cast<int64_t>(x.rank()), "unique_c1");
    y.dims = x.dims;
    all = x.dims[axis];
    y.dims[axis] = count;
  }
  TensorInfo numbers{ElementType::i64, {count}, std::nullopt}, inverse{ElementType::i64, {all}, std::nullopt};
  return {y, numbers, inverse, numbers};
}

InferResult inferNonMaxSuppression(const NonMaxSuppressionAttrs &a, const InferInputs &in) {
  const TensorInfo &boxes = *in[0], &scores = *in[1];
  require(boxes.rank() == 3 && scores.rank() == 3 && mayAgree(boxes.dims[2], 4) &&
              mayAgree(boxes.dims[0], scores.dims[0]) && mayAgree(boxes.dims[1], scores.dims[2]),
          "nms_c1: boxes is {} and scores {}, expected batch x boxes x 4 and batch x classes x boxes", str(boxes.dims),
          str(scores.dims));
  require(isFloat(boxes.type) && scores.type == boxes.type,
          "nms_c1: boxes is {} and scores {}, expected one float type", name(boxes.type), name(scores.type));
  for (size_t i = 2; i < 5; ++i)
    if (const TensorInfo *limit = operand(in, i))
      require(mayAgree(product(limit->dims), 1) && (i == 2 ? isInteger(limit->type) : isFloat(limit->type)),
              "nms_c2: operand {} is {} {}, expected one {}", i, name(limit->type), str(limit->dims),
              i == 2 ? "integer" : "float");
  require(a.center_point_box == 0 || a.center_point_box == 1, "nms_c3: center_point_box is {}, expected 0 or 1",
          a.center_point_box);
  return {TensorInfo{ElementType::i64, {unknownDim(), 3}, std::nullopt}};
}

InferResult inferReverseSequence(const ReverseSequenceAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0], &lens = *in[1];
  require(x.rank() >= 2, "reverse_sequence_c1: x has rank {}, expected at least 2", x.rank());
  require((a.batch_axis == 0 && a.time_axis == 1) || (a.batch_axis == 1 && a.time_axis == 0),
          "reverse_sequence_c1: batch_axis is {} and time_axis {}, expected 0 and 1 or 1 and 0", a.batch_axis,
          a.time_axis);
  require(lens.rank() == 1 && mayAgree(lens.dims[0], x.dims[a.batch_axis]) && lens.type == ElementType::i64,
          "reverse_sequence_c2: sequence_lens is {} {}, expected {} of i64", name(lens.type), str(lens.dims),
          x.dims[a.batch_axis].str());
  boundElements(1, {0}, {x.dims[a.time_axis]});
  return {TensorInfo{x.type, x.dims, std::nullopt}};
}

} // namespace lathe
