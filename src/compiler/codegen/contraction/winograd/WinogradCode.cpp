#include "codegen/contraction/winograd/WinogradCode.h"

#include "codegen/contraction/common/FormatCode.h"
#include "codegen/contraction/winograd/LinearForms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>

namespace lathe {

namespace {

using Sums = linear::Arithmetic<mlir::Value>;

KernelBuilder::Values applied(const Sums &arithmetic, const CoefficientRows &rows, mlir::ValueRange inputs) {
  std::vector<mlir::Value> all(inputs.begin(), inputs.end()), results = linear::apply(arithmetic, rows, all);
  return KernelBuilder::Values(results.begin(), results.end());
}

KernelBuilder::Values applyIntegers(KernelBuilder &k, const CoefficientRows &rows, mlir::ValueRange inputs) {
  using mlir::Value;
  auto add = [&](Value x, Value y) -> Value { return k.b.create<mlir::arith::AddIOp>(k.loc, x, y); };
  auto times = [&](Value x, double factor) -> Value {
    int64_t lanes = llvm::cast<mlir::VectorType>(x.getType()).getNumElements();
    return k.b.create<mlir::arith::MulIOp>(k.loc, x, units::integer(k, std::llround(factor), lanes));
  };
  Sums arithmetic{add, [&](Value x, Value y) -> Value { return k.b.create<mlir::arith::SubIOp>(k.loc, x, y); }, times,
                  [&](Value x, double factor, Value y) { return add(times(x, factor), y); }};
  return applied(arithmetic, rows, inputs);
}

} // namespace

KernelBuilder::Values applyRows(KernelBuilder &k, const CoefficientRows &rows, mlir::ValueRange inputs) {
  using mlir::Value;
  if (!llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(inputs[0].getType())))
    return applyIntegers(k, rows, inputs);
  auto constant = [&](double factor, Value like) { return k.constantF(factor, like.getType()); };
  linear::Arithmetic<Value> arithmetic{
      [&](Value x, Value y) -> Value { return k.b.create<mlir::arith::AddFOp>(k.loc, x, y); },
      [&](Value x, Value y) -> Value { return k.b.create<mlir::arith::SubFOp>(k.loc, x, y); },
      [&](Value x, double factor) -> Value { return k.b.create<mlir::arith::MulFOp>(k.loc, x, constant(factor, x)); },
      [&](Value x, double factor, Value y) -> Value { return k.fma(x, constant(factor, x), y); }};
  return applied(arithmetic, rows, inputs);
}

} // namespace lathe
