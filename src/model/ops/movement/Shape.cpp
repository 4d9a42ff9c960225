#include "ops/ElementBounds.h"
#include "ops/Registry.h"
#include "ops/ShapeRules.h"

#include <algorithm>
#include <numeric>

namespace lathe {

InferResult inferTranspose(const TransposeAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  std::vector<int64_t> perm = a.perm;
  if (perm.empty())
    for (size_t i = x.rank(); i > 0; --i)
      perm.push_back(i - 1);
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  bool valid = perm.size() == x.rank();
  for (size_t i = 0; valid && i < sorted.size(); ++i)
    valid = sorted[i] == static_cast<int64_t>(i);
  require(valid, "transpose_c1: perm is [{}], expected a permutation of the {} axes of x", fmt::join(perm, ", "),
          x.rank());
  TensorInfo y{x.type, {}, std::nullopt};
  for (int64_t axis : perm)
    y.dims.push_back(x.dims[axis]);
  if (x.rank() <= 1)
    y.contents = x.contents;
  return {y};
}

InferResult inferConcat(const ConcatAttrs &a, const InferInputs &in) {
  require(!in.empty(), "concat_c1: there is no input");
  const TensorInfo &first = *in[0];
  int64_t axis = normalizeAxis(a.axis, first.rank(), "concat_c2");
  TensorInfo y{first.type, first.dims, std::nullopt};
  for (size_t i = 1; i < in.size(); ++i) {
    const TensorInfo &x = *in[i];
    require(x.type == first.type && x.rank() == first.rank(), "concat_c3: input {} is {} {}, expected {} of rank {}", i,
            name(x.type), str(x.dims), name(first.type), first.rank());
    for (size_t d = 0; d < x.rank(); ++d) {
      if (static_cast<int64_t>(d) == axis) {
        y.dims[d] = y.dims[d] + x.dims[d];
        continue;
      }
      require(mayAgree(x.dims[d], y.dims[d]), "concat_c4: input {} is {}, expected extent {} on axis {}", i,
              str(x.dims), y.dims[d].str(), d);
      if (x.dims[d].isConstant()) // tells more than a symbol
        y.dims[d] = x.dims[d];
    }
  }
  return {withContents(std::move(y), [&]() -> std::optional<std::vector<Dim>> {
    std::vector<Dim> values;
    for (const TensorInfo *x : in) {
      if (!x->contents || x->rank() != 1)
        return std::nullopt;
      values.insert(values.end(), x->contents->begin(), x->contents->end());
    }
    return values;
  })};
}

InferResult inferSplit(const SplitAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  int64_t axis = normalizeAxis(a.axis, x.rank(), "split_c1");
  require(!a.sizes.empty(), "split_c2: no sizes are given");
  Dim sum = 0;
  for (int64_t size : a.sizes) {
    require(size >= 0, "split_c2: size {} is negative", size);
    sum = sum + size;
  }
  require(mayAgree(sum, x.dims[axis]), "split_c3: the sizes add up to {}, expected {} (axis {})", sum.str(),
          x.dims[axis].str(), axis);
  InferResult pieces;
  int64_t offset = 0;
  for (int64_t size : a.sizes) {
    TensorInfo piece{x.type, x.dims, std::nullopt};
    piece.dims[axis] = size;
    pieces.push_back(withContents(std::move(piece), [&]() -> std::optional<std::vector<Dim>> {
      if (!x.contents || x.rank() != 1 || offset + size > static_cast<int64_t>(x.contents->size()))
        return std::nullopt;
      return std::vector<Dim>(x.contents->begin() + offset, x.contents->begin() + offset + size);
    }));
    offset += size;
  }
  return pieces;
}

namespace {

/// The values of a static operand: formulas if its contents are formulas, nothing if they are unknown.
std::optional<Dims> positions(const InferInputs &in, size_t index, const std::vector<int64_t> &attribute) {
  const TensorInfo *info = operand(in, index);
  return info ? info->contents : toDims(attribute);
}

/// Clamps `position` to [`low`, `high`]. Omits a comparison whose result is the same for all values of the symbols,
/// because every comparison makes the text of extents longer.
Dim between(const Dim &position, const Dim &low, const Dim &high) {
  const Dim least = isNonNegative(position - low) ? position : maximum(position, low);
  return isNonNegative(high - least) ? least : minimum(least, high);
}

constexpr int64_t beyond = int64_t(1) << 31; // exporters write such a number for "to the end"

/// A position, counted from the end if it is negative, clamped to [low, high]; nothing if its sign is unknown.
std::optional<Dim> clamped(const Dim &position, const Dim &extent, const Dim &low, const Dim &high) {
  if (position == extent && high == extent)
    return extent;
  if (position.isConstant() && extent.isConstant()) { // positions may be any number: sums of 64 bits would overflow
    int64_t p = position.constant();
    return std::clamp(p < 0 ? p + extent.constant() : p, low.constant(), high.constant());
  }
  if (position.isConstant()) {
    int64_t p = position.constant();
    if (p >= beyond)
      return high;
    if (p <= -beyond)
      return low;
    if (p == 0 && low == Dim(0))
      return low;
    return between(p < 0 ? extent + p : position, p < 0 ? low : Dim(low.constantOr(0)), high);
  }
  if (!isNonNegative(position))
    return std::nullopt;
  return minimum(position, high);
}

Dim slicedExtent(const Dim &start, const Dim &end, int64_t step, const Dim &extent) {
  if (extent == Dim(0))
    return 0;
  bool forward = step > 0;
  auto from = clamped(start, extent, 0, forward ? extent : extent - 1);
  auto to = clamped(end, extent, forward ? 0 : -1, forward ? extent : extent - 1);
  if (!from || !to)
    return unknownDim();
  Dim length = *to - *from;
  if (length.isConstant()) {
    int64_t n = length.constant();
    if ((n > 0) != forward || n == 0)
      return 0;
    return n / step + (n % step != 0);
  }
  step = std::clamp(step, -beyond, beyond); // exceeds every extent
  Dim count = forward ? ceilDiv(length, step) : ceilDiv(Dim(0) - length, -step);
  return isNonNegative(count) ? count : maximum(count, 0);
}

} // namespace

InferResult inferSlice(const SliceAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  for (size_t i = 1; i < 5; ++i)
    if (const TensorInfo *info = operand(in, i))
      require(info->rank() == 1 && isInteger(info->type), "slice_c1: operand {} is {} {}, expected an integer vector",
              i, name(info->type), str(info->dims));
  auto starts = positions(in, 1, a.starts), ends = positions(in, 2, a.ends), axesIn = positions(in, 3, a.axes),
       steps = positions(in, 4, a.steps);
  TensorInfo y{x.type, x.dims, std::nullopt};
  if (!axesIn || !allConstant(*axesIn))
    return {TensorInfo{x.type, unknownDims(x.rank()), std::nullopt}};
  std::vector<int64_t> axes = constants(*axesIn);
  auto count = [&](const std::optional<Dims> &values, size_t index) -> int64_t {
    return values ? static_cast<int64_t>(values->size()) : in[index]->dims[0].constantOr(-1);
  };
  int64_t startCount = count(starts, 1), endCount = count(ends, 2), stepCount = count(steps, 4);
  if (axes.empty() && !operand(in, 3)) {
    int64_t n = startCount >= 0 ? startCount : endCount;
    require(n <= static_cast<int64_t>(x.rank()), "slice_c1: starts has {} values, x has rank {}", n, x.rank());
    if (n < 0)
      return {TensorInfo{x.type, unknownDims(x.rank()), std::nullopt}};
    axes.resize(n);
    std::iota(axes.begin(), axes.end(), 0);
  }
  axes = normalizeAxes(axes, x.rank(), "slice_c2");
  int64_t n = axes.size();
  require((startCount < 0 || startCount == n) && (endCount < 0 || endCount == n),
          "slice_c1: starts has {} values, ends {}, expected {}", startCount, endCount, n);
  bool noSteps = steps && steps->empty();
  require(noSteps || stepCount < 0 || stepCount == n, "slice_c1: steps has {} values, expected {}", stepCount, n);
  bool known = starts && ends && steps && allConstant(*steps);
  for (int64_t i = 0; i < n; ++i) {
    int64_t step = !known ? 1 : noSteps ? 1 : (*steps)[i].constant();
    require(step != 0, "slice_c3: the step on axis {} is zero", axes[i]);
    y.dims[axes[i]] = known ? slicedExtent((*starts)[i], (*ends)[i], step, x.dims[axes[i]]) : unknownDim();
  }
  return {withContents(std::move(y), [&]() -> std::optional<std::vector<Dim>> {
    if (!x.contents || x.rank() != 1 || !known)
      return std::nullopt;
    if (n == 0)
      return x.contents;
    int64_t extent = x.contents->size(), step = noSteps ? 1 : (*steps)[0].constant();
    if (extent == 0)
      return x.contents;
    auto from = clamped((*starts)[0], extent, 0, step > 0 ? extent : extent - 1);
    auto to = clamped((*ends)[0], extent, step > 0 ? 0 : -1, step > 0 ? extent : extent - 1);
    if (!from || !to || !from->isConstant() || !to->isConstant())
      return std::nullopt;
    std::vector<Dim> values;
    for (__int128 i = from->constant(); step > 0 ? i < to->constant() : i > to->constant(); i += step)
      values.push_back((*x.contents)[static_cast<size_t>(i)]);
    return values;
  })};
}

InferResult inferGather(const GatherAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0], &indices = *in[1];
  int64_t axis = normalizeAxis(a.axis, x.rank(), "gather_c1");
  require(indices.type == ElementType::i64 || indices.type == ElementType::i32,
          "gather_c2: indices are {}, expected i32 or i64", name(indices.type));
  TensorInfo y{x.type, {}, std::nullopt};
  y.dims.insert(y.dims.end(), x.dims.begin(), x.dims.begin() + axis);
  y.dims.insert(y.dims.end(), indices.dims.begin(), indices.dims.end());
  y.dims.insert(y.dims.end(), x.dims.begin() + axis + 1, x.dims.end());
  require(mayIndex(x.dims[axis], y.dims), "gather_c3: axis {} of x, {}, is empty, y is {}", axis, str(x.dims),
          str(y.dims));
  boundIndices(1, {x.dims[axis]});
  return {withContents(std::move(y), [&]() -> std::optional<std::vector<Dim>> {
    if (!x.contents || !indices.contents || x.rank() != 1)
      return std::nullopt;
    std::vector<Dim> values;
    int64_t count = x.contents->size();
    for (const Dim &index : *indices.contents) {
      if (!index.isConstant() || index.constant() < -count || index.constant() >= count)
        return std::nullopt;
      values.push_back((*x.contents)[index.constant() + (index.constant() < 0 ? count : 0)]);
    }
    return values;
  })};
}

