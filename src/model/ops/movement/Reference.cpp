#include "ops/ReferenceSupport.h"

namespace lathe {

void runTranspose(const TransposeAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  std::vector<int64_t> own = stridesOf(x.dims()), strides;
  for (size_t i = 0; i < x.rank(); ++i)
    strides.push_back(own[a.perm.empty() ? x.rank() - 1 - i : a.perm[i]]);
  copyStrided(call, x, call.out(0), call.out(0).dims(), strides);
}

namespace {

/// Copies `rows` runs of `length` elements; run starts are `fromStep` and `toStep` elements apart.
void copyRuns(const Tensor &x, int64_t fromStart, int64_t fromStep, Tensor &y, int64_t toStart, int64_t toStep,
              int64_t rows, int64_t length) {
  forStorage(x, y, [&](auto *from, auto *to) {
    for (int64_t row = 0; row < rows; ++row)
      std::copy_n(from + fromStart + row * fromStep, length, to + toStart + row * toStep);
  });
}

} // namespace

void runConcat(const ConcatAttrs &a, ReferenceCall &call) {
  Tensor &y = call.out(0);
  int64_t axis = normalizeAxis(a.axis, y.rank(), "concat_c2");
  int64_t outer = countOf(std::span(y.dims()).first(axis)), inner = countOf(std::span(y.dims()).subspan(axis + 1));
  int64_t at = 0;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    int64_t length = call.in(i).dim(axis) * inner;
    copyRuns(call.in(i), 0, length, y, at, y.dim(axis) * inner, outer, length);
    at += length;
  }
}

void runSplit(const SplitAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  int64_t axis = normalizeAxis(a.axis, x.rank(), "split_c1");
  int64_t outer = countOf(std::span(x.dims()).first(axis)), inner = countOf(std::span(x.dims()).subspan(axis + 1));
  int64_t at = 0;
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    int64_t length = a.sizes[i] * inner;
    copyRuns(x, at, x.dim(axis) * inner, call.out(i), 0, length, outer, length);
    at += length;
  }
}

void runSlice(const SliceAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  std::vector<int64_t> strides = stridesOf(x.dims());
  int64_t offset = 0;
  for (size_t i = 0; i < a.starts.size(); ++i) {
    int64_t axis = a.axes.empty() ? static_cast<int64_t>(i) : normalizeAxis(a.axes[i], x.rank(), "slice_c2");
    int64_t extent = x.dim(axis), step = a.steps.empty() ? 1 : a.steps[i], start = a.starts[i];
    start = std::clamp<int64_t>(start < 0 ? start + extent : start, 0, step > 0 ? extent : extent - 1);
    offset += start * strides[axis];
    strides[axis] = call.out(0).dim(axis) > 1 ? strides[axis] * step : 0; // a step beyond the extent is never taken
  }
  copyStrided(call, x, call.out(0), call.out(0).dims(), strides, offset);
}

void runGather(const GatherAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  Tensor indices = call.in(1).convertedTo(ElementType::i64);
  int64_t axis = normalizeAxis(a.axis, x.rank(), "gather_c1"), extent = x.dim(axis), count = indices.elements();
  int64_t outer = countOf(std::span(x.dims()).first(axis)), inner = countOf(std::span(x.dims()).subspan(axis + 1));
  std::vector<int64_t> positions(indices.as<int64_t>(), indices.as<int64_t>() + count);
  for (int64_t &position : positions) {
    require(position >= -extent && position < extent, "gather: index {} is outside [-{}, {})", position, extent,
            extent);
    position += position < 0 ? extent : 0;
  }
  forStorage(x, call.out(0), [&](auto *from, auto *to) {
    call.parallelFor(outer * count, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        std::copy_n(from + (i / count * extent + positions[i % count]) * inner, inner, to + i * inner);
    });
  });
}

