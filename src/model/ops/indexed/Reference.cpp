// Operators that read or write elements at positions in another tensor.
#include "ops/ReferenceSupport.h"

#include <algorithm>

namespace lathe {
namespace {

/// The position that an element of an index tensor means. Index tensors arrive as i64.
int64_t place(int64_t index, int64_t extent, const char *op) {
  require(index >= -extent && index < extent, "{}: index {} is outside [-{}, {})", op, index, extent, extent);
  return index < 0 ? index + extent : index;
}

/// For every element of `indices`, in order, the offset in x when the index replaces the coordinate on `axis`.
std::vector<int64_t> elementOffsets(const Tensor &x, const Tensor &indices, int64_t axis, const char *op) {
  std::vector<int64_t> strides = stridesOf(x.dims()), result(indices.elements());
  for (int64_t i = 0; i < indices.elements(); ++i) {
    int64_t rest = i, offset = 0;
    for (size_t k = indices.rank(); k-- > 0;) {
      int64_t coordinate = rest % indices.dim(k);
      rest /= indices.dim(k);
      offset += strides[k] *
                (static_cast<int64_t>(k) == axis ? place(indices.as<int64_t>()[i], x.dim(axis), op) : coordinate);
    }
    result[i] = offset;
  }
  return result;
}

/// Offsets in x of the slices that index vectors select, with extents dims[batch + coordinates...].
struct Slices {
  std::vector<int64_t> offsets;
  int64_t length;

  Slices(const Tensor &x, const Tensor &indices, int64_t batch, const char *op) {
    std::vector<int64_t> strides = stridesOf(x.dims());
    int64_t count = indices.dims().back();
    length = countOf(std::span(x.dims()).subspan(batch + count));
    int64_t vectors = countOf(std::span(indices.dims()).first(indices.rank() - 1));
    int64_t perBatch = countOf(std::span(indices.dims()).first(indices.rank() - 1).subspan(batch));
    int64_t batchStep = countOf(std::span(x.dims()).subspan(batch));
    for (int64_t v = 0; v < vectors; ++v) {
      int64_t offset = v / perBatch * batchStep;
      for (int64_t k = 0; k < count; ++k)
        offset += place(indices.as<int64_t>()[v * count + k], x.dim(batch + k), op) * strides[batch + k];
      offsets.push_back(offset);
    }
  }
};

template <class T> T combined(const std::string &reduction, T before, T update) {
  if (reduction == "add")
    return wrapAdd(before, update);
  if (reduction == "mul")
    return wrapMul(before, update);
  if (reduction == "max")
    return update > before || isNan(update) ? update : before;
  return update < before || isNan(update) ? update : before;
}

/// Copies x to y, then writes run i of `length` updates at offsets[i].
void scatter(const Tensor &x, const Tensor &updates, Tensor &y, const std::vector<int64_t> &offsets, int64_t length,
             const std::string &reduction) {
  forStorage(x, y, [&](auto *from, auto *to) { std::copy_n(from, x.elements(), to); });
  if (reduction == "none")
    return forStorage(updates, y, [&](auto *from, auto *to) {
      for (size_t i = 0; i < offsets.size(); ++i)
        std::copy_n(from + static_cast<int64_t>(i) * length, length, to + offsets[i]);
    });
  forNumber(x.type(), [&]<class T>(T) {
    for (size_t i = 0; i < offsets.size(); ++i)
      for (int64_t k = 0; k < length; ++k) {
        T &element = y.as<T>()[offsets[i] + k];
        element = combined(reduction, element, updates.as<T>()[static_cast<int64_t>(i) * length + k]);
      }
  });
}

} // namespace

void runGatherElements(const GatherElementsAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0), &indices = call.in(1);
  int64_t axis = normalizeAxis(a.axis, static_cast<int64_t>(x.rank()), "gather_elements_c1");
  auto offsets = elementOffsets(x, indices, axis, "gather_elements");
  forStorage(x, call.out(0), [&](auto *from, auto *to) {
    for (size_t i = 0; i < offsets.size(); ++i)
      to[i] = from[offsets[i]];
  });
}

void runGatherNd(const GatherNdAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  Slices slices(x, call.in(1), a.batch_dims, "gather_nd");
  forStorage(x, call.out(0), [&](auto *from, auto *to) {
    for (size_t i = 0; i < slices.offsets.size(); ++i)
      std::copy_n(from + slices.offsets[i], slices.length, to + static_cast<int64_t>(i) * slices.length);
  });
}

void runScatterElements(const ScatterElementsAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  int64_t axis = normalizeAxis(a.axis, static_cast<int64_t>(x.rank()), "scatter_elements_c1");
  scatter(x, call.in(2), call.out(0), elementOffsets(x, call.in(1), axis, "scatter_elements"), 1, a.reduction);
}

void runScatterNd(const ScatterNdAttrs &a, ReferenceCall &call) {
  Slices slices(call.in(0), call.in(1), 0, "scatter_nd");
  scatter(call.in(0), call.in(2), call.out(0), slices.offsets, slices.length, a.reduction);
}

void runReverseSequence(const ReverseSequenceAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0), &lens = call.in(1);
  int64_t inner = countOf(std::span(x.dims()).subspan(2)), time = x.dim(a.time_axis), batch = x.dim(a.batch_axis);
  int64_t timeStep = a.time_axis == 0 ? batch * inner : inner, batchStep = a.time_axis == 0 ? inner : time * inner;
  forStorage(x, call.out(0), [&](auto *from, auto *to) {
    for (int64_t b = 0; b < batch; ++b) {
      int64_t length = lens.as<int64_t>()[b];
      require(length >= 0 && length <= time, "reverse_sequence: length {} is outside [0, {}]", length, time);
      for (int64_t t = 0; t < time; ++t)
        std::copy_n(from + b * batchStep + (t < length ? length - 1 - t : t) * timeStep, inner,
                    to + b * batchStep + t * timeStep);
    }
  });
}

} // namespace lathe
