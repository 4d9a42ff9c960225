// Operators whose extents depend on the data: they allocate their results.
#include "ops/ReferenceSupport.h"

#include <algorithm>
#include <map>

namespace lathe {
namespace {

/// Calls f with the elements as a comparable type: numbers, bool as bytes, strings.
template <class F> void forComparable(const Tensor &x, F &&f) {
  if (x.type() == ElementType::string)
    return f(x.strings().data());
  if (x.type() == ElementType::boolean)
    return f(x.as<uint8_t>());
  forNumber(x.type(), [&]<class T>(T) { f(x.as<T>()); });
}

/// -1, 0, 1; NaN is equal to itself and greater than every number.
template <class T> int compare(const T &x, const T &y) {
  if constexpr (std::is_floating_point_v<T>)
    if (isNan(x) || isNan(y))
      return static_cast<int>(isNan(x)) - static_cast<int>(isNan(y));
  return x < y ? -1 : static_cast<int>(y < x);
}

Tensor integers(std::vector<int64_t> dims, const std::vector<int64_t> &values) {
  return Tensor::of<int64_t>(std::move(dims), std::span<const int64_t>(values));
}

/// The slices of x at `positions` along an axis (x: outer x extent x inner).
Tensor slices(const Tensor &x, int64_t outer, int64_t extent, int64_t inner, const std::vector<int64_t> &positions,
              std::vector<int64_t> dims) {
  Tensor y(x.type(), std::move(dims));
  forStorage(x, y, [&](auto *from, auto *to) {
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t position : positions) {
        std::copy_n(from + (o * extent + position) * inner, inner, to);
        to += inner;
      }
  });
  return y;
}

/// x seen as outer x extent x inner around an axis; INT64_MAX: as one row.
struct Rows {
  int64_t outer = 1, extent, inner = 1;
  std::vector<int64_t> dims; // extents of a result with `axis` elements along the axis
  size_t axis = 0;

  Rows(const Tensor &x, int64_t wanted, const char *what) : extent(x.elements()), dims{0} {
    if (wanted == std::numeric_limits<int64_t>::max())
      return;
    axis = normalizeAxis(wanted, static_cast<int64_t>(x.rank()), what);
    dims = x.dims();
    outer = countOf(std::span(dims).first(axis));
    extent = dims[axis];
    inner = countOf(std::span(dims).subspan(axis + 1));
  }
  std::vector<int64_t> withExtent(size_t count) const {
    std::vector<int64_t> result = dims;
    result[axis] = static_cast<int64_t>(count);
    return result;
  }
};

} // namespace

void runNonZero(const NonZeroAttrs &, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  std::vector<int64_t> found;
  forComparable(x, [&](auto *from) {
    using T = std::decay_t<decltype(*from)>;
    for (int64_t i = 0; i < x.elements(); ++i)
      if (from[i] != T())
        found.push_back(i);
  });
  auto count = static_cast<int64_t>(found.size());
  std::vector<int64_t> strides = stridesOf(x.dims()), dims = x.dims();
  if (dims.empty())
    strides = dims = {1};
  Tensor y(ElementType::i64, {static_cast<int64_t>(dims.size()), count});
  for (size_t axis = 0; axis < dims.size(); ++axis)
    for (int64_t i = 0; i < count; ++i)
      y.as<int64_t>()[static_cast<int64_t>(axis) * count + i] = found[i] / strides[axis] % dims[axis];
  call.out(0) = y;
}

void runCompress(const CompressAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0), &condition = call.in(1);
  Rows rows(x, a.axis, "compress_c1");
  std::vector<int64_t> kept;
  require(condition.elements() <= rows.extent, "compress_c2: condition has {} elements, expected at most {}",
          condition.elements(), rows.extent);
  for (int64_t i = 0; i < condition.elements(); ++i)
    if (condition.as<uint8_t>()[i])
      kept.push_back(i);
  call.out(0) = slices(x, rows.outer, rows.extent, rows.inner, kept, rows.withExtent(kept.size()));
}

