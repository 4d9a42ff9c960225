#include "codegen/contraction/WinogradTransform.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>
#include <map>

namespace lathe {
namespace {

/// Coefficients of the product of (x - p) over all points but the one at `left` (-1: over all), lowest power first.
std::vector<double> productOfRoots(const std::vector<double> &points, int64_t left) {
  std::vector<double> product{1};
  for (size_t i = 0; i < points.size(); ++i) {
    if (int64_t(i) == left)
      continue;
    std::vector<double> next(product.size() + 1, 0);
    for (size_t power = 0; power < product.size(); ++power) {
      next[power + 1] += product[power];
      next[power] -= points[i] * product[power];
    }
    product = std::move(next);
  }
  return product;
}

/// What two rows have in common, and where their signs differ.
struct Shared {
  std::vector<double> same, opposite;
};
std::optional<Shared> shared(const std::vector<double> &a, const std::vector<double> &b) {
  Shared result{std::vector<double>(a.size()), std::vector<double>(a.size())};
  int64_t sames = 0, opposites = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::fabs(a[i]) != std::fabs(b[i]))
      return std::nullopt;
    (a[i] == b[i] ? result.same : result.opposite)[i] = a[i];
    (a[i] == b[i] ? sames : opposites) += a[i] != 0;
  }
  if (sames == 0 || opposites == 0 || sames + opposites < 3)
    return std::nullopt;
  return result;
}

std::vector<double> column(const CoefficientRows &rows, size_t at) {
  std::vector<double> values;
  for (const auto &row : rows)
    values.push_back(row[at]);
  return values;
}

/// The arithmetic applyRows needs; emitted, or only counted.
template <class V> struct Arithmetic {
  std::function<V(V, V)> add, sub;
  std::function<V(V, double)> mul;
  std::function<V(V, double, V)> multiplyAdd; // x * factor + y
};

template <class V> V form(const Arithmetic<V> &a, const std::vector<double> &row, const std::vector<V> &inputs) {
  // Begin with a term that needs no multiplication, where there is one.
  size_t first = row.size();
  for (double wanted : {1.0, 0.0})
    for (size_t i = 0; i < row.size() && first == row.size(); ++i)
      if (wanted != 0 ? row[i] == wanted : row[i] != 0)
        first = i;
  if (first == row.size())
    throw Declined{"a transform has a row of zeros"};
  V sum = row[first] == 1 ? inputs[first] : a.mul(inputs[first], row[first]);
  for (size_t i = 0; i < row.size(); ++i)
    if (i != first && row[i] != 0)
      sum = row[i] == 1    ? a.add(sum, inputs[i])
            : row[i] == -1 ? a.sub(sum, inputs[i])
                           : a.multiplyAdd(inputs[i], row[i], sum);
  return sum;
}

template <class V> std::vector<V> apply(const Arithmetic<V> &a, CoefficientRows rows, std::vector<V> inputs) {
  // Columns first: x + y and x - y in place of x and y.
  bool byColumns = false;
  for (size_t i = 0; i < inputs.size(); ++i)
    for (size_t j = i + 1; j < inputs.size(); ++j) {
      if (!shared(column(rows, i), column(rows, j)))
        continue;
      V sum = a.add(inputs[i], inputs[j]), difference = a.sub(inputs[i], inputs[j]);
      inputs[i] = sum;
      inputs[j] = difference;
      for (auto &row : rows) {
        bool same = row[i] == row[j];
        row[j] = same ? 0 : row[i];
        row[i] = same ? row[i] : 0;
      }
      byColumns = true;
      break;
    }
  std::vector<V> results(rows.size());
  std::vector<bool> done(rows.size(), false);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (done[i])
      continue;
    for (size_t j = i + 1; j < rows.size() && !byColumns && !done[i]; ++j)
      if (auto parts = shared(rows[i], rows[j]); parts && !done[j]) {
        V same = form(a, parts->same, inputs), opposite = form(a, parts->opposite, inputs);
        results[i] = a.add(same, opposite);
        results[j] = a.sub(same, opposite);
        done[i] = done[j] = true;
      }
    if (!done[i])
      results[i] = form(a, rows[i], inputs);
  }
  return results;
}

} // namespace

WinogradTransform winogradTransform(int64_t outputs, bool rounded) {
  static const std::map<int64_t, std::vector<double>> exact{
      {2, {0, 1, -1}}, {4, {0, 1, -1, 2, -2}}, {6, {0, 1, -1, 2, -2, 0.5, -0.5}}};
  static const std::map<int64_t, std::vector<double>> small{
      {2, {0, 1, -1}}, {3, {0.375, -0.375, 1.25, -1.25}}, {4, {0, 0.625, -0.625, 1.5, -1.5}}};
  constexpr int64_t taps = 3;
  int64_t size = outputs + taps - 1;
  const auto &known = rounded ? small : exact;
  auto found = known.find(outputs);
  if (found == known.end())
    throw Declined{
        fmt::format("there is no transform for {} outputs{}", outputs, rounded ? " of operands in bf16" : "")};
  const std::vector<double> &points = found->second;
  WinogradTransform transform{outputs, taps, CoefficientRows(outputs, std::vector<double>(size, 0)), {}, {}};
  for (int64_t j = 0; j + 1 < size; ++j) {
    for (int64_t i = 0; i < outputs; ++i)
      transform.output[i][j] = std::pow(points[j], i);
    double scale = 1;
    for (int64_t other = 0; other + 1 < size; ++other)
      if (other != j)
        scale *= points[j] - points[other];
    transform.filter.push_back({1 / scale, points[j] / scale, points[j] * points[j] / scale});
    transform.input.push_back(productOfRoots(points, j));
    transform.input.back().resize(size, 0);
  }
  transform.output[outputs - 1][size - 1] = 1;
  transform.filter.push_back({0, 0, 1});
  transform.input.push_back(productOfRoots(points, -1));
  return transform;
}

KernelBuilder::Values applyRows(KernelBuilder &k, const CoefficientRows &rows, mlir::ValueRange inputs) {
  using mlir::Value;
  auto constant = [&](double factor, Value like) { return k.constantF(factor, like.getType()); };
  Arithmetic<Value> arithmetic{
      [&](Value x, Value y) -> Value { return k.b.create<mlir::arith::AddFOp>(k.loc, x, y); },
      [&](Value x, Value y) -> Value { return k.b.create<mlir::arith::SubFOp>(k.loc, x, y); },
      [&](Value x, double factor) -> Value { return k.b.create<mlir::arith::MulFOp>(k.loc, x, constant(factor, x)); },
      [&](Value x, double factor, Value y) -> Value { return k.fma(x, constant(factor, x), y); }};
  std::vector<Value> results = apply(arithmetic, rows, std::vector<Value>(inputs.begin(), inputs.end()));
  return KernelBuilder::Values(results.begin(), results.end());
}

int64_t operationsOf(const CoefficientRows &rows) {
  int64_t count = 0;
  auto two = [&](int, int) { return ++count, 0; };
  Arithmetic<int> arithmetic{two, two, [&](int, double) { return ++count, 0; },
                             [&](int, double, int) { return ++count, 0; }};
  apply(arithmetic, rows, std::vector<int>(rows[0].size(), 0));
  return count;
}

} // namespace lathe
