// Element-wise operators as expressions over scalars or vectors. Each operator is written once in codegen/scalar/;
// element-wise kernels and the epilogues of all other kernels use this code.
#pragma once

#include "codegen/builder/KernelBuilder.h"
#include "ops/Attrs.h"
#include "ops/Registry.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe {

/// Emits the arithmetic of one element-wise operator. Operands have KernelBuilder::computeType of their element type,
/// and the result must have the compute type of the result's element type. Every constant has the shape (scalar or
/// vector) of `like`.
class ScalarBuilder {
public:
  using Value = mlir::Value;
  ScalarBuilder(KernelBuilder &kernel, ElementType operand, ElementType result, Value like)
      : kernel(kernel), operandType(operand), resultType(result), like(like) {}

  KernelBuilder &kernel;
  /// Element type of the operator's first operand (Where: of the second), which selects the arithmetic.
  const ElementType operandType;
  const ElementType resultType;
  Value like;

  bool isFloat() const { return lathe::isFloat(operandType); }
  bool isUnsigned() const { return isUnsignedInteger(operandType); }
  /// Return a constant in the compute type of the operand and the shape of `like`, or in the type of `value`.
  Value constant(double value);
  Value constantLike(Value value, double number);

  // ---- Arithmetic on floats, signed or unsigned integers, as the operand's type requires.
  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value div(Value x, Value y);
  Value neg(Value x);
  /// Maximum and minimum. For floats, NaN in either operand gives NaN (as in ONNX Max, Min and Relu).
  Value max(Value x, Value y);
  Value min(Value x, Value y);
  /// max and min of x and a constant that is not NaN, in one instruction. NaN in x gives NaN.
  Value atLeast(Value x, double bound);
  Value atMost(Value x, double bound);
  Value fma(Value x, Value y, Value z);
  Value abs(Value x);
  Value floor(Value x);
  Value ceil(Value x);
  Value roundEven(Value x);
  Value sqrt(Value x);
  /// 1 / x, 1 / sqrt(x) and x / y for floats; approximate if the kernel's mathematics is relaxed. The operator Div must
  /// not use them, because quotients that are whole numbers must stay exact.
  Value reciprocal(Value x);
  Value reciprocalSqrt(Value x);
  Value quotient(Value x, Value y);
  /// Comparisons that give i1 (or vectors of i1). Every comparison with NaN is false.
  Value equal(Value x, Value y);
  Value less(Value x, Value y);
  Value lessEqual(Value x, Value y);
  Value select(Value condition, Value x, Value y);

  // ---- Transcendental functions without library calls; codegen/builder/Math.cpp states the error of each in ULP,
  // codegen/builder/RelaxedMath.h the errors of relaxed mathematics.
  Value exp(Value x);
  /// e^x for x <= 0 with fewer instructions than exp. Denormal results become zero; NaN stays NaN.
  Value expNegative(Value x);
  Value expm1(Value x);
  Value log(Value x);
  Value tanh(Value x);
  Value sigmoid(Value x);
  Value erf(Value x);
  /// Emits the error function erf in half as many operations as usual, for callers that add 1 to it (gelu). The error
  /// is at most 2.5e-7; from 3.85 on the result is exactly 1.
  Value erfBrief(Value x);
  Value pow(Value x, Value y);
  Value sin(Value x);
  Value cos(Value x);
  Value atan(Value x);
};

/// The scalar code of one operator, with the operator's mnemonic. The table of all operators is generated from the
/// operator records (ops/Lowerings.inc).
struct ScalarLowering {
  const char *name;
  mlir::Value (*lower)(ScalarBuilder &b, const Attrs &attrs, mlir::ValueRange operands);
};
/// Returns the scalar code of an operator; null if it has none (codegen/scalar/Lowerings.cpp).
const ScalarLowering *findScalarLowering(std::string_view mnemonic);

/// Emits the element-wise part of the body of a kernel at one position (scalar) or several adjacent positions
/// (vector). `leaf` returns the value of everything that is not element-wise (kernel arguments, results of the
/// anchor). Each value is computed once.
class Pointwise {
public:
  Pointwise(KernelBuilder &kernel, std::function<mlir::Value(mlir::Value)> leaf)
      : kernel(kernel), leaf(std::move(leaf)) {}
  /// Emits the code that computes `nnValue` and returns its value. `leaf` must return null for a value that its
  /// defining operation computes. Throws Declined for an operation without scalar code.
  mlir::Value evaluate(mlir::Value nnValue);

private:
  KernelBuilder &kernel;
  std::function<mlir::Value(mlir::Value)> leaf;
  llvm::DenseMap<mlir::Value, mlir::Value> done;
};

} // namespace lathe
