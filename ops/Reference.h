// References: plain loops over any shape and type, the oracle of every test, the constant folder, the fallback
// for what is not compiled, and the judge of `lathe verify` (which runs them on float64 tensors).
#pragma once

#include "ops/Attrs.h"
#include "runtime/Tensor.h"

#include <functional>
#include <span>
#include <string_view>

namespace lathe {

/// One evaluation. Inputs are in plain row-major layout. Outputs come allocated with the shapes the shape function
/// gave; where it could not (data-dependent extents) the output is an empty tensor and the reference assigns it.
struct ReferenceCall {
  std::span<const Value *const> inputs; // null where an optional operand is absent
  std::span<Value> outputs;
  /// Runs body(begin, end) over a static split of [0, count); serial when empty. A reduction stays inside one index.
  std::function<void(int64_t count, const std::function<void(int64_t begin, int64_t end)> &body)> parallel;

  bool has(size_t index) const { return index < inputs.size() && inputs[index] != nullptr; }
  const Tensor &in(size_t index) const { return inputs[index]->tensor(); }
  Tensor &out(size_t index) { return outputs[index].tensor(); }
  void parallelFor(int64_t count, const std::function<void(int64_t, int64_t)> &body) const {
    if (parallel)
      parallel(count, body);
    else
      body(0, count);
  }
};

struct ReferenceEntry {
  const char *name;
  void (*run)(const Attrs &attrs, ReferenceCall &call);
};

/// Null when `op` is unknown.
const ReferenceEntry *findReference(std::string_view op);

/// Infers the results' shapes from actual inputs, allocates and runs: the one-call form used by folding and tests.
/// Operands that are static in the record may be given as tensors; their values reach the shape function.
std::vector<Value> evaluateReference(std::string_view op, const Attrs &attrs, std::span<const Value *const> inputs);

} // namespace lathe
