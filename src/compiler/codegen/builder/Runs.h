// Emits loops over equal ranges, such as the stages of a kernel call (GeneratedKernel::stages).
#pragma once

#include "codegen/builder/KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {

/// Emits a loop over ranges: divides all integers into ranges of `size`, and calls body(range number, low, high) for
/// each range that intersects [lo, hi). low and high bound the intersection, relative to the start of the range.
inline void forRuns(KernelBuilder &k, mlir::Value lo, mlir::Value hi, int64_t size,
                    const std::function<void(mlir::Value, mlir::Value, mlir::Value)> &body) {
  k.loop(k.div(lo, size), k.div(k.add(hi, size - 1), size), 1, [&](mlir::Value run) {
    mlir::Value start = k.mul(run, size);
    body(run, k.max(k.sub(lo, start), k.constant(0)), k.min(k.sub(hi, start), k.constant(size)));
  });
}

/// Emits a loop over ranges of `size` like the function above, for a size that is known only at run time. The size
/// must be positive if [lo, hi) is not empty.
inline void forRuns(KernelBuilder &k, mlir::Value lo, mlir::Value hi, mlir::Value size,
                    const std::function<void(mlir::Value, mlir::Value, mlir::Value)> &body) {
  auto quotient = [&](mlir::Value x) -> mlir::Value { return k.b.create<mlir::arith::DivUIOp>(k.loc, x, size); };
  k.ifThen(k.less(lo, hi), [&] {
    k.loop(quotient(lo), quotient(k.add(hi, k.sub(size, k.constant(1)))), 1, [&](mlir::Value run) {
      mlir::Value start = k.mul(run, size);
      body(run, k.max(k.sub(lo, start), k.constant(0)), k.min(k.sub(hi, start), size));
    });
  });
}

} // namespace lathe
