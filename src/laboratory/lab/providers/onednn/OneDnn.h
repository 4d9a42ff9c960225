// Code that all problems prepared with oneDNN 2 share. There is one file per group of operators; Main.cpp has the
// table of them.
#pragma once

#include "lab/providers/Provider.h"

#include <oneapi/dnnl/dnnl.hpp>

#include <unordered_map>

namespace lathe::lab::onednn {

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;

/// A problem that is being prepared as a primitive. Each tensor has two descriptions: row-major, and in the primitive's
/// layout.
class Job {
public:
  Job(const Problem &problem, const ProblemInputs &inputs, const std::string &variant, ActivationLayout layout);

  const Problem &problem;
  const ProblemInputs &inputs; // values of the operands, row-major
  const std::string &variant;
  const ActivationLayout layout; // layout of activations that the request or the variant names
  const std::vector<ProblemOperand> results;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};

  /// Advances `chosen`, oneDNN's first choice, to the implementation that the variant names; other variants keep the
  /// first choice. Throws Declined if oneDNN has no such implementation of the problem.
  void select(dnnl::primitive_desc &chosen) const;

  dnnl::primitive primitive;
  std::unordered_map<int, dnnl::memory> arguments;

  /// Returns the row-major description of an operand; a scalar gets one axis. `dims`: other extents for the same
  /// elements.
  static Desc rowMajor(const ProblemOperand &operand);
  static Desc rowMajor(const ProblemOperand &operand, const Dims &dims);
  /// Returns a description of the operand with the strides `strides`, in elements.
  static Desc strided(const ProblemOperand &operand, const Dims &dims, const Dims &strides);
  /// Returns `desc` without a layout, so that the primitive chooses one.
  static Desc any(const Desc &desc) { return {desc.dims(), desc.data_type(), dnnl::memory::format_tag::any}; }
  /// Returns `desc` with its channels (axis 1) in blocks as wide as a register, as in oneDNN's convolutions; row-major
  /// for fewer than three or more than five axes.
  static Desc blocked(const Desc &desc);
  /// Returns `desc` with its channels innermost.
  static Desc channelsLast(const Desc &desc);
  /// Returns the description `row` in the layout of the request, or `otherwise` if the provider may choose the layout.
  Desc laidOut(const Desc &row, const Desc &otherwise) const;

  /// Sets the primitive's argument `argument` to the values of operand `index`, whose row-major description is `row`,
  /// reordered to `wanted`.
  void give(int argument, size_t index, const Desc &row, const Desc &wanted);
  void give(int argument, const Tensor &values, const Desc &row, const Desc &wanted);
  /// Sets the second operands of the epilogue in the layout of the result. `before` is the number
  /// of post-operations before it.
  void giveEpilogue(const Desc &result, int before = 0);
  /// Allocates memory with the layout `made` for `argument`, the next result. `seen` describes the
  /// same memory with the axes of the result, if they differ.
  void take(int argument, const Desc &made);
  void take(int argument, const Desc &made, const Desc &seen);
  /// Returns the memory of the constant operands of the prepared problem.
  std::vector<std::span<const char>> constants() const;
  /// Returns the results of the last run, row-major.
  std::vector<Tensor> outputs();

  // operand at position `index` of the operator's record; null: missing
  const ProblemOperand *operand(size_t index) const;

private:
  std::vector<dnnl::memory> taken, constantMemory;
};

/// Names of the variants that select an implementation by number, "impl-2" to "impl-8", in oneDNN's
/// order of preference, without its reference loops ("ref..."). The first implementation is `auto`.
std::vector<std::string> numberedImplementations();

/// Returns the data type of oneDNN for an element type; nothing for types that no primitive here supports.
std::optional<dnnl::memory::data_type> dataType(ElementType type);

/// Returns the name of a layout. "nChw16c" lists the axes, outermost first and blocked axes as capitals, then the
/// blocks. With fewer than three or more than five axes, the letters are in alphabetical order.
std::string layoutName(const Desc &desc);

/// An element-wise operator in oneDNN: an algorithm with two parameters.
struct Eltwise {
  dnnl::algorithm algorithm;
  float alpha = 0, beta = 0;
};
/// Returns oneDNN's algorithm for the element-wise operator `op` with the attributes `attrs`; nothing if oneDNN has
/// none.
std::optional<Eltwise> eltwiseOf(const std::string &op, const Attrs &attrs);
/// Appends the epilogue of a problem (element-wise operators after its main operator) to `operators`. Declines an
/// operator that oneDNN does not have. Also declines an operator with a second operand if `second`, the description of
/// second operands, is null.
Outcome<bool> appendEpilogue(dnnl::post_ops &operators, const Problem &problem, const Desc *second = nullptr);
/// Returns the epilogue of a problem as oneDNN's post-operations; declines operators with a second operand.
Outcome<dnnl::post_ops> postOpsOf(const Problem &problem);

/// Function that prepares `job` and returns the name of oneDNN's implementation, or declines with the reason. May
/// throw dnnl_unimplemented.
using Prepare = Outcome<std::string> (*)(Job &job);
Outcome<std::string> prepareConv(Job &job);     // serves conv and conv_integer
Outcome<std::string> prepareMatrices(Job &job); // serves gemm, matmul and matmul_integer
Outcome<std::string> preparePool(Job &job);
Outcome<std::string> prepareSoftmax(Job &job);
Outcome<std::string> prepareLayerNorm(Job &job);
Outcome<std::string> prepareLrn(Job &job);
Outcome<std::string> prepareEltwise(Job &job);
Outcome<std::string> prepareBinary(Job &job);
Outcome<std::string> prepareReduction(Job &job);
Outcome<std::string> prepareResize(Job &job);
Outcome<std::string> prepareLstm(Job &job);

} // namespace lathe::lab::onednn