InferResult inferPad(const PadAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  require(a.mode == "constant" || a.mode == "edge" || a.mode == "reflect" || a.mode == "wrap",
          "pad_c2: mode is '{}', expected constant, edge, reflect or wrap", a.mode);
  if (const TensorInfo *value = operand(in, 2))
    require(value->type == x.type && mayAgree(product(value->dims), 1),
            "pad_c4: value_in is {} {}, expected one element of {}", name(value->type), str(value->dims), name(x.type));
  auto pads = positions(in, 1, a.pads);
  size_t rank = x.rank();
  if (!pads) {
    require(mayAgree(product(in[1]->dims), static_cast<int64_t>(2 * rank)), "pad_c1: pads_in is {}, expected {} values",
            str(in[1]->dims), 2 * rank);
    return {TensorInfo{x.type, unknownDims(rank), std::nullopt}};
  }
  require(pads->size() == 2 * rank, "pad_c1: pads has {} values, expected {}", pads->size(), 2 * rank);
  TensorInfo y{x.type, {}, std::nullopt};
  for (size_t i = 0; i < rank; ++i) {
    const Dim &begin = (*pads)[i], &end = (*pads)[rank + i];
    Dim extent = x.dims[i] + begin + end;
    require(mayReach(extent, 0), "pad_c3: pads [{}, {}] leave {} of {} on axis {}", begin.str(), end.str(),
            extent.str(), x.dims[i].str(), i);
    bool grows = begin.constantOr(0) > 0 || end.constantOr(0) > 0, known = begin.isConstant() && end.isConstant();
    Dim remaining = x.dims[i] + minimum(begin, 0) + minimum(end, 0);
    require(a.mode == "constant" || (known && !grows) || mayReach(remaining, grows ? Dim(1) : minimum(extent, 1)),
            "pad_c5: mode '{}' on axis {} has no element to repeat", a.mode, i);
    y.dims.push_back(extent);
  }
  return {y};
}

