// Emits one kernel as scf + arith + vector + llvm pointers, in the signature of package/KernelAbi.h.
//
// All integers are i64 (not `index`), because they are used in pointer arithmetic. Offsets are in elements. A kernel
// is an `llvm.func @NAME(buffers, dims, begin, end, scratch)` that unpacks its buffers and calls `@NAME_body`, whose
// pointer arguments are noalias. The generator writes the body.
#pragma once

#include "codegen/Declined.h"
#include "codegen/target/Target.h"
#include "support/ElementType.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <functional>

namespace lathe {

struct KernelProblem;

/// Number of lanes of a vector value; 1 for a scalar.
int64_t lanesOf(mlir::Value value);

class KernelBuilder {
public:
  using Value = mlir::Value;

  /// Creates the kernel's module and body function. `writable[i]` is true for buffers that the kernel writes; the
  /// others are marked readonly.
  KernelBuilder(mlir::MLIRContext *context, const Target &target, std::string name, std::vector<bool> writable,
                unsigned dimCount, bool relaxedMath = false);
  /// Creates the kernel's module and body function with the context, target and relaxedMath of `problem`.
  KernelBuilder(const KernelProblem &problem, std::string name, std::vector<bool> writable, unsigned dimCount);
  /// Ends the body of the kernel and returns the module.
  mlir::OwningOpRef<mlir::ModuleOp> finish();

  mlir::OpBuilder b;
  mlir::Location loc;
  const Target &target;
  /// True: mathematical functions may have the errors of RelaxedMath.h, and a product and a sum may become one
  /// operation.
  const bool relaxedMath;

  // ---- The arguments of the kernel, for its body.
  Value buffer(unsigned index) const { return buffers[index]; }
  Value dim(unsigned index) const { return dims[index]; }
  Value begin() const { return beginValue; }
  Value end() const { return endValue; }
  Value scratch() const { return scratchValue; }

  // ---- Types of scalars and vectors.
  mlir::Type i64() { return b.getI64Type(); }
  mlir::Type pointer();
  /// Type in which the kernel computes with elements of `type`: f16 and bf16 widen to f32, booleans are i1, unsigned
  /// integers are signless.
  mlir::Type computeType(ElementType type);
  /// True for element types that have a compute type; computeType throws Declined for other types.
  static bool computes(ElementType type);
  static mlir::VectorType vectorOf(mlir::Type element, int64_t lanes) {
    return mlir::VectorType::get({lanes}, element);
  }

  // ---- Operations on integers. Operations on constants are folded.
  Value constant(int64_t value);
  Value add(Value x, Value y);
  Value add(Value x, int64_t y) { return add(x, constant(y)); }
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value mul(Value x, int64_t y) { return mul(x, constant(y)); }
  /// Unsigned quotient of x and y; neither may be negative.
  Value div(Value x, int64_t y);
  Value rem(Value x, int64_t y);
  Value min(Value x, Value y);
  Value max(Value x, Value y);
  /// The comparison x < y of signed integers, as i1.
  Value less(Value x, Value y);
  Value select(Value condition, Value x, Value y);

  // ---- Access to memory. `offset` is in elements of the accessed type.
  Value gep(Value base, Value offset, mlir::Type element);
  /// Loads `lanes` elements (1: a scalar) that have type `type` in memory and widens them to computeType(type).
  Value load(Value base, Value offset, ElementType type, int64_t lanes = 1);
  /// Loads the lanes whose bit in `mask` is set; other lanes become zero. `mask` has the type vector<lanes x i1>.
  Value maskedLoad(Value base, Value offset, ElementType type, int64_t lanes, Value mask);
  /// Converts a scalar or vector of computeType(type) to `type`, the type in memory, and stores it.
  void store(Value value, Value base, Value offset, ElementType type);
  void maskedStore(Value value, Value base, Value offset, ElementType type, Value mask);
  /// The value that a load of `type` would give after `value` was stored as `type`.
  Value rounded(Value value, ElementType type) { return widened(narrowed(value, type), type); }
  /// The type of an element in memory, and conversions between this type and computeType.
  mlir::Type memoryType(ElementType type);
  Value widened(Value value, ElementType type) { return widen(value, type); }
  Value narrowed(Value value, ElementType type) { return narrow(value, type); }
  /// A mask in which the lanes [0, count) are set; `count` is a run-time i64.
  Value prefixMask(Value count, int64_t lanes);

  // ---- Floating-point arithmetic, for scalars and vectors alike.
  Value constantF(double value, mlir::Type type);
  Value splat(Value scalar, int64_t lanes);
  Value zero(mlir::Type type);
  /// y if y > x, else x (also if x or y is NaN). x86 has one instruction for this.
  Value firstUnlessGreater(Value x, Value y) { return firstUnless(true, x, y); }
  /// y if y < x, else x (also if x or y is NaN). x86 has one instruction for this.
  Value firstUnlessLess(Value x, Value y) { return firstUnless(false, x, y); }
  /// x * y + z, rounded once; rounded twice on targets without a fused instruction.
  Value fma(Value x, Value y, Value z);

  // ---- Loops and branches.
  using Values = llvm::SmallVector<Value>;
  /// Emits the loop for (i = lo; i < hi; i += step) with the loop-carried values `state`; `body` returns their next
  /// values. A loop with a static trip count of 1 is emitted inline.
  Values loop(Value lo, Value hi, int64_t step, mlir::ValueRange state,
              const std::function<Values(Value, mlir::ValueRange)> &body);
  void loop(Value lo, Value hi, int64_t step, const std::function<void(Value)> &body);
  /// Emits a branch that yields no values; `otherwise` (may be empty) emits its else part.
  void ifThen(Value condition, const std::function<void()> &then, const std::function<void()> &otherwise = {});
  /// Emits body(0), ... body(copies - 1), which must be independent, interleaved instruction by
  /// instruction. Long dependency chains emitted one after the other would fill the CPU's scheduler
  /// with waiting instructions. Copies with control flow are emitted one after the other.
  void sideBySide(int64_t copies, const std::function<void(int64_t)> &body);

  /// Transposes a matrix given as n vectors of n elements; n is a power of two.
  Values transposed(Values rows);

private:
  std::string name;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Value> buffers, dims;
  Value beginValue, endValue, scratchValue;
  Value firstUnless(bool greater, Value x, Value y);
  Value widen(Value value, ElementType type);
  Value narrow(Value value, ElementType type);
};

} // namespace lathe
