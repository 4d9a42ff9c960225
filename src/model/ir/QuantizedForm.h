// Recognises and builds ONNX's QuantizeLinear and DequantizeLinear as nn operators.
#pragma once

#include "ir/Bridge.h"

#include <optional>
#include <vector>

namespace lathe::nn {

/// Scale and zero point of a quantised tensor.
struct QuantizedScale {
  ElementType type = ElementType::invalid; // type of the integers: i8, u8, i16, u16 or i32
  std::vector<double> scale;               // one scale, or one for each position along `axis`
  std::vector<double> zeroPoint;           // one zero point for each scale
  std::optional<int64_t> axis;             // axis along which scales differ; nothing: one scale for the whole tensor

  bool perTensor() const { return scale.size() == 1; }
  bool operator==(const QuantizedScale &) const = default;
};

/// A quantisation or a dequantisation that a graph spells out as several nn operators.
struct QuantizedForm {
  mlir::Value x; // operand of the first operator of the form
  QuantizedScale scale;
  llvm::SmallVector<mlir::Operation *> ops; // all operators of the form, in order; the last one gives the result
};

/// Returns the quantise form whose last operator is `op`; nothing if there is none.
std::optional<QuantizedForm> quantizeAt(mlir::Operation *op);
/// Returns the dequantise form whose last operator is `op`; nothing if there is none. Its `x` has an integer type.
std::optional<QuantizedForm> dequantizeAt(mlir::Operation *op);
/// Returns the dequantise form that computes `value`; nothing if there is none.
std::optional<QuantizedForm> dequantizeOf(mlir::Value value);

/// Emits the operators that quantise the float32 value `x`. Constants are named after `name`.
mlir::Value buildQuantize(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x, const QuantizedScale &scale,
                          llvm::StringRef name);
/// Emits the operators that dequantise `x` to float32. Constants are named after `name`.
mlir::Value buildDequantize(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x, const QuantizedScale &scale,
                            llvm::StringRef name);

/// Smallest and largest value of an integer type of at most 32 bits.
std::pair<double, double> integerLimits(ElementType type);

/// Returns the elements of a constant of any numeric type that quantisation uses, as doubles; nothing for other
/// values.
std::optional<std::vector<double>> constantNumbers(mlir::Value value);

} // namespace lathe::nn
