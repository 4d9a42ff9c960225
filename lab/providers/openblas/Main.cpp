// OpenBLAS as a provider: products of matrices by its sgemm, convolutions as im2col and sgemm.
#include "lab/providers/Im2col.h"

#include <cblas.h>

using namespace lathe;
using namespace lathe::lab;

namespace {

void sgemm(const ProductCall &call) {
  cblas_sgemm(CblasRowMajor, call.transA ? CblasTrans : CblasNoTrans, call.transB ? CblasTrans : CblasNoTrans,
              blasint(call.rows), blasint(call.columns), blasint(call.inner), call.alpha, call.a, blasint(call.lda),
              call.b, blasint(call.ldb), call.beta, call.y, blasint(call.ldy));
}

class OpenBlas : public Provider {
public:
  std::string name() const override { return "openblas"; }
  std::string version() const override {
    // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...": the second word.
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

  Outcome<std::string> prepare(const Problem &problem, const std::string &, int threads,
                               const ProblemInputs &inputs) override {
    bool conv = problem.op == "conv"; // its panels are computed side by side, each by one thread
    openblas_set_num_threads(conv ? 1 : threads);
    auto made =
        conv ? makeIm2col(problem, inputs, threads, sgemm) : makeProducts(problem, inputs, threads, false, sgemm);
    if (!made)
      return NotApplicable{made.reason()};
    program = std::move(*made);
    return "sgemm: " + program->implementation();
  }

  void run() override { program->run(); }
  std::vector<Tensor> outputs() override { return {program->output()}; }

private:
  std::unique_ptr<ProductProgram> program;
};

} // namespace

int main() {
  OpenBlas provider;
  return serveProvider(provider);
}
