// Reductions (sums, maxima) of rows whose elements are lanes. They reduce several rows at once, because a single row
// would wait for the latency of its own additions and of the steps that combine its lanes.
#pragma once

#include "codegen/builder/Scalar.h"

namespace lathe {

class RowSweep {
public:
  using Value = mlir::Value;
  /// Function that emits the next partial result of `row`: combines `state`, the previous partial result, with the
  /// vector of the row at `index`. `mask` is null for whole vectors; lanes outside of the mask must keep their value
  /// in `state`.
  using Take = std::function<Value(int64_t row, Value state, Value index, Value mask)>;
  using Merge = std::function<Value(ScalarBuilder &, Value, Value)>;

  /// Reduces rows of elements of `type` in vectors of `lanes` (a power of two) with `partials` partial results per row.
  /// The result of a row depends on these parameters, not on how many rows are reduced at once.
  RowSweep(KernelBuilder &k, ElementType type, int64_t lanes, int64_t partials)
      : k(k), type(type), lanes(lanes), partials(partials) {}

  /// The results of the reductions of several rows, in the lanes of one vector. Each row has the same number of lanes
  /// of `all`; only RowSweep knows their order.
  struct Results {
    Value all;
    llvm::SmallVector<int64_t> laneOfRow;
  };
  /// Emits the reduction of the elements [0, length) of `rows` rows (at most `lanes`). Every partial result starts
  /// with `start`. `inlined`: unrolls completely, so that `index` is constant; `length` must then be constant.
  Results over(Value length, int64_t rows, double start, const Take &take, const Merge &merge, bool inlined = false);
  /// Combines the lanes of each vector of `vectors`; there is one vector per row.
  Results across(llvm::ArrayRef<Value> vectors, const Merge &merge);
  /// Return the reduced result of one row: in every lane of a vector, or as a scalar.
  Value splat(const Results &results, int64_t row);
  Value scalar(const Results &results, int64_t row);

private:
  KernelBuilder &k;
  ElementType type;
  int64_t lanes, partials;

  Value shuffle(Value x, Value y, llvm::ArrayRef<int64_t> from);
};

} // namespace lathe
