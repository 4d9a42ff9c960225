// Loops over equal ranges, such as the stages of a kernel call (GeneratedKernel::stages).
#pragma once

#include "codegen/builder/KernelBuilder.h"

namespace lathe {

/// Calls body(run, low, high) for every range of `size` numbers that intersects [lo, hi); low and
/// high are relative to the start of the range.
inline void forRuns(KernelBuilder &k, mlir::Value lo, mlir::Value hi, int64_t size,
                    const std::function<void(mlir::Value, mlir::Value, mlir::Value)> &body) {
  k.loop(k.div(lo, size), k.div(k.add(hi, size - 1), size), 1, [&](mlir::Value run) {
    mlir::Value start = k.mul(run, size);
    body(run, k.max(k.sub(lo, start), k.constant(0)), k.min(k.sub(hi, start), k.constant(size)));
  });
}

} // namespace lathe