InferResult inferExpand(const ExpandAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  Dims wanted = toDims(a.shape);
  if (const TensorInfo *shape = operand(in, 1)) {
    require(shape->rank() == 1 && shape->dims[0].isConstant() && isInteger(shape->type),
            "expand_c2: shape_in is {} {}, expected an integer vector of static length", name(shape->type),
            str(shape->dims));
    if (!shape->contents)
      return {TensorInfo{x.type, unknownDims(std::max<size_t>(shape->dims[0].constant(), x.rank())), std::nullopt}};
    wanted = *shape->contents;
  }
  require(wanted.size() <= maxRank, "expand_c2: shape has {} values, more than the {} supported", wanted.size(),
          maxRank);
  for (const Dim &extent : wanted)
    require(mayReach(extent, 0), "expand_c3: shape has the extent {}", extent.str());
  TensorInfo y{x.type, {}, std::nullopt};
  try {
    y.dims = broadcast(x.dims, wanted);
  } catch (const Error &error) {
    fail("expand_c1: {}", error.what());
  }
  Dim count = product(y.dims);
  return {withContents(std::move(y), [&]() -> std::optional<std::vector<Dim>> {
    if (!x.contents || x.contents->empty())
      return std::nullopt;
    if (x.contents->size() == 1 && count.constantOr(maxContents + 1) <= static_cast<int64_t>(maxContents))
      return std::vector<Dim>(count.constant(), x.contents->front());
    return count == Dim(static_cast<int64_t>(x.contents->size())) ? x.contents : std::nullopt;
  })};
}

