#include "lab/providers/onednn/OneDnn.h"

#include <algorithm>
#include <limits>

namespace lathe::lab::onednn {

using dnnl::algorithm;

std::optional<Eltwise> eltwiseOf(const std::string &op, const Attrs &attributes) {
  auto attrs = toJson(attributes);
  auto number = [&](const char *name) {
    auto &value = attrs.at(name);
    if (value.is_string()) // "inf", "-inf"
      return value == "inf" ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity();
    return float(value.get<double>());
  };
  static const std::map<std::string, algorithm> simple = {
      {"relu", algorithm::eltwise_relu},         {"sigmoid", algorithm::eltwise_logistic},
      {"tanh", algorithm::eltwise_tanh},         {"exp", algorithm::eltwise_exp},
      {"log", algorithm::eltwise_log},           {"sqrt", algorithm::eltwise_sqrt},
      {"abs", algorithm::eltwise_abs},           {"round", algorithm::eltwise_round},
      {"mish", algorithm::eltwise_mish},         {"hard_swish", algorithm::eltwise_hardswish},
      {"softplus", algorithm::eltwise_soft_relu}};
  if (auto found = simple.find(op); found != simple.end())
    return Eltwise{found->second, 0, 0};
  if (op == "leaky_relu")
    return Eltwise{algorithm::eltwise_relu, number("alpha"), 0};
  if (op == "elu")
    return Eltwise{algorithm::eltwise_elu, number("alpha"), 0};
  if (op == "swish")
    return Eltwise{algorithm::eltwise_swish, number("alpha"), 0};
  if (op == "gelu")
    return Eltwise{attrs.at("approximate") == "tanh" ? algorithm::eltwise_gelu_tanh : algorithm::eltwise_gelu_erf, 0,
                   0};
  if (op == "clip")
    return Eltwise{algorithm::eltwise_clip, number("min"), number("max")};
  if (op == "neg")
    return Eltwise{algorithm::eltwise_linear, -1, 0};
  if (op == "reciprocal")
    return Eltwise{algorithm::eltwise_pow, 1, -1};
  return std::nullopt;
}

static const std::map<std::string, algorithm> &binaries() {
  static const std::map<std::string, algorithm> table = {
      {"add", algorithm::binary_add}, {"sub", algorithm::binary_sub}, {"mul", algorithm::binary_mul},
      {"div", algorithm::binary_div}, {"max", algorithm::binary_max}, {"min", algorithm::binary_min}};
  return table;
}

Outcome<bool> appendEpilogue(dnnl::post_ops &operators, const Problem &problem, const Desc *second) {
  for (auto &name : problem.epilogue) {
    if (takesSecondOperand(name)) {
      if (!second)
        return NotApplicable{fmt::format("behind {} no operator of two operands is implemented", problem.op)};
      operators.append_binary(binaries().at(name), *second);
      continue;
    }
    auto next = eltwiseOf(name, *findOp(name)->makeAttrs());
    if (!next)
      return NotApplicable{"oneDNN has no " + name + " to be applied to a result"};
    operators.append_eltwise(1.0f, next->algorithm, next->alpha, next->beta);
  }
  return true;
}

Outcome<dnnl::post_ops> postOpsOf(const Problem &problem) {
  dnnl::post_ops operators;
  auto appended = appendEpilogue(operators, problem);
  if (!appended)
    return NotApplicable{appended.reason()};
  return operators;
}

Outcome<std::string> prepareEltwise(Job &job) {
  auto known = eltwiseOf(job.problem.op, *job.problem.attrs);
  if (!known)
    return NotApplicable{"oneDNN has no " + job.problem.op};
  if (job.problem.operands.size() > 1)
    return NotApplicable{"parameters that are operands are not implemented"};
  auto postOps = postOpsOf(job.problem);
  if (!postOps)
    return NotApplicable{postOps.reason()};
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(*postOps);
  Desc row = Job::rowMajor(*job.operand(0)), wanted = job.laidOut(row, row);
  dnnl::eltwise_forward::desc description(dnnl::prop_kind::forward_inference, known->algorithm, wanted, known->alpha,
                                          known->beta);
  dnnl::eltwise_forward::primitive_desc chosen(description, attributes, job.engine);
  job.select(chosen);
  job.primitive = dnnl::eltwise_forward(chosen);
  job.give(DNNL_ARG_SRC, 0, row, chosen.src_desc());
  job.take(DNNL_ARG_DST, chosen.dst_desc());
  return fmt::format("{} {}", chosen.impl_info_str(), layoutName(wanted));
}

Outcome<std::string> prepareBinary(Job &job) {
  auto known = binaries().find(job.problem.op);
  if (known == binaries().end())
    return NotApplicable{"oneDNN has no " + job.problem.op};
  auto postOps = postOpsOf(job.problem);
  if (!postOps)
    return NotApplicable{postOps.reason()};
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(*postOps);
  const ProblemOperand &y = job.results[0];
  size_t first = 0, second = 1; // the first has all extents of the result
  bool commutes = job.problem.op != "sub" && job.problem.op != "div";
  if (commutes && job.operand(0)->elements() < job.operand(1)->elements())
    std::swap(first, second);
  auto described = [&](size_t index) {
    const ProblemOperand &operand = *job.operand(index);
    Dims dims(std::max<size_t>(y.dims.size(), 1) - operand.dims.size(), 1);
    dims.insert(dims.end(), operand.dims.begin(), operand.dims.end());
    return Job::rowMajor(operand, dims);
  };
  Desc a = described(first), b = described(second), rowY = Job::rowMajor(y);
  if (a.dims() != rowY.dims())
    return NotApplicable{"oneDNN broadcasts the second operand only"};
  Desc wantedA = job.laidOut(a, a), wantedB = job.laidOut(b, b);
  dnnl::binary::desc description(known->second, wantedA, wantedB, job.laidOut(rowY, rowY));
  dnnl::binary::primitive_desc chosen(description, attributes, job.engine);
  job.select(chosen);
  job.primitive = dnnl::binary(chosen);
  job.give(DNNL_ARG_SRC_0, first, a, wantedA);
  job.give(DNNL_ARG_SRC_1, second, b, wantedB);
  job.take(DNNL_ARG_DST, chosen.dst_desc());
  return fmt::format("{} {}", chosen.impl_info_str(), layoutName(wantedA));
}

} // namespace lathe::lab::onednn