void runUnique(const UniqueAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  Rows rows(x, a.axis, "unique_c1");
  std::vector<int64_t> first, inverse(rows.extent), counts;
  forComparable(x, [&](auto *from) {
    auto less = [&](int64_t i, int64_t j) {
      for (int64_t o = 0; o < rows.outer; ++o)
        for (int64_t k = 0; k < rows.inner; ++k)
          if (int order =
                  compare(from[(o * rows.extent + i) * rows.inner + k], from[(o * rows.extent + j) * rows.inner + k]);
              order != 0)
            return order < 0;
      return false;
    };
    std::map<int64_t, size_t, decltype(less)> known(less); // slice -> its index in order of appearance
    for (int64_t i = 0; i < rows.extent; ++i) {
      auto [it, fresh] = known.try_emplace(i, first.size());
      if (fresh) {
        first.push_back(i);
        counts.push_back(0);
      }
      inverse[i] = static_cast<int64_t>(it->second);
      ++counts[it->second];
    }
    if (!a.sorted)
      return;
    std::vector<int64_t> place(first.size()), sortedFirst, sortedCounts;
    for (auto [slice, number] : known) {
      place[number] = static_cast<int64_t>(sortedFirst.size());
      sortedFirst.push_back(slice);
      sortedCounts.push_back(counts[number]);
    }
    for (int64_t &number : inverse)
      number = place[number];
    first = sortedFirst;
    counts = sortedCounts;
  });
  auto count = static_cast<int64_t>(first.size());
  call.out(0) = slices(x, rows.outer, rows.extent, rows.inner, first, rows.withExtent(first.size()));
  call.out(1) = integers({count}, first);
  if (call.out(2).defined())
    assign(call.out(2), integers({rows.extent}, inverse));
  else
    call.out(2) = integers({rows.extent}, inverse);
  call.out(3) = integers({count}, counts);
}

namespace {

struct Box {
  double y1, x1, y2, x2;
  double area() const { return (y2 - y1) * (x2 - x1); }
};

template <class T> Box boxOf(const T *from, bool centred) {
  double a = from[0], b = from[1], c = from[2], d = from[3];
  if (centred)
    return {b - d / 2, a - c / 2, b + d / 2, a + c / 2};
  return {std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d)}; // corners may be any two opposite ones
}

bool overlaps(const Box &a, const Box &b, double threshold) {
  double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1), width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (!(height > 0) || !(width > 0) || !(a.area() > 0) || !(b.area() > 0))
    return false;
  double shared = height * width;
  return shared / (a.area() + b.area() - shared) > threshold;
}

} // namespace

void runNonMaxSuppression(const NonMaxSuppressionAttrs &a, ReferenceCall &call) {
  const Tensor &boxes = call.in(0), &scores = call.in(1);
  int64_t most = call.has(2) ? call.in(2).asInteger(0) : 0;
  double overlap = call.has(3) ? call.in(3).asDouble(0) : 0;
  double least = call.has(4) ? call.in(4).asDouble(0) : -std::numeric_limits<double>::infinity();
  int64_t batches = scores.dim(0), classes = scores.dim(1), count = scores.dim(2);
  std::vector<int64_t> result;
  forFloat(boxes.type(), [&]<class T>(T) {
    for (int64_t batch = 0; batch < batches; ++batch) {
      std::vector<Box> all;
      for (int64_t i = 0; i < count; ++i)
        all.push_back(boxOf(boxes.as<T>() + (batch * count + i) * 4, a.center_point_box != 0));
      for (int64_t kind = 0; kind < classes; ++kind) {
        const T *score = scores.as<T>() + (batch * classes + kind) * count;
        std::vector<int64_t> order, chosen;
        for (int64_t i = 0; i < count; ++i)
          if (!isNan(score[i]) && (!call.has(4) || static_cast<double>(score[i]) > least))
            order.push_back(i);
        std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return score[i] > score[j]; });
        for (int64_t i : order) {
          if (static_cast<int64_t>(chosen.size()) >= most)
            break;
          if (std::none_of(chosen.begin(), chosen.end(), [&](int64_t j) { return overlaps(all[i], all[j], overlap); }))
            chosen.push_back(i);
        }
        for (int64_t i : chosen)
          result.insert(result.end(), {batch, kind, i});
      }
    }
  });
  auto selected = static_cast<int64_t>(result.size() / 3);
  call.out(0) = integers({selected, 3}, result);
}

} // namespace lathe
