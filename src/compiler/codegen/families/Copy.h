// Pieces of movement kernels: each is a part of the movement with its own range of the work items.
//
// Elements are moved as unsigned integers of their width.
#pragma once

#include "codegen/builder/KernelHarness.h"

namespace lathe {

class Piece {
public:
  virtual ~Piece() = default;
  virtual Dim units() const = 0;
  /// All extents that the code of the piece needs at run time.
  virtual Dims extents() const = 0;
  /// Emits the code of the piece's work items [first, last).
  virtual void emit(KernelHarness &h, mlir::Value first, mlir::Value last) const = 0;
  /// Predicted cycles of all work items of the piece, with operands in the innermost cache; open extents count as 1.
  virtual double cycles() const = 0;
};

/// Number of positions in a space with these extents; open extents count as 1.
double countOf(const Dims &extents);
/// Predicted cycles to copy `rows` rows of `length` contiguous elements in vectors of `lanes`.
double runCycles(double rows, double length, int64_t lanes);

/// A strided copy: elements go from `from` to `to` over the positions of a space, with strides on each side. The axes
/// may be in any order.
struct CopyJob {
  Space space;
  Access from, to;
};

/// Makes the piece of a movement kernel for a strided copy. Depending on the strides it copies vectors (both sides are
/// contiguous along one axis), transposes tiles in registers (each side is contiguous along another axis), or gathers
/// single elements.
std::unique_ptr<Piece> makeCopy(CopyJob job, const Target &target, int64_t grain);

/// Emits a copy of `count` contiguous elements: whole vectors and a masked rest.
void copyRun(KernelHarness &h, const KernelTensor &from, mlir::Value fromOffset, const KernelTensor &to,
             mlir::Value toOffset, mlir::Value count, int64_t lanes);
/// Emits stores of the scalar `value` to `count` contiguous elements.
void fillRun(KernelHarness &h, mlir::Value value, const KernelTensor &to, mlir::Value toOffset, mlir::Value count,
             int64_t lanes);

/// Returns the unsigned integer type that is as wide as `type`.
ElementType rawType(ElementType type);

} // namespace lathe