namespace {

/// The position in x that padded position `p` (0: x's first element) repeats; -1 for the constant value.
int64_t repeated(int64_t p, int64_t extent, const std::string &mode) {
  if (p >= 0 && p < extent)
    return p;
  if (mode == "constant")
    return -1;
  if (mode == "edge")
    return p < 0 ? 0 : extent - 1;
  int64_t period = mode == "wrap" ? extent : std::max<int64_t>(2 * (extent - 1), 1);
  p = (p % period + period) % period;
  return p < extent ? p : period - p;
}

} // namespace

void runPad(const PadAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  Tensor &y = call.out(0);
  size_t rank = x.rank();
  // For each axis and position of y, the offset in x, or -1.
  std::vector<std::vector<int64_t>> sources(rank);
  std::vector<int64_t> strides = stridesOf(x.dims());
  for (size_t axis = 0; axis < rank; ++axis) {
    int64_t begin = a.pads[axis], end = a.pads[rank + axis];
    int64_t cropped = std::max<int64_t>(-begin, 0),
            extent = x.dim(axis) - cropped - std::max<int64_t>(-end, 0); // negative pads crop first
    for (int64_t i = 0; i < y.dim(axis); ++i) {
      require(extent > 0 || a.mode == "constant", "pad_c5: mode '{}' on axis {} has no element to repeat", a.mode,
              axis);
      int64_t p = repeated(i - std::max<int64_t>(begin, 0), extent, a.mode);
      sources[axis].push_back(p < 0 ? -1 : (p + cropped) * strides[axis]);
    }
  }
  Tensor value = call.has(2)                       ? call.in(2)
                 : x.type() == ElementType::string ? Tensor(x.type(), {})
                                                   : Tensor::of<double>({}, {a.value}).convertedTo(x.type());
  int64_t inner = rank ? y.dim(rank - 1) : 1;
  forStorage(x, y, [&]<class T>(const T *from, T *to) {
    T fill{};
    forStorage(value, value, [&]<class U>(const U *element, U *) {
      if constexpr (std::is_same_v<T, U>)
        fill = *element;
    });
    call.parallelFor(y.elements() / inner, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        int64_t rest = row, offset = 0;
        bool outside = false;
        for (size_t axis = rank ? rank - 1 : 0; axis-- > 0;) {
          int64_t source = sources[axis][rest % y.dim(axis)];
          rest /= y.dim(axis);
          outside |= source < 0;
          offset += source;
        }
        for (int64_t i = 0; i < inner; ++i) {
          int64_t source = rank ? sources[rank - 1][i] : 0;
          to[row * inner + i] = outside || source < 0 ? fill : from[offset + source];
        }
      }
    });
  });
}

void runExpand(const ExpandAttrs &, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  copyStrided(call, x, call.out(0), call.out(0).dims(), broadcastStrides(x.dims(), call.out(0).dims()));
}

void runTile(const TileAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  std::vector<int64_t> own = stridesOf(x.dims()), dims, strides;
  for (size_t i = 0; i < x.rank(); ++i) {
    dims.insert(dims.end(), {a.repeats[i], x.dim(i)});
    strides.insert(strides.end(), {0, own[i]});
  }
  copyStrided(call, x, call.out(0), dims, strides);
}

void runSpaceToDepth(const SpaceToDepthAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  int64_t b = a.block_size, channels = x.dim(1), height = x.dim(2) / b, width = x.dim(3) / b, row = x.dim(3);
  copyStrided(call, x, call.out(0), std::vector<int64_t>{x.dim(0), b, b, channels, height, width},
              {channels * x.dim(2) * row, row, 1, x.dim(2) * row, b * row, b});
}

void runDepthToSpace(const DepthToSpaceAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  int64_t b = a.block_size, channels = x.dim(1) / (b * b), height = x.dim(2), width = x.dim(3), plane = height * width;
  bool blockFirst = a.mode == "DCR";
  int64_t channelStep = blockFirst ? plane : plane * b * b, blockStep = blockFirst ? plane * channels : plane;
  copyStrided(call, x, call.out(0), std::vector<int64_t>{x.dim(0), channels, height, b, width, b},
              {x.dim(1) * plane, channelStep, width, b * blockStep, 1, blockStep});
}

} // namespace lathe
