// Matrix products and convolutions with a library that has nothing but a product of matrices.
#pragma once

#include "lab/problems/MatrixProblem.h"
#include "lab/problems/Window.h"
#include "lab/providers/Provider.h"
#include "runtime/ThreadPool.h"

#include <memory>

namespace lathe::lab {

/// y (rows x columns) = alpha * a * b + beta * y on row-major matrices with `ld` elements from one row to the next; a
/// is rows x inner or, with transA, lies inner x rows, b likewise.
struct ProductCall {
  bool transA = false, transB = false;
  int64_t rows = 0, columns = 0, inner = 0;
  float alpha = 1, beta = 0;
  const float *a = nullptr, *b = nullptr;
  float *y = nullptr;
  int64_t lda = 0, ldb = 0, ldy = 0;
};
using Product = void (*)(const ProductCall &call);

/// Of conv, gemm and matmul in f32 with at most a relu behind them. Activations and weights stay as they are; bias,
/// addend and relu belong to the run.
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

/// A convolution as im2col and a product: a thread takes a panel of output pixels of one image and group at a time,
/// copies what they are made of into columns and multiplies the weights with them; of pointwise convolutions nothing is
/// copied. `product` is called by several threads at once. Declines other operators.
Outcome<std::unique_ptr<ProductProgram>> makeIm2col(const Problem &problem, const ProblemInputs &inputs, int threads,
                                                    Product product);

/// gemm and matmul. `split`: the library has no threads of its own; every one of ours computes a share of the results.
/// Declines other operators.
Outcome<std::unique_ptr<ProductProgram>> makeProducts(const Problem &problem, const ProblemInputs &inputs, int threads,
                                                      bool split, Product product);

} // namespace lathe::lab
