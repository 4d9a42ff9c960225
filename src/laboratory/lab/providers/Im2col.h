// Computes matrix products and convolutions with libraries that have only matrix products.
#pragma once

#include "lab/problems/MatrixProblem.h"
#include "lab/problems/Window.h"
#include "lab/providers/Provider.h"
#include "runtime/ThreadPool.h"

#include <memory>

namespace lathe::lab {

/// Arguments of a matrix product y (rows x columns) = alpha * a * b + beta * y on row-major matrices; `ld` is the
/// distance of two rows in elements. a is rows x inner, or with transA stored as inner x rows; b likewise with transB.
struct ProductCall {
  bool transA = false, transB = false;
  int64_t rows = 0, columns = 0, inner = 0;
  float alpha = 1, beta = 0;
  const float *a = nullptr, *b = nullptr;
  float *y = nullptr;
  int64_t lda = 0, ldb = 0, ldy = 0;
};
using Product = void (*)(const ProductCall &call);

/// Base of the programs that compute conv, gemm or matmul in f32 with at most one relu. Activations and weights are
/// used unchanged; bias, addend and relu are part of the timed run.
class ProductProgram {
public:
  virtual ~ProductProgram() = default;
  virtual void run() = 0;
  const Tensor &output() const { return y; }
  const std::string &implementation() const { return description; }

protected:
  Tensor y;
  std::string description;
};

/// Makes a convolution from im2col and a product. A thread copies a panel of output positions of one image and group
/// into columns, and multiplies the weights by it; pointwise convolutions need no copy. Several threads call `product`
/// at once. Declines other operators.
Outcome<std::unique_ptr<ProductProgram>> makeIm2col(const Problem &problem, const ProblemInputs &inputs, int threads,
                                                    Product product);

/// Makes a program for gemm and matmul. With `split`, for libraries without threads, each thread of this process
/// computes a share of the results. Declines other operators.
Outcome<std::unique_ptr<ProductProgram>> makeProducts(const Problem &problem, const ProblemInputs &inputs, int threads,
                                                      bool split, Product product);

} // namespace lathe::lab
