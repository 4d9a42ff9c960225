#include "lab/problems/MatrixProblem.h"
#include "lab/providers/onednn/OneDnn.h"

namespace lathe::lab::onednn {

/// Extents and strides of a matrix of a batch.
static Desc matrix(const ProblemOperand &operand, Dims batch, int64_t rows, int64_t columns, bool transposed) {
  Dims strides(batch.size() + 2);
  strides[batch.size()] = transposed ? 1 : columns;
  strides[batch.size() + 1] = transposed ? rows : 1;
  int64_t stride = rows * columns;
  for (size_t i = batch.size(); i-- > 0; stride *= batch[i])
    strides[i] = stride;
  batch.push_back(rows), batch.push_back(columns);
  return Job::strided(operand, batch, strides);
}

static Outcome<std::string> asInnerProduct(Job &job, const MatrixProblem &p, const dnnl::primitive_attr &attributes) {
  const ProblemOperand &a = *job.operand(0), &b = *job.operand(1);
  const ProblemOperand *c = job.problem.operand("c");
  bool biasOnly = !c || (p.beta == 1 && p.addendRow == 0 && c->elements() == p.columns);
  if (p.transA || p.alpha != 1 || !biasOnly || a.dims.size() != 2 || b.dims.size() != 2)
    return NotApplicable{"an inner product has a row-major source, a bias and nothing else"};
  // Weights are outputs x inputs.
  Desc rowA = Job::rowMajor(a), rowB = matrix(b, {}, p.columns, p.inner, !p.transB),
       rowY = Job::rowMajor(job.results[0]);
  Desc rowC = c ? Job::rowMajor(*c, {p.columns}) : Desc();
  dnnl::inner_product_forward::desc description(dnnl::prop_kind::forward_inference, rowA,
                                                b.constant ? Job::any(rowB) : rowB, rowC, rowY);
  dnnl::inner_product_forward::primitive_desc chosen(description, attributes, job.engine);
  job.select(chosen);
  job.primitive = dnnl::inner_product_forward(chosen);
  job.give(DNNL_ARG_SRC, 0, rowA, chosen.src_desc());
  job.give(DNNL_ARG_WEIGHTS, 1, rowB, chosen.weights_desc());
  if (c)
    job.give(DNNL_ARG_BIAS, 2, rowC, chosen.bias_desc());
  job.giveEpilogue(rowY);
  job.take(DNNL_ARG_DST, chosen.dst_desc());
  return fmt::format("inner product {}, weights {}", chosen.impl_info_str(), layoutName(chosen.weights_desc()));
}

Outcome<std::string> prepareMatrices(Job &job) {
  MatrixProblem p = *matrixOf(job.problem);
  dnnl::primitive_attr attributes;
  if (job.variant == "inner_product") {
    Desc rowY = Job::rowMajor(job.results[0]);
    dnnl::post_ops operators;
    auto appended = appendEpilogue(operators, job.problem, &rowY);
    if (!appended)
      return NotApplicable{appended.reason()};
    attributes.set_post_ops(operators);
    return asInnerProduct(job, p, attributes);
  }

  const ProblemOperand &a = *job.operand(0), &b = *job.operand(1);
  const ProblemOperand *c = job.problem.operand("c");
  Desc rowA = matrix(a, p.batchOfA, p.rows, p.inner, p.transA);
  Desc rowB = matrix(b, p.batchOfB, p.inner, p.columns, p.transB);
  Desc rowY = matrix(job.results[0], p.batch, p.rows, p.columns, false);
  Desc wantedB = b.constant ? Job::any(rowB) : rowB;
  Desc bias, addend;
  if (c && p.beta != 1)
    return NotApplicable{"a factor of the addend is not implemented"};
  if (c && p.alpha == 1 && p.addendRow == 0 && c->elements() == p.columns)
    bias = Job::rowMajor(*c, {1, p.columns});
  else if (c)
    addend = Job::rowMajor(*c, {p.addendRow ? p.rows : 1, p.addendColumn ? p.columns : 1});
  if (p.alpha != 1)
    attributes.set_output_scales(0, {float(p.alpha)});
  dnnl::post_ops operators; // the addend comes before the epilogue
  if (!addend.is_zero())
    operators.append_binary(dnnl::algorithm::binary_add, addend);
  auto appended = appendEpilogue(operators, job.problem, &rowY);
  if (!appended)
    return NotApplicable{appended.reason()};
  attributes.set_post_ops(operators);
  auto description =
      bias.is_zero() ? dnnl::matmul::desc(rowA, wantedB, rowY) : dnnl::matmul::desc(rowA, wantedB, bias, rowY);
  dnnl::matmul::primitive_desc chosen(description, attributes, job.engine);
  job.select(chosen);
  job.primitive = dnnl::matmul(chosen);
  job.give(DNNL_ARG_SRC, 0, rowA, chosen.src_desc());
  job.give(DNNL_ARG_WEIGHTS, 1, rowB, chosen.weights_desc());
  if (!bias.is_zero())
    job.give(DNNL_ARG_BIAS, 2, bias, chosen.bias_desc());
  if (!addend.is_zero())
    job.give(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, 2, addend, addend);
  job.giveEpilogue(rowY, !addend.is_zero());
  job.take(DNNL_ARG_DST, chosen.dst_desc());
  return fmt::format("matmul {}, weights {}", chosen.impl_info_str(), layoutName(chosen.weights_desc()));
}

} // namespace lathe::lab::onednn
