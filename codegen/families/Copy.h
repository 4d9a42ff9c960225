// Pieces of movement kernels: each has its own share of the parallel range.
//
// Elements are moved as unsigned integers of their width.
#pragma once

#include "codegen/builder/KernelHarness.h"

namespace lathe {

class Piece {
public:
  virtual ~Piece() = default;
  virtual Dim units() const = 0;
  /// Every extent the code needs at run time.
  virtual Dims extents() const = 0;
  /// Emits units [first, last).
  virtual void emit(KernelHarness &h, mlir::Value first, mlir::Value last) const = 0;
};

/// to[...] = from[...] over a space, each side through its strides. Axes may come in any order.
struct CopyJob {
  Space space;
  Access from, to;
};

/// Chooses by the strides: runs of vectors where both sides are contiguous along one axis; tiles transposed in
/// registers where each is contiguous along its own; otherwise element by element (gathered).
std::unique_ptr<Piece> makeCopy(CopyJob job, const Target &target, int64_t grain);

/// Copies `count` contiguous elements, whole vectors and a masked rest.
void copyRun(KernelHarness &h, const KernelTensor &from, mlir::Value fromOffset, const KernelTensor &to,
             mlir::Value toOffset, mlir::Value count, int64_t lanes);
/// Stores `value` (a scalar) to `count` contiguous elements.
void fillRun(KernelHarness &h, mlir::Value value, const KernelTensor &to, mlir::Value toOffset, mlir::Value count,
             int64_t lanes);

/// The unsigned integer type as wide as `type`.
ElementType rawType(ElementType type);

/// Vectors of `n` elements (n a power of two, as many vectors), rows and columns exchanged.
llvm::SmallVector<mlir::Value> transposed(KernelBuilder &k, llvm::SmallVector<mlir::Value> rows);

} // namespace lathe
