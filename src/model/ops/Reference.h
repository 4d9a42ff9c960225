// Reference implementations of operators: plain loops over any shape and type. They are the oracle of tests, fold
// constants, run operators that are not compiled, and judge in `lathe verify` (on float64 tensors).
#pragma once

#include "ops/Attrs.h"
#include "runtime/Tensor.h"

#include <functional>
#include <span>
#include <string_view>

namespace lathe {

/// One evaluation of a reference operator. Inputs are row-major. Outputs are allocated with the extents of the shape
/// function. An output with data-dependent extents is an empty tensor that the reference assigns.
struct ReferenceCall {
  std::span<const Value *const> inputs; // operands; null: absent optional operand
  std::span<Value> outputs;
  std::span<const ElementType> narrow; // types in which results are stored; empty: no narrowing
  /// Runs body(begin, end) over a static split of [0, count) on several threads; empty: serial. A reduction stays
  /// within one index.
  std::function<void(int64_t count, const std::function<void(int64_t begin, int64_t end)> &body)> parallel;

  bool has(size_t index) const { return index < inputs.size() && inputs[index] != nullptr; }
  const Tensor &in(size_t index) const { return inputs[index]->tensor(); }
  Tensor &out(size_t index) { return outputs[index].tensor(); }
  /// The type in which result `index` is stored. The identity of an integer reduction (the least or greatest number)
  /// is a number of this type.
  ElementType kept(size_t index) const { return narrow.empty() ? outputs[index].tensor().type() : narrow[index]; }
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

/// Returns the reference implementation of operator `op`; null if `op` is unknown.
const ReferenceEntry *findReference(std::string_view op);

/// Evaluates an operator: infers the shapes of the results from the inputs, allocates the results and runs the
/// reference implementation. Used by folding and tests. Operands that the record declares static may be tensors; the
/// shape function receives their values.
std::vector<Value> evaluateReference(std::string_view op, const Attrs &attrs, std::span<const Value *const> inputs);

} // namespace lathe
