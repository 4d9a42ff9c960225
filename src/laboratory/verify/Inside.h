// Compares the values inside a package with the results of the graph's nodes, for `lathe verify`.
#pragma once

#include "runtime/Context.h"
#include "verify/NodeValues.h"

namespace lathe::verify {

/// A value of the package that differs from the reference's value.
struct Divergence {
  std::string value; // an output, or the node whose result the value is
  /// Kernel that computes the value. If this kernel is right, an earlier kernel that was not compared is wrong.
  std::string kernel;
  std::vector<std::string> nodes; // nodes of the model that this kernel computes
  lab::Difference difference;
  /// The divergence as text: "first diverging node: 'conv1' (kernel k3: conv1+relu1): relative error ...; element 7 is
  /// 1, the reference has 2".
  std::string str() const;
};

/// A kernel whose result is not compared, with the reason.
struct LeftOut {
  std::string kernel, value, reason;
};

/// The comparisons of the results of all kernels, and of operators without a kernel, in order of execution.
struct Inside {
  size_t kernels = 0;                 // number of kernels that ran
  std::vector<Divergence> compared;   // comparisons; a kernel may have several results
  std::vector<LeftOut> leftOut;       // kernels that are not compared, one entry each
  std::vector<uint32_t> instructions; // number of the instruction for each entry of `compared`
};

/// Runs the package in `context` with its inputs, and compares the values that every instruction writes with those of
/// the reference. `outputs` are the reference's outputs, by name.
Inside compareInside(runtime::Context &context, const NodeValues &expected,
                     const std::map<std::string, Tensor> &outputs, const lab::Tolerance &tolerance);

} // namespace lathe::verify
