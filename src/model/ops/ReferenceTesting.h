// Helpers for tests of reference operators.
#pragma once

#include "ops/Reference.h"
#include "ops/Registry.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace lathe {

/// The names of the operators that tests of this process have evaluated. ReferenceTest.cpp checks at the end that none
/// is missing.
std::set<std::string> &evaluatedOps();

using Shape = std::vector<int64_t>;

/// Evaluates operator `op` with its reference and returns all results. An undefined tensor stands for an absent
/// operand.
inline std::vector<Tensor> evaluateAll(const char *op, const Attrs &attrs, const std::vector<Tensor> &operands) {
  evaluatedOps().insert(op);
  std::vector<Value> values(operands.begin(), operands.end());
  std::vector<const Value *> inputs;
  for (size_t i = 0; i < operands.size(); ++i)
    inputs.push_back(operands[i].defined() ? &values[i] : nullptr);
  std::vector<Tensor> results;
  for (Value &value : evaluateReference(op, attrs, inputs))
    results.push_back(value.tensor());
  return results;
}

inline Tensor evaluate(const char *op, const Attrs &attrs, const std::vector<Tensor> &operands) {
  return evaluateAll(op, attrs, operands).at(0);
}

inline Tensor f32(Shape dims, std::initializer_list<float> values) {
  return Tensor::of<float>(std::move(dims), values);
}
inline Tensor f64(Shape dims, std::initializer_list<double> values) {
  return Tensor::of<double>(std::move(dims), values);
}
inline Tensor i64(Shape dims, std::initializer_list<int64_t> values) {
  return Tensor::of<int64_t>(std::move(dims), values);
}
inline Tensor i32(Shape dims, std::initializer_list<int32_t> values) {
  return Tensor::of<int32_t>(std::move(dims), values);
}
inline Tensor bools(Shape dims, std::initializer_list<bool> values) {
  return Tensor::of<bool>(std::move(dims), values);
}
/// A test tensor of f32 with the elements `start`, `start` + 1, ...
inline Tensor counting(Shape dims, double start = 0) {
  Tensor t(ElementType::f32, std::move(dims));
  for (int64_t i = 0; i < t.elements(); ++i)
    t.as<float>()[i] = static_cast<float>(start + static_cast<double>(i));
  return t;
}

inline void expectTensor(const Tensor &tensor, const Shape &dims, const std::vector<double> &values,
                         double tolerance = 1e-6) {
  EXPECT_EQ(tensor.dims(), dims);
  ASSERT_EQ(tensor.elements(), static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    double got = tensor.asDouble(i);
    if (values[i] != values[i])
      EXPECT_NE(got, got) << "element " << i << ", expected NaN";
    else if (std::abs(values[i]) > 1e300)
      EXPECT_EQ(got, values[i]) << "element " << i;
    else
      EXPECT_NEAR(got, values[i], tolerance * std::max(1.0, std::abs(values[i]))) << "element " << i;
  }
}

} // namespace lathe
