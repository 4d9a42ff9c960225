// Element-wise operators at the edges of every element type: kernels and references must give the same bits for
// integers, and for floats the same NaN, infinities, zeros and numbers (docs/numerics.md).
#include "codegen/testing/KernelEmulation.h"
#include "codegen/testing/KernelTesting.h"
#include "ops/Registry.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

namespace lathe {
namespace {

using E = ElementType;

constexpr E types[] = {E::f32, E::f64, E::f16, E::bf16, E::i8,  E::i16,    E::i32,
                       E::i64, E::u8,  E::u16, E::u32,  E::u64, E::boolean};

std::string mlirName(E type) {
  if (type == E::boolean)
    return "i1";
  std::string text(name(type));
  return isUnsignedInteger(type) ? "ui" + text.substr(1) : text;
}

double smallestNormal(E type) {
  return type == E::f64                      ? std::numeric_limits<double>::min()
         : type == E::f32 || type == E::bf16 ? std::numeric_limits<float>::min()
                                             : 0x1p-14;
}

/// Kernels treat denormal operands and results as zero.
Tensor flushed(const Tensor &tensor) {
  if (!isFloat(tensor.type()))
    return tensor;
  Tensor result = tensor.convertedTo(E::f64).clone();
  for (int64_t i = 0; i < result.elements(); ++i)
    if (double &x = result.as<double>()[i]; std::abs(x) < smallestNormal(tensor.type()))
      x = std::copysign(0.0, x);
  return result.convertedTo(tensor.type());
}

/// Both ends of the type, numbers around zero and around the ends of other types, NaN and infinities; the first `count`
/// of these.
Tensor edges(E type, size_t count = 64) {
  if (type == E::boolean)
    return Tensor::of<int64_t>({2}, {0, 1}).convertedTo(type);
  if (!isFloat(type)) {
    unsigned width = bitWidth(type);
    int64_t high = static_cast<int64_t>(~uint64_t(0) >> (65 - width)), low = -high - 1, bits = width;
    std::vector<int64_t> values = {0, 1, -1, low, high, low + 1, high - 1, 2, 3, -3, 7, bits, bits - 1, bits + 1, 100};
    values.resize(std::min(values.size(), count));
    Tensor wide = Tensor::of<int64_t>({int64_t(values.size())}, std::span<const int64_t>(values));
    return wide.convertedTo(type); // the low bits: -1 is the greatest natural number
  }
  double most = type == E::f64   ? std::numeric_limits<double>::max()
                : type == E::f32 ? std::numeric_limits<float>::max()
                : type == E::f16 ? 65504
                                 : 0x1.fep127;
  double least = type == E::f16 ? 0x1p-14 : type == E::f64 ? 0x1p-1022 : 0x1p-126;
  std::vector<double> values = {0,
                                -0.0,
                                1,
                                -1,
                                NAN,
                                INFINITY,
                                -INFINITY,
                                most,
                                -most,
                                least,
                                -least,
                                least / 4,
                                -least / 4,
                                0.5,
                                -2.5,
                                2,
                                3,
                                -3,
                                -0.5,
                                1.5,
                                2.5,
                                126.5,
                                127.5,
                                128,
                                -128.5,
                                -129,
                                255.5,
                                256,
                                32767.5,
                                32768,
                                -32769,
                                65535.5,
                                65536,
                                0x1p31,
                                -0x1p31,
                                -0x1.000002p31,
                                0x1.fffffep31,
                                0x1p32,
                                0x1p63,
                                -0x1p63,
                                0x1p64,
                                -0x1p64,
                                1e-20,
                                -1e-20,
                                65519.9,
                                65520,
                                1 + 0x1p-11 + 0x1p-40,
                                1 + 0x1p-8 + 0x1p-40};
  values.resize(std::min(values.size(), count));
  return Tensor::of<double>({int64_t(values.size())}, std::span<const double>(values)).convertedTo(type);
}

/// Two operands with all pairs of edges.
std::pair<Tensor, Tensor> pairs(E type) {
  Tensor all = edges(type, 21), a(type, {all.elements() * all.elements()}), b(type, a.dims());
  size_t width = bitWidth(type) / 8;
  for (int64_t i = 0; i < a.elements(); ++i) {
    std::memcpy(a.as<char>() + i * width, all.as<char>() + i / all.elements() * width, width);
    std::memcpy(b.as<char>() + i * width, all.as<char>() + i % all.elements() * width, width);
  }
  return {a, b};
}

/// True for operators that IEEE rounds correctly, or that do not round.
bool isExact(const std::string &op) {
  static const std::set<std::string> exact = {"cast", "add",   "sub",  "mul",   "div",       "max",
                                              "min",  "floor", "ceil", "neg",   "abs",       "relu",
                                              "clip", "sign",  "sqrt", "round", "reciprocal"};
  return exact.contains(op);
}

/// "" or the first element that differs.
std::string compare(const std::string &op, const Tensor &got, const Tensor &expected,
                    const std::vector<Tensor> &inputs) {
  bool exact = isExact(op);
  double tolerance = exact ? 0 : got.type() == E::f64 ? 2e-15 : 1e-6; // of functions: codegen/builder/Math.cpp
  // If these functions cancel, their error is absolute.
  double absolute = op == "gelu" || op == "hard_swish" ? tolerance : 0;
  for (int64_t i = 0; i < expected.elements(); ++i) {
    bool same;
    if (isFloat(expected.type())) {
      double x = got.asDouble(i), y = expected.asDouble(i);
      same = std::isnan(y) ? std::isnan(x) : x == y || std::abs(x - y) <= tolerance * std::abs(y) + absolute;
      if (!exact && bitWidth(got.type()) == 16 &&
          std::isfinite(y)) // the function's float32 may lie between two 16-bit floats
        same |=
            std::abs(x - y) <= std::abs(y) * (got.type() == E::f16 ? 0x1p-10 : 0x1p-7) || std::abs(x - y) <= 0x1p-24;
    } else {
      same = got.asInteger(i) == expected.asInteger(i);
    }
    if (!same) {
      std::string of;
      for (const Tensor &input : inputs)
        of += fmt::format(" {:.17g}", input.asDouble(i % input.elements()));
      return fmt::format("of{}: {:.17g}, the reference has {:.17g}", of, got.asDouble(i), expected.asDouble(i));
    }
  }
  return "";
}

class EdgeValues : public testing::Test {
protected:
  Target target = testTarget();
  int ran = 0;

