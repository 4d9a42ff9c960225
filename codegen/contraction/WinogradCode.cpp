#include "codegen/contraction/WinogradCode.h"

#include "codegen/space/LinearForms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {

KernelBuilder::Values applyRows(KernelBuilder &k, const CoefficientRows &rows, mlir::ValueRange inputs) {
  using mlir::Value;
  auto constant = [&](double factor, Value like) { return k.constantF(factor, like.getType()); };
  linear::Arithmetic<Value> arithmetic{
      [&](Value x, Value y) -> Value { return k.b.create<mlir::arith::AddFOp>(k.loc, x, y); },
      [&](Value x, Value y) -> Value { return k.b.create<mlir::arith::SubFOp>(k.loc, x, y); },
      [&](Value x, double factor) -> Value { return k.b.create<mlir::arith::MulFOp>(k.loc, x, constant(factor, x)); },
      [&](Value x, double factor, Value y) -> Value { return k.fma(x, constant(factor, x), y); }};
  std::vector<Value> results = linear::apply(arithmetic, rows, std::vector<Value>(inputs.begin(), inputs.end()));
  return KernelBuilder::Values(results.begin(), results.end());
}

} // namespace lathe
