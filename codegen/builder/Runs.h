// Loops over runs of equal size, as stages of a kernel call are (GeneratedKernel::stages).
#pragma once

#include "codegen/builder/KernelBuilder.h"

namespace lathe {

/// body(run, low, high) for every run of `size` numbers that [lo, hi) touches; low and high count from its start.
inline void forRuns(KernelBuilder &k, mlir::Value lo, mlir::Value hi, int64_t size,
                    const std::function<void(mlir::Value, mlir::Value, mlir::Value)> &body) {
  k.loop(k.div(lo, size), k.div(k.add(hi, size - 1), size), 1, [&](mlir::Value run) {
    mlir::Value start = k.mul(run, size);
    body(run, k.max(k.sub(lo, start), k.constant(0)), k.min(k.sub(hi, start), k.constant(size)));
  });
}

} // namespace lathe
