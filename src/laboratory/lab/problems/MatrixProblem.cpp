#include "lab/problems/MatrixProblem.h"

#include <algorithm>

namespace lathe::lab {

static MatrixProblem ofGemm(const Problem &problem) {
  auto &attrs = problem.attrsAs<GemmAttrs>();
  auto &a = problem.operand("a")->dims, &b = problem.operand("b")->dims;
  MatrixProblem p;
  p.transA = attrs.trans_a, p.transB = attrs.trans_b;
  p.rows = a[p.transA ? 1 : 0], p.inner = a[p.transA ? 0 : 1], p.columns = b[p.transB ? 0 : 1];
  p.alpha = attrs.alpha, p.beta = attrs.beta;
  p.firstA = p.firstB = {0};
  if (const ProblemOperand *c = problem.operand("c")) {
    std::vector<int64_t> dims(2 - c->dims.size(), 1);
    dims.insert(dims.end(), c->dims.begin(), c->dims.end());
    p.addend = true;
    p.addendRow = dims[0] == 1 ? 0 : dims[1];
    p.addendColumn = dims[1] == 1 ? 0 : 1;
  }
  return p;
}

static MatrixProblem ofMatMul(const Problem &problem) {
  auto a = problem.operand("a")->dims, b = problem.operand("b")->dims;
  if (a.size() == 1) // a row
    a.insert(a.begin(), 1);
  if (b.size() == 1) // a column
    b.push_back(1);
  size_t rank = std::max(a.size(), b.size());
  a.insert(a.begin(), rank - a.size(), 1);
  b.insert(b.begin(), rank - b.size(), 1);
  MatrixProblem p;
  p.rows = a[rank - 2], p.inner = a[rank - 1], p.columns = b[rank - 1];
  p.batchOfA.assign(a.begin(), a.end() - 2);
  p.batchOfB.assign(b.begin(), b.end() - 2);
  int64_t products = 1;
  for (size_t i = 0; i + 2 < rank; ++i) {
    p.batch.push_back(a[i] == 1 ? b[i] : a[i]);
    products *= p.batch.back();
  }
  auto first = [&](const std::vector<int64_t> &dims, int64_t product) {
    int64_t matrix = 0, stride = 1;
    for (size_t i = p.batch.size(); i-- > 0; product /= p.batch[i], stride *= dims[i])
      matrix += dims[i] == 1 ? 0 : product % p.batch[i] * stride;
    return matrix;
  };
  for (int64_t product = 0; product < products; ++product) {
    p.firstA.push_back(first(p.batchOfA, product) * p.rows * p.inner);
    p.firstB.push_back(first(p.batchOfB, product) * p.inner * p.columns);
  }
  return p;
}

std::optional<MatrixProblem> matrixOf(const Problem &problem) {
  if (problem.op == "gemm")
    return ofGemm(problem);
  if (problem.op == "matmul" || problem.op == "matmul_integer")
    return ofMatMul(problem);
  return std::nullopt;
}

} // namespace lathe::lab
