#include "lab/providers/onednn/OneDnn.h"

#include <cmath>
#include <cstring>

namespace lathe::lab::onednn {

using Tag = dnnl::memory::format_tag;

/// Reorders rows of `columns` values, in blocks of `hidden` rows per gate and 4 gates per direction, from the
/// operator's order of gates (i, o, f, c) to oneDNN's (i, f, c, o).
static Tensor reordered(const Tensor &weights, int64_t directions, int64_t hidden, int64_t columns) {
  Tensor result(ElementType::f32, {directions, 4, hidden, columns});
  const int64_t from[] = {0, 2, 3, 1};
  int64_t gate = hidden * columns;
  for (int64_t d = 0; d < directions; ++d)
    for (int64_t g = 0; g < 4; ++g)
      std::memcpy(result.as<float>() + (d * 4 + g) * gate, weights.as<float>() + (d * 4 + from[g]) * gate,
                  size_t(gate) * sizeof(float));
  return result;
}

Outcome<std::string> prepareLstm(Job &job) {
  auto &attrs = job.problem.attrsAs<LstmAttrs>();
  const ProblemOperand &x = *job.operand(0), &w = *job.operand(1), &r = *job.operand(2);
  const ProblemOperand *b = job.operand(3);
  if (job.operand(4))
    return NotApplicable{"oneDNN's rows all have the same length"};
  if (job.operand(7))
    return NotApplicable{"peepholes are not implemented"};
  if (!attrs.activations.empty() || std::isfinite(attrs.clip) || attrs.input_forget)
    return NotApplicable{"oneDNN has the usual activations only, no limits and no coupled gates"};
  if (x.type != ElementType::f32)
    return NotApplicable{"only f32 is implemented"};
  if (!job.problem.epilogue.empty())
    return NotApplicable{"oneDNN's primitive applies nothing to its result"};
  int64_t steps = x.dims[0], rows = x.dims[1], in = x.dims[2];
  int64_t directions = w.dims[0], hidden = r.dims[2];
  auto f32 = dnnl::memory::data_type::f32;

  Desc rowX({steps, rows, in}, f32, Tag::tnc);
  Desc rowW({1, directions, in, 4, hidden}, f32, Tag::ldgoi), rowR({1, directions, hidden, 4, hidden}, f32, Tag::ldgoi);
  Desc rowB({1, directions, 4, hidden}, f32, Tag::ldgo), state({1, directions, rows, hidden}, f32, Tag::ldnc);
  Desc rowY({steps, rows, directions * hidden}, f32, Tag::tnc);
  Desc hiddenIn = job.operand(5) ? state : Desc(), cellIn = job.operand(6) ? state : Desc();
  if (hiddenIn.is_zero() != cellIn.is_zero())
    return NotApplicable{"oneDNN takes both initial states or none"};
  auto wanted = [](const ProblemOperand &weights, const Desc &row) { return weights.constant ? Job::any(row) : row; };
  auto direction = attrs.direction == "forward"   ? dnnl::rnn_direction::unidirectional_left2right
                   : attrs.direction == "reverse" ? dnnl::rnn_direction::unidirectional_right2left
                                                  : dnnl::rnn_direction::bidirectional_concat;
  dnnl::lstm_forward::desc description(dnnl::prop_kind::forward_inference, direction, rowX, hiddenIn, cellIn,
                                       wanted(w, rowW), wanted(r, rowR), rowB, rowY, state, state);
  dnnl::lstm_forward::primitive_desc chosen(description, job.engine);
  job.select(chosen);
  job.primitive = dnnl::lstm_forward(chosen);
  job.give(DNNL_ARG_SRC_LAYER, 0, rowX, chosen.src_layer_desc());
  job.give(DNNL_ARG_WEIGHTS_LAYER, reordered(job.inputs[1], directions, hidden, in), rowW, chosen.weights_layer_desc());
  job.give(DNNL_ARG_WEIGHTS_ITER, reordered(job.inputs[2], directions, hidden, hidden), rowR,
           chosen.weights_iter_desc());
  // D x 8H: biases of the input's products, then of the state's. oneDNN has no kernel without biases.
  Tensor bias(ElementType::f32, {directions, 4 * hidden});
  for (int64_t d = 0; d < directions; ++d)
    for (int64_t i = 0; i < 4 * hidden; ++i) {
      const float *both = b ? job.inputs[3].as<float>() + d * 8 * hidden : nullptr;
      bias.as<float>()[d * 4 * hidden + i] = both ? both[i] + both[4 * hidden + i] : 0;
    }
  job.give(DNNL_ARG_BIAS, reordered(bias, directions, hidden, 1), rowB, chosen.bias_desc());
  if (!hiddenIn.is_zero()) {
    job.give(DNNL_ARG_SRC_ITER, 5, state, state);
    job.give(DNNL_ARG_SRC_ITER_C, 6, state, state);
  }
  // In memory, directions are the second to last axis; in the operator's result they are the second.
  int64_t row = directions * hidden;
  Desc seen({steps, directions, rows, hidden}, f32, Dims{rows * row, hidden, row, 1});
  job.take(DNNL_ARG_DST_LAYER, rowY, seen);
  Desc seenState({directions, rows, hidden}, f32, Tag::abc);
  job.take(DNNL_ARG_DST_ITER, state, seenState);
  job.take(DNNL_ARG_DST_ITER_C, state, seenState);
  return std::string(chosen.impl_info_str()) + " row-major";
}

} // namespace lathe::lab::onednn
