#include "ops/ElementBounds.h"

#include <utility>

namespace lathe {
namespace {

thread_local std::vector<ElementBound> *collected = nullptr; // bounds that elementBounds collects on this thread

} // namespace

void boundElements(size_t operand, Dims least, Dims most) {
  if (collected && !least.empty())
    collected->push_back({operand, std::move(least), std::move(most)});
}

void boundIndices(size_t operand, const Dims &extents) {
  if (!collected)
    return;
  Dims least, most;
  for (const Dim &extent : extents) {
    least.push_back(Dim(0) - extent);
    most.push_back(extent - 1);
  }
  boundElements(operand, std::move(least), std::move(most));
}

std::vector<ElementBound> elementBounds(const OpRecord &record, const Attrs &attrs, const InferInputs &in) {
  std::vector<ElementBound> bounds;
  struct Scope {
    std::vector<ElementBound> *outer;
    explicit Scope(std::vector<ElementBound> *own) : outer(std::exchange(collected, own)) {}
    ~Scope() { collected = outer; }
  } scope(&bounds);
  record.infer(attrs, in);
  return bounds;
}

} // namespace lathe
