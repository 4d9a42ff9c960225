// What preparing a problem with oneDNN 2 fills in, whatever the operator. One file a group of operators; Main.cpp has
// the table.
#pragma once

#include "lab/providers/Provider.h"

#include <oneapi/dnnl/dnnl.hpp>

#include <unordered_map>

namespace lathe::lab::onednn {

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;

/// A problem on its way to a primitive. Tensors are described twice: as they lie row-major, and as the primitive wants
/// them.
class Job {
public:
  Job(const Problem &problem, const ProblemInputs &inputs, const std::string &variant, ActivationLayout layout);

  const Problem &problem;
  const ProblemInputs &inputs; // row-major
  const std::string &variant;
  const ActivationLayout layout; // of the request, or that the variant means
  const std::vector<ProblemOperand> results;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};

  /// Moves `chosen`, oneDNN's first choice, on to the implementation that the variant names; other variants keep the
  /// first one. Throws Declined where oneDNN has no such implementation of the problem.
  void select(dnnl::primitive_desc &chosen) const;

  dnnl::primitive primitive;
  std::unordered_map<int, dnnl::memory> arguments;

  /// Row-major; a scalar has one axis. Other extents may be given for the same elements.
  static Desc rowMajor(const ProblemOperand &operand);
  static Desc rowMajor(const ProblemOperand &operand, const Dims &dims);
  /// In strides given in elements.
  static Desc strided(const ProblemOperand &operand, const Dims &dims, const Dims &strides);
  /// The same tensor in whatever layout the primitive likes.
  static Desc any(const Desc &desc) { return {desc.dims(), desc.data_type(), dnnl::memory::format_tag::any}; }
  /// Channels (axis 1) in blocks as wide as a register, as oneDNN's convolutions leave them; row-major where there are
  /// fewer than three or more than five axes.
  static Desc blocked(const Desc &desc);
  /// Channels innermost.
  static Desc channelsLast(const Desc &desc);
  /// In the layout asked for; `otherwise` where the provider is free.
  Desc laidOut(const Desc &row, const Desc &otherwise) const;

  /// Values of operand `index`, described by `row`, reordered to `wanted` for `argument`.
  void give(int argument, size_t index, const Desc &row, const Desc &wanted);
  void give(int argument, const Tensor &values, const Desc &row, const Desc &wanted);
  /// The second operands of the epilogue, laid out as the result is. `before`: how many post-operations precede it.
  void giveEpilogue(const Desc &result, int before = 0);
  /// Memory for what `argument` receives, laid out as `made`; it is the next result. `seen`: the same memory as it is
  /// to be read in the result's order of axes, where that is another.
  void take(int argument, const Desc &made);
  void take(int argument, const Desc &made, const Desc &seen);
  /// Where the constant operands among those given lie.
  std::vector<std::span<const char>> constants() const;
  /// The results row-major.
  std::vector<Tensor> outputs();

  const ProblemOperand *operand(size_t index) const; // of the record; null where it is missing

private:
  std::vector<dnnl::memory> taken, constantMemory;
};

/// Implementations that one problem can be asked for by number: "impl-2" to "impl-8", in oneDNN's order of preference,
/// without its reference loops ("ref..."). The first one is `auto`.
std::vector<std::string> numberedImplementations();

/// What f32 and so on is called; none for types that no primitive here computes with.
std::optional<dnnl::memory::data_type> dataType(ElementType type);

/// "nChw16c": axes outermost first, blocked ones in capitals, then the blocks. Of tensors with less than three or more
/// than five axes: letters in alphabetical order.
std::string layoutName(const Desc &desc);

/// An element-wise operator as an algorithm with its two parameters.
struct Eltwise {
  dnnl::algorithm algorithm;
  float alpha = 0, beta = 0;
};
/// None where oneDNN has no such algorithm.
std::optional<Eltwise> eltwiseOf(const std::string &op, const Attrs &attrs);
/// Appends the problem's epilogue to `operators`; declines with the operator that oneDNN does not have, and second
/// operands where `second`, which describes them, is null.
Outcome<bool> appendEpilogue(dnnl::post_ops &operators, const Problem &problem, const Desc *second = nullptr);
/// The epilogue of one operand each as attributes of a primitive; declines others.
Outcome<dnnl::post_ops> postOpsOf(const Problem &problem);

/// Prepares `job`, handing back the implementation's name; declines with the reason. dnnl_unimplemented may be thrown.
using Prepare = Outcome<std::string> (*)(Job &job);
Outcome<std::string> prepareConv(Job &job);     // conv_integer, too
Outcome<std::string> prepareMatrices(Job &job); // matmul_integer, too
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
