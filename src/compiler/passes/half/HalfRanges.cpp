#include "passes/half/HalfRanges.h"

#include "ops/reduce/ReduceFields.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lathe {
namespace {

constexpr double unknown = std::numeric_limits<double>::infinity();

/// The product of two magnitudes. Zero times unknown is unknown.
double times(double a, double b) { return std::isinf(a) || std::isinf(b) ? unknown : a * b; }

/// True if `name` is a word of `list`.
bool isOneOf(std::string_view name, std::string_view list) {
  return llvm::is_contained(llvm::split(llvm::StringRef(list.data(), list.size()), ' '),
                            llvm::StringRef(name.data(), name.size()));
}

constexpr std::string_view atMostOne =
    "sigmoid tanh erf sign softsign hard_sigmoid sin cos softmax hardmax lp_normalize";
constexpr std::string_view notLarger = "relu abs neg thresholded_relu hard_swish mish swish gelu asinh acosh floor";
/// Operators whose results are elements of the operands, or means or extremes of them.
constexpr std::string_view selecting =
    "reshape transpose concat split slice gather expand tile pad max min mod where max_pool average_pool reduce_mean "
    "reduce_max reduce_min space_to_depth depth_to_space gather_nd gather_elements compress top_k reverse_sequence "
    "max_unpool roi_align unique bind_extents";
/// Operators that add products of operands and constants. In a network made for float16 their results fit float16.
constexpr std::string_view linear = "conv conv_transpose gemm matmul add sub lstm gru rnn recurrence resize";

/// Bound of an element-wise function of one operand whose magnitude is at most `x`; nothing for others.
std::optional<double> unary(std::string_view name, mlir::Operation *op, double x) {
  if (isOneOf(name, atMostOne))
    return 1;
  if (isOneOf(name, notLarger))
    return x;
  if (isOneOf(name, "ceil round"))
    return std::ceil(x);
  if (name == "softplus")
    return x < 12 ? x + 1 : x; // less than half a unit of float16 more
  if (isOneOf(name, "atan asin acos"))
    return 4;
  if (isOneOf(name, "exp sinh cosh"))
    return std::exp(x);
  if (name == "atanh")
    return 10; // of the greatest float32 below 1
  if (name == "log")
    return 110; // of the least and the greatest float32
  if (name == "sqrt")
    return std::max(1.0, std::sqrt(x));
  if (name == "selu")
    return std::max(2.0, 1.1 * x);
  if (name == "leaky_relu")
    return times(x, std::max(1.0, std::abs(nn::attrsAs<LeakyReluAttrs>(op).alpha)));
  if (name == "elu")
    return std::max(x, std::abs(nn::attrsAs<EluAttrs>(op).alpha));
  if (name == "celu")
    return std::max(x, std::abs(nn::attrsAs<CeluAttrs>(op).alpha));
  if (name == "shrink")
    return x + std::abs(nn::attrsAs<ShrinkAttrs>(op).bias);
  if (name != "clip")
    return std::nullopt;
  auto clip = nn::attrsAs<ClipAttrs>(op);
  if (operandOf(op, 1) || operandOf(op, 2))
    return unknown;
  // Numbers outside the limits become a limit.
  return std::max(std::isinf(clip.min) ? x : std::abs(clip.min), std::isinf(clip.max) ? x : std::abs(clip.max));
}

/// True for a reduction of scatter that may make results outside the range of its operands.
bool addsUp(const std::string &reduction) { return reduction == "add" || reduction == "mul"; }

double greatestOf(const Tensor &tensor) {
  double most = 0;
  for (int64_t i = 0, n = tensor.elements(); i < n; ++i)
    if (double magnitude = std::abs(tensor.asDouble(i)); std::isfinite(magnitude))
      most = std::max(most, magnitude);
  return most;
}

double leastOf(const Tensor &tensor) {
  double least = unknown;
  for (int64_t i = 0, n = tensor.elements(); i < n; ++i)
    least = std::min(least, std::abs(tensor.asDouble(i)));
  return least;
}

/// The greatest sum of magnitudes along the middle one of three axes.
double greatestSum(const Tensor &tensor, int64_t outer, int64_t terms, int64_t inner) {
  double most = 0;
  std::vector<double> sums(static_cast<size_t>(inner));
  for (int64_t o = 0; o < outer; ++o) {
    std::fill(sums.begin(), sums.end(), 0);
    for (int64_t t = 0; t < terms; ++t)
      for (int64_t i = 0; i < inner; ++i)
        sums[static_cast<size_t>(i)] += std::abs(tensor.asDouble((o * terms + t) * inner + i));
    for (double sum : sums)
      most = std::max(most, sum);
  }
  return most;
}

/// The number of elements that a reduction adds up; unknown where an extent is open.
double termsOf(const TensorInfo &x, const std::vector<int64_t> &axes, bool all) {
  double terms = 1;
  auto rank = static_cast<int64_t>(x.rank());
  for (int64_t axis = 0; axis < rank; ++axis)
    if (all || llvm::is_contained(axes, axis) || llvm::is_contained(axes, axis - rank))
      terms = times(terms, x.dims[static_cast<size_t>(axis)].isConstant()
                               ? static_cast<double>(x.dims[static_cast<size_t>(axis)].constant())
                               : unknown);
  return terms;
}

/// The greatest magnitude of a type.
double greatestOf(ElementType type) {
  switch (type) {
  case ElementType::f16:
    return HalfRanges::greatest;
  case ElementType::f32:
  case ElementType::bf16:
  case ElementType::f64:
    return unknown;
  case ElementType::boolean:
    return 1;
  default:
    if (isFloat(type))
      return 57344; // of all 8-bit types
    return std::ldexp(1.0, static_cast<int>(bitWidth(type)));
  }
}

} // namespace

