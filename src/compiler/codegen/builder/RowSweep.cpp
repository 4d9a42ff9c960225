#include "codegen/builder/RowSweep.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace lathe {

using mlir::Value;
using Values = KernelBuilder::Values;

Value RowSweep::shuffle(Value x, Value y, llvm::ArrayRef<int64_t> from) {
  return k.b.create<mlir::vector::ShuffleOp>(k.loc, x, y, from);
}

RowSweep::Results RowSweep::over(Value length, int64_t rows, double start, const Take &take, const Merge &merge,
                                 bool inlined) {
  Values state(rows * partials, k.constantF(start, KernelBuilder::vectorOf(k.computeType(type), lanes)));
  auto step = [&](Value index, mlir::ValueRange carried, int64_t vectors, Value mask) {
    Values next(carried);
    k.sideBySide(rows * vectors, [&](int64_t copy) {
      int64_t row = copy % rows, vector = copy / rows;
      Value &partial = next[row * partials + vector];
      partial = take(row, partial, k.add(index, vector * lanes), mask);
    });
    return next;
  };
  Value main = k.mul(k.div(length, lanes * partials), lanes * partials), whole = k.mul(k.div(length, lanes), lanes);
  auto walk = [&](Value lo, Value hi, int64_t vectors, bool masked) {
    auto body = [&](Value index, mlir::ValueRange carried) {
      return step(index, carried, vectors, masked ? k.prefixMask(k.sub(length, index), lanes) : Value());
    };
    if (!inlined) {
      state = k.loop(lo, hi, vectors * lanes, state, body);
      return;
    }
    for (int64_t at = *mlir::getConstantIntValue(lo); at < *mlir::getConstantIntValue(hi); at += vectors * lanes)
      state = body(k.constant(at), state);
  };
  walk(k.constant(0), main, partials, false);
  if (partials > 1)
    walk(main, whole, 1, false);
  walk(whole, length, 1, true); // at most once
  Values ofRows;
  for (int64_t row = 0; row < rows; ++row) {
    Values parts(state.begin() + row * partials, state.begin() + (row + 1) * partials);
    while (parts.size() > 1) {
      ScalarBuilder b(k, type, type, parts[0]);
      Values halves;
      for (size_t i = 0; i + 1 < parts.size(); i += 2)
        halves.push_back(merge(b, parts[i], parts[i + 1]));
      if (parts.size() % 2)
        halves.push_back(parts.back());
      parts = halves;
    }
    ofRows.push_back(parts[0]);
  }
  return across(ofRows, merge);
}

RowSweep::Results RowSweep::across(llvm::ArrayRef<Value> vectors, const Merge &merge) {
  // Each vector holds groups of `width` lanes, one group per row; two vectors become one with groups of half the width.
  Values current(vectors.begin(), vectors.end());
  while (!llvm::isPowerOf2_64(current.size()))
    current.push_back(current.back());
  std::vector<std::vector<int64_t>> rows; // of each vector's groups
  for (size_t i = 0; i < current.size(); ++i)
    rows.push_back({static_cast<int64_t>(i)});
  int64_t width = lanes, bits = bitWidth(type) == 64 ? 64 : 32;
  for (; current.size() > 1; width /= 2) {
    // Within 128 bits the groups of the two alternate, otherwise they are consecutive: x86 shuffles both with one
    // instruction.
    bool alternate = width * bits <= 128;
    auto groups = static_cast<int64_t>(rows[0].size());
    llvm::SmallVector<int64_t> low, high;
    std::vector<std::pair<int64_t, int64_t>> order; // which of the two, its group
    for (int64_t i = 0; i < 2 * groups; ++i)
      order.push_back(alternate ? std::pair(i % 2, i / 2) : std::pair(i / groups, i % groups));
    for (auto [from, group] : order)
      for (int64_t lane = 0; lane < width / 2; ++lane) {
        low.push_back(from * lanes + group * width + lane);
        high.push_back(low.back() + width / 2);
      }
    Values next;
    std::vector<std::vector<int64_t>> nextRows;
    for (size_t i = 0; i < current.size(); i += 2) {
      ScalarBuilder b(k, type, type, current[i]);
      next.push_back(merge(b, shuffle(current[i], current[i + 1], low), shuffle(current[i], current[i + 1], high)));
      nextRows.emplace_back();
      for (auto [from, group] : order)
        nextRows.back().push_back(rows[i + from][group]);
    }
    current = next;
    rows = nextRows;
  }
  Results results{current[0], llvm::SmallVector<int64_t>(rows[0].size())};
  for (int64_t distance = width / 2; distance > 0; distance /= 2) {
    llvm::SmallVector<int64_t> other;
    for (int64_t lane = 0; lane < lanes; ++lane)
      other.push_back(lane ^ distance);
    ScalarBuilder b(k, type, type, results.all);
    results.all = merge(b, results.all, shuffle(results.all, results.all, other));
  }
  for (auto [group, row] : llvm::enumerate(rows[0]))
    results.laneOfRow[row] = static_cast<int64_t>(group) * width;
  return results;
}

Value RowSweep::splat(const Results &results, int64_t row) {
  return shuffle(results.all, results.all, llvm::SmallVector<int64_t>(lanes, results.laneOfRow[row]));
}

Value RowSweep::scalar(const Results &results, int64_t row) {
  return k.b.create<mlir::vector::ExtractOp>(k.loc, results.all, results.laneOfRow[row]);
}

} // namespace lathe
