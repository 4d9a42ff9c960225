// Helpers for tests of shape functions.
#pragma once

#include "ops/Registry.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

namespace lathe::shape_testing {

/// Makes the description of a tensor from a text of its type and extents, such as "f32 N 3 224".
inline TensorInfo tensor(const std::string &text) {
  std::istringstream words(text);
  std::string word;
  words >> word;
  TensorInfo info{elementTypeFromName(word).value_or(ElementType::invalid), {}, std::nullopt};
  while (words >> word)
    info.dims.push_back(Dim::parse(word));
  return info;
}

/// Makes the description of an i64 vector with known contents from a text, such as "N 3 224".
inline TensorInfo values(const std::string &text) {
  TensorInfo info = tensor("i64 " + text);
  info.contents = info.dims;
  info.dims = {static_cast<int64_t>(info.contents->size())};
  return info;
}
inline TensorInfo scalar(int64_t value) { return TensorInfo{ElementType::i64, {}, std::vector<Dim>{value}}; }

inline InferResult inferAll(const char *op, const Attrs &attrs, const std::vector<TensorInfo> &operands) {
  InferInputs in;
  for (const TensorInfo &info : operands)
    in.push_back(info.type == ElementType::invalid ? nullptr : &info);
  return findOp(op)->infer(attrs, in);
}
inline const TensorInfo absent{};

/// Runs the shape function of operator `op`. Returns the first result as text: "f32 N 64 112 112".
inline std::string infer(const char *op, const Attrs &attrs, const std::vector<TensorInfo> &operands) {
  TensorInfo y = inferAll(op, attrs, operands).at(0);
  std::string text(name(y.type));
  for (const Dim &d : y.dims)
    text += " " + (isUnknown(d) ? "?" : d.str());
  return text;
}
/// Runs the shape function of operator `op`. Returns the known contents of the first result as text, or "unknown".
inline std::string contents(const char *op, const Attrs &attrs, const std::vector<TensorInfo> &operands) {
  TensorInfo y = inferAll(op, attrs, operands).at(0);
  if (!y.contents)
    return "unknown";
  std::string text;
  for (const Dim &d : *y.contents)
    text += (text.empty() ? "" : " ") + d.str();
  return text;
}

/// The constraints of operators that tests of this process have violated.
inline std::set<std::string> violated;

/// Runs the shape function of operator `op` and expects an Error that names `constraint`.
inline void expectViolation(const std::string &constraint, const char *op, const Attrs &attrs,
                            const std::vector<TensorInfo> &operands) {
  try {
    std::string result = infer(op, attrs, operands);
    ADD_FAILURE() << op << " gives " << result << ", expected " << constraint << " to be violated";
  } catch (const Error &error) {
    std::string message = error.what();
    EXPECT_TRUE(message.starts_with(constraint + ":")) << message << "; expected " << constraint;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    violated.insert(constraint);
  }
}

/// A copy of `attrs` to which `change` was applied.
template <class A, class F> A with(A attrs, F &&change) {
  change(attrs);
  return attrs;
}

/// Attributes of a test convolution with stride 2 and padding for a 7x7 kernel.
inline ConvAttrs conv2d() {
  ConvAttrs a;
  a.strides = {2, 2};
  a.dilations = {1, 1};
  a.pads = {3, 3, 3, 3};
  return a;
}

} // namespace lathe::shape_testing
