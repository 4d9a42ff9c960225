#include "lab/providers/eigen/Arrays.h"

#include <Eigen/Core>

#include <algorithm>
#include <limits>

namespace lathe::lab {

namespace {

using Vector = Eigen::Map<const Eigen::ArrayXf>;
using Result = Eigen::Map<Eigen::ArrayXf>;
using Rows = Eigen::Map<const Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

// One operand.

using Unary = void (*)(const Vector &x, Result y, float alpha, float beta);

const std::map<std::string, Unary> &unaries() {
  static const std::map<std::string, Unary> table = {
      {"relu", [](auto &x, Result y, float, float) { y = x.max(0.0f); }},
      {"leaky_relu", [](auto &x, Result y, float alpha, float) { y = (x < 0.0f).select(alpha * x, x); }},
      {"elu", [](auto &x, Result y, float alpha, float) { y = (x < 0.0f).select(alpha * (x.exp() - 1.0f), x); }},
      {"sigmoid", [](auto &x, Result y, float, float) { y = x.logistic(); }},
      {"tanh", [](auto &x, Result y, float, float) { y = x.tanh(); }},
      {"swish", [](auto &x, Result y, float alpha, float) { y = x * (alpha * x).logistic(); }},
      {"exp", [](auto &x, Result y, float, float) { y = x.exp(); }},
      {"log", [](auto &x, Result y, float, float) { y = x.log(); }},
      {"sqrt", [](auto &x, Result y, float, float) { y = x.sqrt(); }},
      {"abs", [](auto &x, Result y, float, float) { y = x.abs(); }},
      {"neg", [](auto &x, Result y, float, float) { y = -x; }},
      {"floor", [](auto &x, Result y, float, float) { y = x.floor(); }},
      {"ceil", [](auto &x, Result y, float, float) { y = x.ceil(); }},
      {"round", [](auto &x, Result y, float, float) { y = x.rint(); }},
      {"reciprocal", [](auto &x, Result y, float, float) { y = x.inverse(); }},
      {"sin", [](auto &x, Result y, float, float) { y = x.sin(); }},
      {"cos", [](auto &x, Result y, float, float) { y = x.cos(); }},
      {"clip", [](auto &x, Result y, float low, float high) { y = x.min(high).max(low); }},
  };
  return table;
}

/// The first two numeric attributes of an operator, or 0.
std::pair<float, float> parameters(const Problem &problem) {
  float values[2] = {0, 0};
  size_t count = 0;
  auto attrs = toJson(*problem.attrs);
  for (auto &attr : problem.record().attrs) { // in the order of the record
    auto &value = attrs.at(attr.name);
    if (count == 2)
      break;
    if (value.is_string()) // "inf", "-inf"
      values[count++] =
          value == "inf" ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity();
    else
      values[count++] = value.get<float>();
  }
  return {values[0], values[1]};
}

Outcome<ArrayProgram> makeUnary(const Problem &problem, const ProblemInputs &inputs, ArrayProgram program) {
  if (problem.operands.size() > 1)
    return NotApplicable{"parameters that are operands are not implemented"};
  program.units = program.y.elements();
  auto [alpha, beta] = parameters(problem);
  program.compute = [apply = unaries().at(problem.op), x = inputs[0].as<float>(), y = program.y.as<float>(), alpha,
                     beta](int64_t begin, int64_t end) {
    apply(Vector(x + begin, end - begin), Result(y + begin, end - begin), alpha, beta);
  };
  return program;
}

// Two operands.

using Binary = void (*)(const Vector &a, const Vector &b, Result y);

const std::map<std::string, Binary> &binaries() {
  static const std::map<std::string, Binary> table = {
      {"add", [](auto &a, auto &b, Result y) { y = a + b; }},
      {"sub", [](auto &a, auto &b, Result y) { y = a - b; }},
      {"mul", [](auto &a, auto &b, Result y) { y = a * b; }},
      {"div", [](auto &a, auto &b, Result y) { y = a / b; }},
      {"max", [](auto &a, auto &b, Result y) { y = a.max(b); }},
      {"min", [](auto &a, auto &b, Result y) { y = a.min(b); }},
      {"pow", [](auto &a, auto &b, Result y) { y = a.pow(b); }},
  };
  return table;
}

Outcome<ArrayProgram> makeBinary(const Problem &problem, const ProblemInputs &inputs, ArrayProgram program) {
  if (inputs[0].dims() != inputs[1].dims())
    return NotApplicable{"Eigen's arrays do not broadcast"};
  program.units = program.y.elements();
  program.compute = [apply = binaries().at(problem.op), a = inputs[0].as<float>(), b = inputs[1].as<float>(),
                     y = program.y.as<float>()](int64_t begin, int64_t end) {
    apply(Vector(a + begin, end - begin), Vector(b + begin, end - begin), Result(y + begin, end - begin));
  };
  return program;
}

// Rows.

int64_t product(const std::vector<int64_t> &dims, size_t begin, size_t end) {
  int64_t count = 1;
  for (size_t i = begin; i < end; ++i)
    count *= dims[i];
  return count;
}

/// Reduces `length` rows of `inner` elements to one row.
using Reduction = void (*)(const Rows &x, float *y);

template <class Across, class Along> void reduceRows(const Rows &x, float *y, Across across, Along along) {
  if (x.cols() == 1) // contiguous elements: one number
    *y = along(Vector(x.data(), x.rows()));
  else
    Result(y, x.cols()) = across(x.colwise()).transpose();
}

const std::map<std::string, Reduction> &reductions() {
  static const std::map<std::string, Reduction> table = {
      {"reduce_sum",
       [](const Rows &x, float *y) {
         reduceRows(x, y, [](const auto &rows) { return rows.sum(); }, [](const Vector &all) { return all.sum(); });
       }},
      {"reduce_mean",
       [](const Rows &x, float *y) {
         reduceRows(x, y, [](const auto &rows) { return rows.mean(); }, [](const Vector &all) { return all.mean(); });
       }},
      {"reduce_max",
       [](const Rows &x, float *y) {
         reduceRows(
             x, y, [](const auto &rows) { return rows.maxCoeff(); }, [](const Vector &all) { return all.maxCoeff(); });
       }},
      {"reduce_min",
       [](const Rows &x, float *y) {
         reduceRows(
             x, y, [](const auto &rows) { return rows.minCoeff(); }, [](const Vector &all) { return all.minCoeff(); });
       }},
  };
  return table;
}

Outcome<ArrayProgram> makeReduction(const Problem &problem, const ProblemInputs &inputs, ArrayProgram program) {
  auto attrs = toJson(*problem.attrs); // all reductions have the same attributes
  auto axes = attrs.at("axes").get<std::vector<int64_t>>();
  auto &dims = inputs[0].dims();
  auto rank = int64_t(dims.size());
  for (int64_t &axis : axes)
    axis = axis < 0 ? axis + rank : axis;
  std::sort(axes.begin(), axes.end());
  bool neighbours = !axes.empty() && axes.back() - axes.front() + 1 == int64_t(axes.size());
  if (problem.operands.size() > 1 || !neighbours || inputs[0].elements() == 0)
    return NotApplicable{"only reductions over neighbouring axes that are known are implemented"};
  auto first = size_t(axes.front()), last = size_t(axes.back() + 1);
  int64_t length = product(dims, first, last), inner = product(dims, last, dims.size());
  program.units = product(dims, 0, first);
  program.compute = [apply = reductions().at(problem.op), x = inputs[0].as<float>(), y = program.y.as<float>(), length,
                     inner](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      apply(Rows(x + i * length * inner, length, inner), y + i * inner);
  };
  return program;
}

Outcome<ArrayProgram> makeSoftmax(const Problem &problem, const ProblemInputs &inputs, ArrayProgram program) {
  int64_t axis = problem.attrsAs<SoftmaxAttrs>().axis;
  auto rank = int64_t(inputs[0].rank());
  if (axis != -1 && axis != rank - 1)
    return NotApplicable{"only the softmax over the last axis is implemented"};
  int64_t length = inputs[0].dims().back();
  program.units = length ? program.y.elements() / length : 0;
  program.compute = [x = inputs[0].as<float>(), y = program.y.as<float>(), length](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Vector from(x + i * length, length);
      Result to(y + i * length, length);
      to = (from - from.maxCoeff()).exp();
      to /= to.sum();
    }
  };
  return program;
}

Outcome<ArrayProgram> makeLayerNorm(const Problem &problem, const ProblemInputs &inputs, ArrayProgram program) {
  auto &attrs = problem.attrsAs<LayerNormAttrs>();
  auto &dims = inputs[0].dims();
  auto axis = size_t(attrs.axis < 0 ? attrs.axis + int64_t(dims.size()) : attrs.axis);
  int64_t length = product(dims, axis, dims.size());
  bool withBias = inputs.size() > 2;
  if (inputs[1].elements() != length || (withBias && inputs[2].elements() != length))
    return NotApplicable{"only scale and bias of the extents that are normalised are implemented"};
  program.units = length ? program.y.elements() / length : 0;
  program.compute = [x = inputs[0].as<float>(), y = program.y.as<float>(), scale = inputs[1].as<float>(),
                     bias = withBias ? inputs[2].as<float>() : nullptr, length,
                     epsilon = float(attrs.epsilon)](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Vector from(x + i * length, length), factor(scale, length);
      Result to(y + i * length, length);
      float mean = from.mean();
      float root = std::sqrt((from - mean).square().mean() + epsilon);
      if (bias)
        to = (from - mean) / root * factor + Vector(bias, length);
      else
        to = (from - mean) / root * factor;
    }
  };
  return program;
}

} // namespace