HalfRanges::HalfRanges(mlir::func::FuncOp function, bool trustLinear) : shapes(function) {
  for (mlir::Operation &op : function.getBody().front())
    if (nn::recordOf(&op))
      for (mlir::OpResult result : op.getResults()) {
        TensorInfo info = nn::infoOf(result);
        if (!info.isTensor() || !isFloat(info.type))
          continue;
        double most = boundOf(&op, result.getResultNumber());
        if (trustLinear && info.type == ElementType::f16 && isOneOf(nn::recordOf(&op)->name, linear))
          most = std::min(most, greatest);
        bounds[result] = most;
      }
}

double HalfRanges::bound(mlir::Value value) const {
  if (!value)
    return 0;
  if (auto found = bounds.find(value); found != bounds.end())
    return found->second;
  double most = greatestOf(nn::infoOf(value).type);
  if (std::optional<Tensor> constant = constantOf(value); constant && isFloat(constant->type()))
    most = greatestOf(*constant);
  else if (value.getDefiningOp() && nn::infoOf(value).type == ElementType::f16)
    most = greatest; // results of branches and loops, which round
  return bounds[value] = most;
}

double HalfRanges::operand(mlir::Operation *op, size_t index) const { return bound(operandOf(op, index)); }

double HalfRanges::largestOperand(mlir::Operation *op) const {
  double most = 0;
  for (mlir::Value value : op->getOperands())
    if (TensorInfo info = nn::infoOf(value); info.isTensor() && isFloat(info.type))
      most = std::max(most, bound(value));
  return most;
}

double HalfRanges::contraction(mlir::Operation *op) const {
  double left = operand(op, 0), right = operand(op, 1), added = 0, scale = 1, sums = unknown;
  std::optional<Tensor> weights = constantOf(operandOf(op, 1)), rows = constantOf(operandOf(op, 0));
  bool transposed = false;
  if (isOp(op, "gemm")) {
    auto gemm = nn::attrsAs<GemmAttrs>(op);
    scale = std::abs(gemm.alpha);
    added = times(operand(op, 2), std::abs(gemm.beta));
    transposed = gemm.trans_b;
    if (gemm.trans_a)
      rows.reset();
  } else if (isOp(op, "conv")) {
    added = operand(op, 2);
    transposed = true; // the weights of one result are contiguous
  }
  TensorInfo b = shapes.of(operandOf(op, 1));
  if (weights && weights->dims().size() >= 2) {
    std::vector<int64_t> dims = weights->dims();
    int64_t all = weights->elements(), outer = transposed ? dims[0] : 1;
    for (size_t i = 0; !transposed && i + 2 < dims.size(); ++i)
      outer *= dims[i];
    int64_t inner = transposed ? 1 : dims.back();
    sums = times(left, greatestSum(*weights, outer, outer * inner ? all / (outer * inner) : 0, inner));
  } else if (rows && rows->dims().size() >= 2 && rows->dims().back() > 0) {
    sums = times(right, greatestSum(*rows, rows->elements() / rows->dims().back(), rows->dims().back(), 1));
  } else if (!isOp(op, "conv") && b.rank() >= 2) {
    const Dim &terms = b.dims[transposed ? b.rank() - 1 : b.rank() - 2];
    sums = terms.isConstant() ? times(times(left, right), static_cast<double>(terms.constant())) : unknown;
  }
  constexpr double rounding = 1.0001; // covers the rounding of long sums
  return times(times(sums, scale) + added, rounding);
}

