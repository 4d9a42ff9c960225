// Sums and maxima of rows whose elements are the lanes, several rows side by side: one row alone waits for its own
// additions, and for the steps that put its lanes together.
#pragma once

#include "codegen/builder/Scalar.h"

namespace lathe {

class RowSweep {
public:
  using Value = mlir::Value;
  /// The next partial result of row `row`, given the one before and the vector of the row at `index`; `mask` is null
  /// for whole vectors, else `take` leaves the other lanes of `state` as they are.
  using Take = std::function<Value(int64_t row, Value state, Value index, Value mask)>;
  using Merge = std::function<Value(ScalarBuilder &, Value, Value)>;

  /// Rows of elements of `type` in vectors of `lanes`, a power of two, and `partials` partial results a row. A row's
  /// result depends on these alone, not on how many rows stand beside it.
  RowSweep(KernelBuilder &k, ElementType type, int64_t lanes, int64_t partials)
      : k(k), type(type), lanes(lanes), partials(partials) {}

  /// One result a row: every row has the same number of lanes of `all`, whose order only RowSweep knows.
  struct Results {
    Value all;
    llvm::SmallVector<int64_t> laneOfRow;
  };
  /// Walks [0, length) of `rows` rows, at most `lanes`, each partial result beginning as `start`. `inlined`: vector
  /// after vector without a loop, so that `index` is constant; for constant lengths.
  Results over(Value length, int64_t rows, double start, const Take &take, const Merge &merge, bool inlined = false);
  /// The lanes of each vector put together, one vector a row.
  Results across(llvm::ArrayRef<Value> vectors, const Merge &merge);
  /// What a row has, in every lane and as a scalar.
  Value splat(const Results &results, int64_t row);
  Value scalar(const Results &results, int64_t row);

private:
  KernelBuilder &k;
  ElementType type;
  int64_t lanes, partials;

  Value shuffle(Value x, Value y, llvm::ArrayRef<int64_t> from);
};

} // namespace lathe
