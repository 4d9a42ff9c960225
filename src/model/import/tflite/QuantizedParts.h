// What the importers of quantised TFLite operators share: scales of tensors, limits of activations, requantisation.
#pragma once

#include "import/tflite/FixedPoint.h"
#include "import/tflite/Tflite.h"

#include <functional>
#include <span>

namespace lathe::tflite {

/// Quantisation of a tensor with one scale: an element q stands for scale * (q - zero).
struct Uniform {
  ElementType type = ElementType::invalid;
  float scale = 0;
  int64_t zero = 0;
  bool operator==(const Uniform &other) const = default;
};
/// The scale and zero point of an operand or a result. Throws Error unless it is i8, u8 or i16 (`wide`: also i32) with
/// one scale.
Uniform uniformInput(const Operator &op, size_t index);
Uniform uniformOutput(const Operator &op, size_t index = 0);
/// The scale and zero point of an intermediate tensor: the file describes a value inside the operator.
Uniform uniformIntermediate(const Operator &op, size_t index);
/// The exponent of a scale that is a power of two, with a tolerance of 1e-3 like TensorFlow Lite's CheckedLog2;
/// otherwise nothing.
std::optional<int> powerOfTwo(float scale);

struct Limits {
  int64_t least = 0, most = 0;
  int64_t clamp(int64_t value) const { return value < least ? least : value > most ? most : value; }
};
/// The smallest and the greatest number of an integer type of at most 32 bits.
Limits limitsOf(ElementType type);
/// The smallest and greatest quantised result after a fused activation, computed like TensorFlow Lite's
/// CalculateActivationRangeQuantized.
Limits limitsOf(const Operator &op, const Uniform &to, Activation activation);

/// Quantises one number as TensorFlow Lite does: round(value / scale) + zero, saturated; halves round away from zero.
int64_t quantize(float value, const Uniform &to);

/// Emits x - zero, computed in i32 or in `type`.
mlir::Value centred(Operator &op, mlir::Value x, int64_t zero, ElementType type = ElementType::i32);
/// Emits x clamped to `limits`; returns x itself if its type has no numbers beyond them.
mlir::Value clamped(Operator &op, mlir::Value x, ElementType type, const Limits &limits);

/// The multiplier and shift operands of an nn.requantize, which broadcast to its first operand.
struct Factors {
  mlir::Value multiplier, shift;
};
/// Emits an nn.requantize: rescales `sums` and gives them the zero point and type of `to`. `factors`: one factor, or
/// one for each index of an axis that has `trailing` axes behind it. `once`: round once if the import asks for the
/// rounding of the optimised kernels (ImportOptions). Sums in i64 are rounded in i64.
mlir::Value requantized(Operator &op, mlir::Value sums, std::span<const Multiplier> factors, int64_t trailing,
                        const Uniform &to, const Limits &limits, bool once = false);
mlir::Value requantized(Operator &op, mlir::Value sums, const Factors &factors, const Uniform &to, const Limits &limits,
                        bool once = false);
/// Emits `sums` times `factor`, rounded to i32, without a zero point or limits.
mlir::Value rescaled(Operator &op, mlir::Value sums, Multiplier factor);

/// Emits a scalar constant of type i32.
mlir::Value number(Operator &op, int64_t value);
/// Emits x / 2^exponent for an x of type i32, rounded; halves round away from zero.
mlir::Value dividedByPowerOfTwo(Operator &op, mlir::Value x, int exponent);
/// Emits the function inverseRoot (FixedPoint.h) of every element of an i32 tensor. The elements are at least 0.
Factors inverseRoots(Operator &op, mlir::Value x);

/// Emits a constant: `values` along an axis that has `trailing` axes of extent 1 behind it, so that it broadcasts; a
/// scalar if there is one value.
mlir::Value constantVector(Operator &op, const std::vector<int32_t> &values, int64_t trailing);

/// Emits an nn.lookup, which replaces each element q of the 8-bit tensor x by entry(q).
template <class F> mlir::Value looked(Operator &op, mlir::Value x, ElementType from, ElementType to, F &&entry) {
  Limits all = limitsOf(from);
  std::vector<int64_t> values;
  for (int64_t q = all.least; q <= all.most; ++q)
    values.push_back(entry(q));
  return op.emit("lookup", {x}, {{"values", values}, {"to", to}});
}

/// Emits a table of entry(q) for every 16-bit q, as an i16 constant for lookedUp. It is large: an operator should have
/// only one table for each function.
template <class F> mlir::Value wideTable(Operator &op, F &&entry) {
  /// Negative q are at the end, because negative indices of nn.gather count from the end.
  std::vector<int16_t> values(1 << 16);
  for (int32_t q = -32768; q <= 32767; ++q)
    values[static_cast<uint16_t>(q)] = entry(static_cast<int16_t>(q));
  const char *bytes = reinterpret_cast<const char *>(values.data());
  return op.node.constant({ElementType::i16, {1 << 16}, {bytes, bytes + values.size() * sizeof(int16_t)}, {}});
}
/// Emits a gather that replaces each element of x by its entry in a table made by wideTable; x is i32 and holds 16-bit
/// values.
inline mlir::Value lookedUp(Operator &op, mlir::Value table, mlir::Value x) {
  return op.emit("gather", {table, x}, {{"axis", 0}});
}
/// The table of an nn.lookup for an i16 operand: 513 values of `function`, between which nn.lookup interpolates, like
/// LUTPopulate of TensorFlow Lite.
std::vector<int64_t> segments(const Uniform &from, const Uniform &to, const std::function<float(float)> &function);
/// Import the logistic function and the hyperbolic tangent of an i16 operand, interpolated like TensorFlow Lite's
/// kernels.
void importWideSigmoid(Operator &op);
/// Imports all other functions of one i16 operand, besides the logistic function and the hyperbolic tangent.
void importWideUnary(Operator &op);

// Functions that add the importers of the operators in one source file to the table of all importers.
void addQuantizedElementwise(Importers &table); // QuantizedElementwise.cpp: operators with two operands
void addQuantizedUnary(Importers &table);       // QuantizedUnary.cpp: operators with one operand, by tables
void addQuantizedRows(Importers &table);        // QuantizedRows.cpp: softmax, normalisation, means, sums
void addQuantizedRecurrent(Importers &table);   // QuantizedRecurrent.cpp: recurrent layers
void addQuantizedMovement(Importers &table);    // QuantizedMovement.cpp: concatenation, padding, resizing
void addQuantizedWindow(Importers &table);      // QuantizedWindow.cpp: contractions and pools

} // namespace lathe::tflite
