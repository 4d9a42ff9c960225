#include "lab/providers/xnnpack/XnnPack.h"

#include <algorithm>
#include <limits>
#include <span>

namespace lathe::lab::xnnpack {

/// Rows and their length: XNNPACK's batch and channels.
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

/// An operator of one operand without parameters.
struct PlainUnary {
  const char *op;
  decltype(&xnn_create_abs_nc_f32) create;
  decltype(&xnn_setup_abs_nc_f32) setup;
  const char *name;
};

constexpr PlainUnary plainUnary[] = {
    {"abs", xnn_create_abs_nc_f32, xnn_setup_abs_nc_f32, "abs_nc"},
    {"neg", xnn_create_negate_nc_f32, xnn_setup_negate_nc_f32, "negate_nc"},
    {"ceil", xnn_create_ceiling_nc_f32, xnn_setup_ceiling_nc_f32, "ceiling_nc"},
    {"floor", xnn_create_floor_nc_f32, xnn_setup_floor_nc_f32, "floor_nc"},
    {"round", xnn_create_bankers_rounding_nc_f32, xnn_setup_bankers_rounding_nc_f32, "bankers_rounding_nc"},
    {"sqrt", xnn_create_square_root_nc_f32, xnn_setup_square_root_nc_f32, "square_root_nc"},
    {"sigmoid", xnn_create_sigmoid_nc_f32, xnn_setup_sigmoid_nc_f32, "sigmoid_nc"},
    {"hard_swish", xnn_create_hardswish_nc_f32, xnn_setup_hardswish_nc_f32, "hardswish_nc"},
};

/// An operator of two operands whose result XNNPACK limits.
struct LimitedBinary {
  const char *op;
  decltype(&xnn_create_add_nd_f32) create;
  decltype(&xnn_setup_add_nd_f32) setup;
  const char *name;
};

constexpr LimitedBinary limitedBinary[] = {
    {"add", xnn_create_add_nd_f32, xnn_setup_add_nd_f32, "add_nd"},
    {"sub", xnn_create_subtract_nd_f32, xnn_setup_subtract_nd_f32, "subtract_nd"},
    {"mul", xnn_create_multiply_nd_f32, xnn_setup_multiply_nd_f32, "multiply_nd"},
    {"div", xnn_create_divide_nd_f32, xnn_setup_divide_nd_f32, "divide_nd"},
};

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
