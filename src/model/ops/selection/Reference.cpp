// References of the parts of operators whose extents depend on data. The references of the whole operators define the
// results.
#include "ops/ReferenceSupport.h"

#include <algorithm>

namespace lathe {
namespace {

/// Evaluates another operator on the first `count` operands of this call.
std::vector<Value> whole(const char *op, const Attrs &attrs, const ReferenceCall &call, size_t count) {
  return evaluateReference(op, attrs, call.inputs.first(std::min(count, call.inputs.size())));
}

/// Copies `from` to the first elements of `to`, and sets the others to 0.
void putFirst(Tensor &to, const Tensor &from) {
  std::memset(to.data(), 0, static_cast<size_t>(to.bytes()));
  std::memcpy(to.data(), from.data(), static_cast<size_t>(from.bytes()));
}

} // namespace

void runBindExtents(const BindExtentsAttrs &, ReferenceCall &call) {
  for (int64_t i = 0; i < call.in(0).elements(); ++i)
    require(call.in(0).asInteger(i) >= 0, "element {} is {}, expected an extent of at least 0", i,
            call.in(0).asInteger(i));
  assign(call.out(0), call.in(0));
}

void runCountNonZero(const CountNonZeroAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  auto *counts = call.out(0).as<int64_t>();
  std::fill_n(counts, call.out(0).elements(), 0);
  auto count = [&](auto *from) {
    for (int64_t i = 0; i < x.elements(); ++i)
      counts[i / a.chunk] += from[i] != 0;
  };
  if (x.type() == ElementType::boolean)
    return count(x.as<uint8_t>());
  forNumber(x.type(), [&]<class T>(T) { count(x.as<T>()); });
}

void runNonZeroPositions(const NonZeroPositionsAttrs &, ReferenceCall &call) {
  Tensor positions = whole("non_zero", NonZeroAttrs(), call, 1).front().tensor();
  require(positions.dim(1) == call.in(2).asInteger(0), "x has {} elements that are not zero, count is {}",
          positions.dim(1), call.in(2).asInteger(0));
  assign(call.out(0), positions);
}

void runIota(const IotaAttrs &, ReferenceCall &call) {
  std::iota(call.out(0).as<int64_t>(), call.out(0).as<int64_t>() + call.out(0).elements(), int64_t(0));
}

void runSelectBoxes(const SelectBoxesAttrs &a, ReferenceCall &call) {
  NonMaxSuppressionAttrs attrs;
  attrs.center_point_box = a.center_point_box;
  Tensor chosen = whole("non_max_suppression", attrs, call, 5).front().tensor();
  int64_t classes = call.in(1).dim(1), boxes = call.in(1).dim(2);
  // The call widens the type of the result.
  Tensor selected(ElementType::i64, call.out(0).dims()), counts(ElementType::i64, call.out(1).dims());
  for (Tensor *tensor : {&selected, &counts})
    std::fill_n(tensor->as<int64_t>(), tensor->elements(), 0);
  for (int64_t i = 0; i < chosen.dim(0); ++i) {
    const int64_t *row = chosen.as<int64_t>() + 3 * i;
    int64_t kind = row[0] * classes + row[1];
    selected.as<int64_t>()[kind * boxes + counts.as<int64_t>()[kind]++] = row[2];
  }
  assign(call.out(0), selected.convertedTo(call.out(0).type()));
  assign(call.out(1), counts);
}

void runSelectedBoxes(const SelectedBoxesAttrs &, ReferenceCall &call) {
  const Tensor &selected = call.in(0), &counts = call.in(1);
  int64_t classes = counts.dim(1), boxes = selected.dim(2), at = 0;
  Tensor &y = call.out(0);
  for (int64_t kind = 0; kind < counts.elements(); ++kind)
    for (int64_t i = 0; i < counts.asInteger(kind); ++i, ++at) {
      require(at < y.dim(0), "counts name more than the {} boxes of count", y.dim(0));
      int64_t row[] = {kind / classes, kind % classes, selected.asInteger(kind * boxes + i)};
      std::copy_n(row, 3, y.as<int64_t>() + 3 * at);
    }
}

void runDistinct(const DistinctAttrs &a, ReferenceCall &call) {
  UniqueAttrs attrs;
  attrs.sorted = a.sorted;
  std::vector<Value> all = whole("unique", attrs, call, 1);
  for (size_t i = 0; i < 4; ++i)
    putFirst(call.out(i), all[i].tensor().convertedTo(call.out(i).type()));
  *call.out(4).as<int64_t>() = all[0].tensor().elements();
}

} // namespace lathe
