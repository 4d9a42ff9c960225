#include "lab/providers/xnnpack/XnnPack.h"

#include <algorithm>
#include <limits>
#include <span>

namespace lathe::lab::xnnpack {

/// Number of rows and their length: XNNPACK's batch and channels.
struct Rows {
  size_t count, length;
  explicit Rows(const ProblemOperand &x) : length(x.dims.empty() ? 1 : size_t(x.dims.back())) {
    count = size_t(x.elements()) / std::max<size_t>(length, 1);
  }
};

std::string prepareSoftmax(Job &job) {
  job.expectNoEpilogue();
  const ProblemOperand &x = *job.operand(0);
  auto rank = int64_t(x.dims.size());
  int64_t axis = job.problem.attrsAs<SoftmaxAttrs>().axis;
  axis = axis < 0 ? axis + rank : axis;
  bool last = axis == rank - 1;
  if (!last && axis != 1)
    throw Declined{"XNNPACK's softmax is over the channels, which are axis 1 or the last one"};
  if (last)
    job.in[0] = rowMajor(job.inputs[0]);
  else
    job.giveChannelsLast();
  job.outputIsChannelsLast = !last;
  auto length = size_t(x.dims[size_t(axis)]), count = size_t(x.elements()) / length;
  job.make(xnn_create_softmax_nc_f32, length, length, length, uint32_t(0));
  check(xnn_setup_softmax_nc_f32(job.op.get(), count, job.in[0].data(), job.out.data(), job.pool.get()),
        "setting up the softmax");
  return last ? "softmax_nc" : "softmax_nc, channels last";
}

namespace {

/// An operator and the functions of XNNPACK that compute it.
template <class Create, class Setup> struct Function {
  const char *op;
  Create create;
  Setup setup;
  const char *name;
};
#define FUNCTION(OP, NAME) {OP, xnn_create_##NAME##_f32, xnn_setup_##NAME##_f32, #NAME}

/// Functions of an operator with one operand and no parameters.
using PlainUnary = Function<decltype(&xnn_create_abs_nc_f32), decltype(&xnn_setup_abs_nc_f32)>;
constexpr PlainUnary plainUnary[] = {
    FUNCTION("abs", abs_nc),
    FUNCTION("neg", negate_nc),
    FUNCTION("ceil", ceiling_nc),
    FUNCTION("floor", floor_nc),
    FUNCTION("round", bankers_rounding_nc),
    FUNCTION("sqrt", square_root_nc),
    FUNCTION("sigmoid", sigmoid_nc),
    FUNCTION("hard_swish", hardswish_nc),
};

/// Functions of an operator with two operands and limits on the result.
using LimitedBinary = Function<decltype(&xnn_create_add_nd_f32), decltype(&xnn_setup_add_nd_f32)>;
constexpr LimitedBinary limitedBinary[] = {FUNCTION("add", add_nd), FUNCTION("sub", subtract_nd),
                                           FUNCTION("mul", multiply_nd), FUNCTION("div", divide_nd)};
#undef FUNCTION

/// The row of a table with the operator, or null.
template <class Row> const Row *findRow(std::span<const Row> table, const std::string &op) {
  auto found = std::find_if(table.begin(), table.end(), [&](const Row &row) { return op == row.op; });
  return found == table.end() ? nullptr : &*found;
}

} // namespace

std::string prepareUnary(Job &job) {
  job.expectNoEpilogue();
  const std::string &op = job.problem.op;
  if (job.problem.operands.size() > 1)
    throw Declined{"parameters that are operands are not implemented"};
  Rows rows(*job.operand(0));
  size_t n = rows.length;
  uint32_t none = 0;
  job.in[0] = rowMajor(job.inputs[0]);
  auto made = [&](auto setup, const char *name) {
    check(setup(job.op.get(), rows.count, job.in[0].data(), job.out.data(), job.pool.get()), "setting up the operator");
    return std::string(name);
  };
  if (const PlainUnary *plain = findRow<PlainUnary>(plainUnary, op)) {
    job.make(plain->create, n, n, n, none);
    return made(plain->setup, plain->name);
  }
  if (op == "elu") {
    job.make(xnn_create_elu_nc_f32, n, n, n, float(job.problem.attrsAs<EluAttrs>().alpha), none);
    return made(xnn_setup_elu_nc_f32, "elu_nc");
  }
  if (op == "leaky_relu") {
    job.make(xnn_create_leaky_relu_nc_f32, n, n, n, float(job.problem.attrsAs<LeakyReluAttrs>().alpha), none);
    return made(xnn_setup_leaky_relu_nc_f32, "leaky_relu_nc");
  }
  float low = 0, high = std::numeric_limits<float>::infinity(); // relu
  if (op == "clip") {
    auto &attrs = job.problem.attrsAs<ClipAttrs>();
    low = float(attrs.min), high = float(attrs.max);
  }
  job.make(xnn_create_clamp_nc_f32, n, n, n, low, high, none);
  return made(xnn_setup_clamp_nc_f32, "clamp_nc");
}

std::string prepareBinary(Job &job) {
  const std::string &op = job.problem.op;
  auto extents = [&](size_t index) {
    auto &dims = job.operand(index)->dims;
    return std::vector<size_t>(dims.begin(), dims.end());
  };
  auto a = extents(0), b = extents(1);
  if (a.size() > XNN_MAX_TENSOR_DIMS || b.size() > XNN_MAX_TENSOR_DIMS)
    throw Declined{fmt::format("XNNPACK's tensors have at most {} axes", XNN_MAX_TENSOR_DIMS)};
  job.in[0] = rowMajor(job.inputs[0]), job.in[1] = rowMajor(job.inputs[1]);
  auto made = [&](auto setup, const char *name) {
    check(setup(job.op.get(), a.size(), a.data(), b.size(), b.data(), job.in[0].data(), job.in[1].data(),
                job.out.data(), job.pool.get()),
          "setting up the operator");
    return std::string(name);
  };
  uint32_t none = 0;
  if (const LimitedBinary *limited = findRow<LimitedBinary>(limitedBinary, op)) {
    auto [low, high] = job.limits();
    job.make(limited->create, low, high, none);
    return made(limited->setup, limited->name);
  }
  job.expectNoEpilogue();
  if (op == "max") {
    job.make(xnn_create_maximum_nd_f32, none);
    return made(xnn_setup_maximum_nd_f32, "maximum_nd");
  }
  job.make(xnn_create_minimum_nd_f32, none);
  return made(xnn_setup_minimum_nd_f32, "minimum_nd");
}

} // namespace lathe::lab::xnnpack
