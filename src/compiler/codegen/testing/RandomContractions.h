// For tests: random convolutions and matrix products with epilogues.
#pragma once

#include "codegen/target/Target.h"
#include "codegen/testing/RandomTesting.h"

#include <map>
#include <string>

namespace lathe {

/// Element type of the tensors of a random problem, and the tolerance for its results.
struct Typed {
  std::string name = "f32";
  double tolerance = 2e-5;
};

/// Builds the text of a kernel function from its parts: arguments, body and returned value.
struct KernelText {
  std::string arguments, body, last, type;
  std::map<std::string, int64_t> symbols;
  std::map<std::string, int64_t> least; // by spatial symbol: smallest value with which the kernel has results
  int values = 0;

  std::string argument(const std::string &type, bool constant, const std::string &dims = "") {
    std::string name = "%a" + std::to_string(values++);
    arguments += (arguments.empty() ? "" : ", ") + name + ": " + type;
    std::string attributes = constant ? "nn.constant" : "";
    if (!dims.empty())
      attributes += (attributes.empty() ? "" : ", ") + ("nn.dims = [" + dims + "]");
    if (!attributes.empty())
      arguments += " {" + attributes + "}";
    return name;
  }
  void op(const std::string &text, const std::string &operandTypes) {
    std::string name = "%v" + std::to_string(values++);
    body += "  " + name + " = nn." + text + " : (" + operandTypes + ") -> " + type + "\n";
    last = name;
  }
  std::string str() const {
    return "func.func private @k(" + arguments + ") -> " + type + " attributes {nn.family = \"contraction\"} {\n" +
           body + "  return " + last + " : " + type + "\n}\n";
  }
};

/// Kinds of random convolutions. winograd: dense, 3x3, stride 1, blocked. gathered: groups of any size, also volumes,
/// and padding that depends on an extent.
enum class Grouping { dense, grouped, depthwise, winograd, gathered };

KernelText randomConv(Random &random, const Target &target, Grouping grouping, const Typed &typed = {});
/// Returns a random convolution whose spatial extents H and W (or W alone) are symbols, in a layout for which there is
/// code.
KernelText randomOpenConv(Random &random, const Target &target, Grouping grouping, const Typed &typed = {});
/// Returns a random depthwise convolution followed by a pointwise one, each with its own epilogue.
KernelText randomSeparable(Random &random, const Target &target);
KernelText randomGemm(Random &random, const Typed &typed = {});
/// Returns a random conv_integer in the form that the pass widen-integer gives it, with or without a conversion to f32
/// behind it. `block`: channels per block of the convolution's values; 0: row-major.
KernelText randomConvInteger(Random &random, int64_t block = 0);
/// Returns a random conv_integer with open extents, like randomOpenConv.
KernelText randomOpenConvInteger(Random &random, const Target &target, Grouping grouping);
KernelText randomMatMulInteger(Random &random);

} // namespace lathe