  /// Compares the compiled operator with the reference, on inputs of one shape. Operators without a kernel run on the
  /// reference.
  void check(const std::string &op, const std::string &attributes, const std::vector<Tensor> &inputs, E result) {
    std::string arguments, names, operandTypes;
    for (size_t i = 0; i < inputs.size(); ++i) {
      std::string type = fmt::format("tensor<{}x{}>", inputs[i].elements(), mlirName(inputs[i].type()));
      arguments += fmt::format("{}%a{}: {}", i ? ", " : "", i, type);
      names += fmt::format("{}%a{}", i ? ", " : "", i);
      operandTypes += (i ? ", " : "") + type;
    }
    std::string to = fmt::format("tensor<{}x{}>", inputs[0].elements(), mlirName(result));
    std::string text = fmt::format("func.func @k({}) -> {} attributes {{nn.family = \"elementwise\"}} {{\n"
                                   "  %y = nn.{} {} {} : ({}) -> {}\n  return %y : {}\n}}",
                                   arguments, to, op, names, attributes, operandTypes, to, to);
    KernelUnderTest kernel(text, target);
    if (!kernel.declined().empty())
      return;
    ++ran;
    std::vector<Tensor> small;
    for (const Tensor &input : inputs)
      small.push_back(flushed(input));
    // LLVM compares the bits of a bfloat16 with zero, without flushing. f16 is flushed on AArch64 only.
    bool either = result == E::boolean || inputs[0].type() == E::f16;
    Tensor got = flushed(kernel.run(either ? small : inputs).at(0)), expected = flushed(kernel.expected(small).at(0));
    EXPECT_EQ(compare(op, got, expected, inputs), "") << op << " " << attributes << " on " << name(inputs[0].type());
  }
};

/// The type of an operator's result for operands of one type; empty if it does not take such operands.
std::optional<E> resultType(const OpRecord &record, E type, size_t operands) {
  TensorInfo info{type, {2}, std::nullopt};
  try {
    return record.infer(*record.makeAttrs(), InferInputs(operands, &info)).at(0).type;
  } catch (const Error &) {
    return std::nullopt;
  }
}

TEST_F(EdgeValues, everyOperatorOfOneOperand) {
  for (const OpRecord &record : opRecords()) {
    if (std::string_view(record.lowering) != "elementwise" || record.operands.size() != 1 ||
        std::string_view(record.name) == "cast")
      continue;
    std::string op = record.name;
    for (E type : types)
      if (std::optional<E> result = resultType(record, type, 1)) {
        Tensor x = edges(type);
        if (op == "sin" || op == "cos" || op == "tan") // beyond 2^20 only their range is promised
          for (int64_t i = 0; isFloat(type) && i < x.elements(); ++i)
            if (double value = x.asDouble(i); std::isfinite(value) && std::abs(value) > 0x1p20) {
              Tensor one = Tensor::of<double>({1}, {1.0}).convertedTo(type);
              std::memcpy(x.as<char>() + i * one.bytes(), one.data(), static_cast<size_t>(one.bytes()));
            }
        check(op, "", {x}, *result);
      }
  }
  for (E type : types)
    if (type != E::boolean)
      for (const char *bounds : {"min = 3.0 : f64, max = -2.0 : f64", "min = -5.0 : f64, max = 300.0 : f64",
                                 "min = -1.0e30 : f64, max = 1.0e30 : f64", "min = -4.0 : f64, max = -2.0 : f64",
                                 "min = 0x7FF8000000000000 : f64"})
        if (isFloat(type) || !std::string_view(bounds).starts_with("min = 0x"))
          check("clip", fmt::format("{{operandSegmentSizes = array<i32: 1, 0, 0>, {}}}", bounds), {edges(type)}, type);
  for (const char *signs :
       {"{detect_positive = false}", "{detect_negative = false}", "{detect_positive = false, detect_negative = false}"})
    check("is_inf", signs, {edges(E::f32)}, E::boolean);
  EXPECT_GT(ran, 150);
}

TEST_F(EdgeValues, everyOperatorOfTwoOperands) {
  for (const OpRecord &record : opRecords()) {
    if (std::string_view(record.lowering) != "elementwise" || record.operands.size() != 2)
      continue;
    for (E type : types)
      if (std::optional<E> result = resultType(record, type, 2)) {
        auto [a, b] = pairs(type);
        check(record.name, "", {a, b}, *result);
        if (std::string_view(record.name) == "mod")
          check(record.name, "{fmod = true}", {a, b}, *result);
        if (std::string_view(record.name) == "bit_shift")
          check(record.name, "{direction = \"RIGHT\"}", {a, b}, *result);
      }
  }
  EXPECT_GT(ran, 120);
}

TEST_F(EdgeValues, castsBetweenAllTypes) {
  for (E from : types)
    for (E to : types)
      if (from != to)
        check("cast", fmt::format("{{to = {}}}", mlirName(to)), {edges(from)}, to);
  EXPECT_GE(ran, 12 * 12);
}

} // namespace
} // namespace lathe