InferResult inferTile(const TileAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  auto repeats = positions(in, 1, a.repeats);
  if (!repeats) {
    require(mayAgree(product(in[1]->dims), static_cast<int64_t>(x.rank())),
            "tile_c1: repeats_in is {}, expected {} values", str(in[1]->dims), x.rank());
    return {TensorInfo{x.type, unknownDims(x.rank()), std::nullopt}};
  }
  require(repeats->size() == x.rank(), "tile_c1: repeats has {} values, expected {}", repeats->size(), x.rank());
  TensorInfo y{x.type, {}, std::nullopt};
  for (size_t i = 0; i < x.rank(); ++i) {
    require(mayReach((*repeats)[i], 0), "tile_c2: repeats {} on axis {} is negative", (*repeats)[i].str(), i);
    y.dims.push_back(x.dims[i] * (*repeats)[i]);
  }
  return {withContents(std::move(y), [&]() -> std::optional<std::vector<Dim>> {
    if (!x.contents || x.rank() != 1 || (*repeats)[0].constantOr(maxContents + 1) > static_cast<int64_t>(maxContents))
      return std::nullopt;
    std::vector<Dim> values;
    for (int64_t i = 0; i < (*repeats)[0].constant(); ++i)
      values.insert(values.end(), x.contents->begin(), x.contents->end());
    return values;
  })};
}

InferResult inferSpaceToDepth(const SpaceToDepthAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  require(x.rank() == 4, "block_c1: x has rank {}, expected 4", x.rank());
  require(a.block_size > 0, "block_c2: block_size is {}, expected a positive number", a.block_size);
  for (size_t i = 2; i < 4; ++i)
    require(mayDivide(a.block_size, x.dims[i]), "block_c3: block_size {} does not divide {}", a.block_size,
            str(x.dims));
  return {TensorInfo{x.type,
                     {x.dims[0], x.dims[1] * a.block_size * a.block_size, floorDiv(x.dims[2], a.block_size),
                      floorDiv(x.dims[3], a.block_size)},
                     std::nullopt}};
}

InferResult inferDepthToSpace(const DepthToSpaceAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  require(x.rank() == 4, "block_c1: x has rank {}, expected 4", x.rank());
  require(a.block_size > 0, "block_c2: block_size is {}, expected a positive number", a.block_size);
  require(a.mode == "DCR" || a.mode == "CRD", "block_c5: mode is '{}', expected DCR or CRD", a.mode);
  Dim square = Dim(a.block_size) * a.block_size;
  require(mayDivide(square, x.dims[1]), "block_c4: block_size {} squared does not divide {} channels", a.block_size,
          x.dims[1].str());
  return {TensorInfo{x.type,
                     {x.dims[0], floorDiv(x.dims[1], square), x.dims[2] * a.block_size, x.dims[3] * a.block_size},
                     std::nullopt}};
}

} // namespace lathe
