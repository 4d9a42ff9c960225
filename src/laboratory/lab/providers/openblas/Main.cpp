// OpenBLAS as a provider: matrix products with its sgemm (with a vector: sgemv), convolutions as im2col and sgemm.
#include "lab/providers/Im2col.h"

#include <cblas.h>

using namespace lathe;
using namespace lathe::lab;

namespace {

/// Calls sgemm or, if an operand is a vector, sgemv.
void multiply(const ProductCall &call) {
  auto vector = [&](bool transposed, int64_t rows, int64_t columns, const float *matrix, int64_t ld, const float *x,
                    int64_t stepX, int64_t stepY) {
    cblas_sgemv(CblasRowMajor, transposed ? CblasTrans : CblasNoTrans, blasint(rows), blasint(columns), call.alpha,
                matrix, blasint(ld), x, blasint(stepX), call.beta, call.y, blasint(stepY));
  };
  if (call.rows == 1)
    return vector(!call.transB, call.transB ? call.columns : call.inner, call.transB ? call.inner : call.columns,
                  call.b, call.ldb, call.a, call.transA ? call.lda : 1, 1);
  if (call.columns == 1)
    return vector(call.transA, call.transA ? call.inner : call.rows, call.transA ? call.rows : call.inner, call.a,
                  call.lda, call.b, call.transB ? 1 : call.ldb, call.ldy);
  cblas_sgemm(CblasRowMajor, call.transA ? CblasTrans : CblasNoTrans, call.transB ? CblasTrans : CblasNoTrans,
              blasint(call.rows), blasint(call.columns), blasint(call.inner), call.alpha, call.a, blasint(call.lda),
              call.b, blasint(call.ldb), call.beta, call.y, blasint(call.ldy));
}

class OpenBlas : public Provider {
public:
  std::string name() const override { return "openblas"; }
  std::string version() const override {
    // Takes the second word of "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...".
    std::string config = openblas_get_config();
    size_t begin = config.find(' ') + 1;
    return config.substr(begin, config.find(' ', begin) - begin);
  }
  std::map<std::string, std::vector<std::string>> variants() const override {
    return {{"conv", {"im2col"}}, {"gemm", {"auto"}}, {"matmul", {"auto"}}};
  }
  nlohmann::json settings() const override {
    return {{"config", openblas_get_config()}, {"core", openblas_get_corename()}};
  }

  Outcome<std::string> prepare(const Problem &problem, const ProviderRequest &request,
                               const ProblemInputs &inputs) override {
    bool conv = problem.op == "conv"; // its panels are computed in parallel, each by one thread
    openblas_set_num_threads(conv ? 1 : request.threads);
    auto made = conv ? makeIm2col(problem, inputs, request.threads, multiply)
                     : makeProducts(problem, inputs, request.threads, false, multiply);
    if (!made)
      return NotApplicable{made.reason()};
    program = std::move(*made);
    constantRanges = constantInputs(problem, inputs);
    auto products = matrixOf(problem);
    bool vector = products && (products->rows == 1 || products->columns == 1);
    return (vector ? "sgemv: " : "sgemm: ") + program->implementation();
  }

  void run() override { program->run(); }
  std::vector<Tensor> outputs() override { return {program->output()}; }
  std::optional<std::vector<std::span<const char>>> constants() const override { return constantRanges; }

private:
  std::unique_ptr<ProductProgram> program;
  std::vector<std::span<const char>> constantRanges; // constants that the program stores
};

} // namespace

int main() {
  OpenBlas provider;
  return serveProvider(provider);
}
