// Element-wise operators as expressions over values that are scalars or vectors alike: written once in
// ops/<family>/Lower.cpp, used by the element-wise kernels and by every other kernel's epilogue.
#pragma once

#include "codegen/builder/KernelBuilder.h"
#include "ops/Attrs.h"
#include "ops/Registry.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe {

/// Arithmetic for one operator's lowering. Operands arrive in KernelBuilder::computeType of their element type; the
/// result must be in that of the operator's result type. Every constant takes the shape (scalar or vector) of `like`.
class ScalarBuilder {
public:
  using Value = mlir::Value;
  ScalarBuilder(KernelBuilder &kernel, ElementType operand, ElementType result, Value like)
      : kernel(kernel), operandType(operand), resultType(result), like(like) {}

  KernelBuilder &kernel;
  const ElementType operandType; // of the first operand that decides the arithmetic (Where: the second)
  const ElementType resultType;
  Value like;

  bool isFloat() const { return lathe::isFloat(operandType); }
  bool isUnsigned() const { return isUnsignedInteger(operandType); }
  /// A constant of the operand's compute type / a given value's type, in the shape of `like`.
  Value constant(double value);
  Value constantLike(Value value, double number);

  // By the operand's type: float, signed or unsigned arithmetic.
  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value div(Value x, Value y);
  Value neg(Value x);
  /// NaN in either operand gives NaN for floats (ONNX Max/Min/Relu).
  Value max(Value x, Value y);
  Value min(Value x, Value y);
  /// max and min with a constant that is not NaN: one instruction, and NaN in x still gives NaN.
  Value atLeast(Value x, double bound);
  Value atMost(Value x, double bound);
  Value fma(Value x, Value y, Value z);
  Value abs(Value x);
  Value floor(Value x);
  Value ceil(Value x);
  Value roundEven(Value x);
  Value sqrt(Value x);
  /// i1 (vector) results. NaN compares unequal and unordered.
  Value equal(Value x, Value y);
  Value less(Value x, Value y);
  Value lessEqual(Value x, Value y);
  Value select(Value condition, Value x, Value y);

  // Vectorised transcendental functions, no library call: codegen/builder/Math.cpp gives each one's error in ULP.
  Value exp(Value x);
  /// e^x for x <= 0, shorter than exp: what would be denormal is zero. NaN stays.
  Value expNegative(Value x);
  Value expm1(Value x);
  Value log(Value x);
  Value tanh(Value x);
  Value sigmoid(Value x);
  Value erf(Value x);
  /// erf in half the operations, for where it is added to 1 (gelu): off by up to 2.5e-7, exactly 1 from 3.85 on.
  Value erfBrief(Value x);
  Value pow(Value x, Value y);
  Value sin(Value x);
  Value cos(Value x);
  Value atan(Value x);
};

/// One operator's expression, by mnemonic (table generated from the records into ops/Lowerings.inc).
struct ScalarLowering {
  const char *name;
  mlir::Value (*lower)(ScalarBuilder &b, const Attrs &attrs, mlir::ValueRange operands);
};
/// Null when the operator has no scalar expression. Defined in ops/Lowerings.cpp (library lathe_lowerings, above
/// codegen); kernels reach it through this function so that codegen knows no single operator.
using FindScalarLowering = const ScalarLowering *(*)(std::string_view mnemonic);
void setScalarLowerings(FindScalarLowering find);
const ScalarLowering *findScalarLowering(std::string_view mnemonic);

/// Evaluates the element-wise part of a kernel's body at one point (scalar) or run of points (vector): `leaf` gives the
/// value of what is not element-wise (a kernel argument, an anchor's result); everything between is lowered here, each
/// value once.
class Pointwise {
public:
  Pointwise(KernelBuilder &kernel, std::function<mlir::Value(mlir::Value)> leaf)
      : kernel(kernel), leaf(std::move(leaf)) {}
  /// `leaf` returns null for a value that is to be computed from its defining operation. Throws Declined for an
  /// operation that has no scalar lowering.
  mlir::Value evaluate(mlir::Value nnValue);

private:
  KernelBuilder &kernel;
  std::function<mlir::Value(mlir::Value)> leaf;
  llvm::DenseMap<mlir::Value, mlir::Value> done;
};

} // namespace lathe
