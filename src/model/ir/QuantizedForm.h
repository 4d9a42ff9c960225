// Recognises and builds ONNX's QuantizeLinear and DequantizeLinear as nn operators.
#pragma once

#include "ir/Bridge.h"

#include <optional>
#include <vector>

namespace lathe::nn {

/// Scale and zero point of a quantised tensor.
struct QuantizedScale {
  ElementType type = ElementType::invalid; // type of the integers: i8, u8, i16, u16 or i32
  std::vector<double> scale;               // one value, or one a position along `axis`
  std::vector<double> zeroPoint;           // as many values as `scale`
  std::optional<int64_t> axis;             // nothing: one value for the whole tensor

  bool perTensor() const { return scale.size() == 1; }
  bool operator==(const QuantizedScale &) const = default;
};

/// A quantise or a dequantise that is spelled out in a graph.
struct QuantizedForm {
  mlir::Value x; // operand of the whole form
  QuantizedScale scale;
  llvm::SmallVector<mlir::Operation *> ops; // all operators of the form, in order; the last one gives the result
};

/// The quantise whose last operator is `op`; nothing if there is none.
std::optional<QuantizedForm> quantizeAt(mlir::Operation *op);
/// The dequantise whose last operator is `op`; nothing if there is none. `x` has an integer type.
std::optional<QuantizedForm> dequantizeAt(mlir::Operation *op);
/// The dequantise that computes `value`; nothing if there is none.
std::optional<QuantizedForm> dequantizeOf(mlir::Value value);

/// Builds a quantise of float32 `x`. Constants are named after `name`.
mlir::Value buildQuantize(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x, const QuantizedScale &scale,
                          llvm::StringRef name);
/// Builds a dequantise of `x` to float32.
mlir::Value buildDequantize(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x, const QuantizedScale &scale,
                            llvm::StringRef name);

/// Smallest and largest value of an integer type of at most 32 bits.
std::pair<double, double> integerLimits(ElementType type);

/// Elements of a constant of any numeric type that quantisation uses, as doubles; nothing for other values.
std::optional<std::vector<double>> constantNumbers(mlir::Value value);

} // namespace lathe::nn