std::vector<std::string> arrayOperators() {
  std::vector<std::string> names = {"softmax", "layer_norm"};
  for (auto &[name, apply] : unaries())
    names.push_back(name);
  for (auto &[name, apply] : binaries())
    names.push_back(name);
  for (auto &[name, apply] : reductions())
    names.push_back(name);
  return names;
}

Outcome<ArrayProgram> makeArrays(const Problem &problem, const ProblemInputs &inputs) {
  for (auto &operand : problem.operands)
    if (operand.type != ElementType::f32)
      return NotApplicable{fmt::format("only f32 is implemented, '{}' is {}", operand.name, name(operand.type))};
  if (!problem.epilogue.empty())
    return NotApplicable{"nothing is implemented behind it"};
  ArrayProgram program;
  program.y = Tensor(ElementType::f32, problem.results()[0].dims);
  program.implementation = "array expression, row-major";
  if (unaries().count(problem.op))
    return makeUnary(problem, inputs, std::move(program));
  if (binaries().count(problem.op))
    return makeBinary(problem, inputs, std::move(program));
  if (reductions().count(problem.op))
    return makeReduction(problem, inputs, std::move(program));
  return problem.op == "softmax" ? makeSoftmax(problem, inputs, std::move(program))
                                 : makeLayerNorm(problem, inputs, std::move(program));
}

} // namespace lathe::lab
