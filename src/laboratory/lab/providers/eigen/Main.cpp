// Eigen as a provider: matrix products, convolutions as im2col and a product, and element-wise operators with arrays.
// Its templates are compiled here, for the processor in LATHE_PEER_ARCH.
#include "lab/providers/Im2col.h"
#include "lab/providers/eigen/Arrays.h"

#include <Eigen/Core>

using namespace lathe;
using namespace lathe::lab;

namespace {

using Stride = Eigen::OuterStride<>;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Operand = Eigen::Map<const Matrix, 0, Stride>;
using Result = Eigen::Map<Matrix, 0, Stride>;

template <class A, class B> void multiply(const ProductCall &call, const A &a, const B &b) {
  Result y(call.y, call.rows, call.columns, Stride(call.ldy));
  if (call.beta == 0) {
    y.noalias() = call.alpha * (a * b);
    return;
  }
  if (call.beta != 1)
    y *= call.beta;
  y.noalias() += call.alpha * (a * b);
}

void eigenProduct(const ProductCall &call) {
  Operand a(call.a, call.transA ? call.inner : call.rows, call.transA ? call.rows : call.inner, Stride(call.lda));
  Operand b(call.b, call.transB ? call.columns : call.inner, call.transB ? call.inner : call.columns, Stride(call.ldb));
  if (call.transA && call.transB)
    multiply(call, a.transpose(), b.transpose());
  else if (call.transA)
    multiply(call, a.transpose(), b);
  else if (call.transB)
    multiply(call, a, b.transpose());
  else
    multiply(call, a, b);
}

class EigenProvider : public Provider {
public:
  std::string name() const override { return "eigen"; }
  std::string version() const override {
    return fmt::format("{}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
  }
  std::map<std::string, std::vector<std::string>> variants() const override {
    std::map<std::string, std::vector<std::string>> result = {
        {"conv", {"im2col"}}, {"gemm", {"auto"}}, {"matmul", {"auto"}}};
    for (const std::string &op : arrayOperators())
      result[op] = {"auto"};
    return result;
  }
  nlohmann::json settings() const override {
    return {{"compiled for", LATHE_PEER_ARCH}, {"instruction sets", Eigen::SimdInstructionSetsInUse()}};
  }

  Outcome<std::string> prepare(const Problem &problem, const ProviderRequest &request,
                               const ProblemInputs &inputs) override {
    program.reset();
    arrays.reset();
    operands = inputs;
    constantRanges = constantInputs(problem, inputs);
    auto named = [](const std::string &implementation) {
      return fmt::format("{} ({})", implementation, LATHE_PEER_ARCH);
    };
    if (problem.op == "conv" || matrixOf(problem)) {
      auto made = problem.op == "conv" ? makeIm2col(problem, inputs, request.threads, eigenProduct)
                                       : makeProducts(problem, inputs, request.threads, true, eigenProduct);
      if (!made)
        return NotApplicable{made.reason()};
      program = std::move(*made);
      return named(program->implementation());
    }
    auto made = makeArrays(problem, inputs);
    if (!made)
      return NotApplicable{made.reason()};
    arrays = std::move(*made);
    if (!pool || pool->slots() != request.threads)
      pool = std::make_unique<runtime::ThreadPool>(request.threads);
    return named(arrays->implementation);
  }

  void run() override {
    if (program)
      return program->run();
    auto share = [](void *context, int, int64_t begin, int64_t end) {
      static_cast<ArrayProgram *>(context)->compute(begin, end);
    };
    pool->run(arrays->units, share, &*arrays);
  }
  std::vector<Tensor> outputs() override { return {program ? program->output() : arrays->y}; }
  std::optional<std::vector<std::span<const char>>> constants() const override { return constantRanges; }

private:
  std::unique_ptr<ProductProgram> program; // either this or arrays
  std::optional<ArrayProgram> arrays;
  ProblemInputs operands; // operands of the arrays, which point to them
  std::vector<std::span<const char>> constantRanges;
  std::unique_ptr<runtime::ThreadPool> pool;
};

} // namespace

int main() {
  EigenProvider provider;
  return serveProvider(provider);
}