double HalfRanges::reduction(mlir::Operation *op, std::string_view kind) const {
  ReduceFields fields;
  nn::attrsOf(op)->visit(fields);
  double x = operand(op, 0);
  TensorInfo info = shapes.of(op->getOperand(0));
  double terms = operandOf(op, 1) ? termsOf(info, {}, true) : termsOf(info, fields.axes, fields.axes.empty());
  if (kind == "sum" || kind == "l1")
    return times(terms, x);
  if (kind == "sum_square")
    return times(terms, times(x, x));
  if (kind == "l2")
    return times(std::sqrt(terms), x);
  if (kind == "log_sum")
    return 110;
  if (kind == "log_sum_exp")
    return x + (std::isinf(terms) ? 50 : std::log(std::max(1.0, terms)));
  return unknown; // prod
}

/// A normalised element is at most the root of their number.
double HalfRanges::normalization(mlir::Operation *op) const {
  TensorInfo x = shapes.of(op->getOperand(0));
  auto rank = static_cast<int64_t>(x.rank());
  std::vector<int64_t> axes;
  int64_t first = isOp(op, "layer_norm")   ? nn::attrsAs<LayerNormAttrs>(op).axis
                  : isOp(op, "rms_norm")   ? nn::attrsAs<RmsNormAttrs>(op).axis
                  : isOp(op, "group_norm") ? 1
                                           : 2;
  for (int64_t axis = first < 0 ? first + rank : first; axis < rank; ++axis)
    axes.push_back(axis);
  return times(std::sqrt(termsOf(x, axes, false)), operand(op, 1)) + operand(op, 2);
}

double HalfRanges::boundOf(mlir::Operation *op, unsigned result) const {
  std::string_view name = nn::recordOf(op)->name;
  if (std::optional<double> most = unary(name, op, operand(op, 0)))
    return *most;
  if (isOneOf(name, selecting)) {
    double most = largestOperand(op);
    return name == "pad" ? std::max(most, std::abs(nn::attrsAs<PadAttrs>(op).value)) : most;
  }
  if (name == "cast")
    return std::min(operand(op, 0), greatestOf(nn::infoOf(op->getResult(result)).type));
  if (name == "add" || name == "sub")
    return operand(op, 0) + operand(op, 1);
  if (name == "mul")
    return times(operand(op, 0), operand(op, 1));
  if (name == "prelu")
    return times(operand(op, 0), std::max(1.0, operand(op, 1)));
  if (name == "div") {
    std::optional<Tensor> divisor = constantOf(op->getOperand(1));
    double least = divisor ? leastOf(*divisor) : 0;
    return least > 0 ? operand(op, 0) / least : unknown;
  }
  if (name == "lrn" && nn::attrsAs<LrnAttrs>(op).bias >= 1)
    return operand(op, 0); // its divisor is at least the bias
  if (name == "scatter_nd" && !addsUp(nn::attrsAs<ScatterNdAttrs>(op).reduction))
    return largestOperand(op);
  if (name == "scatter_elements" && !addsUp(nn::attrsAs<ScatterElementsAttrs>(op).reduction))
    return largestOperand(op);
  if (name == "pow") {
    std::optional<double> exponent = splatValue(op->getOperand(1));
    return exponent && *exponent >= 0 ? std::pow(std::max(1.0, operand(op, 0)), *exponent) : unknown;
  }
  if (name == "conv" || name == "gemm" || name == "matmul")
    return contraction(op);
  if (name == "attention")
    return operand(op, 2);
  if (name == "layer_norm" || name == "rms_norm" || name == "instance_norm" || name == "group_norm")
    return normalization(op);
  if (name == "log_softmax")
    return 2 * operand(op, 0) + 50;
  if (name == "resize" || name == "grid_sample")
    return times(8, operand(op, 0)); // cubic coefficients in up to three axes
  if (name == "constant_of_shape")
    return std::abs(nn::attrsAs<ConstantOfShapeAttrs>(op).value);
  constexpr std::string_view reduce = "reduce_";
  if (name.substr(0, reduce.size()) == reduce)
    return reduction(op, name.substr(reduce.size()));
  return unknown;
}

} // namespace lathe
