// XNNPACK as a provider: one operator per problem, with activations channels last.
#include "lab/providers/xnnpack/XnnPack.h"

using namespace lathe;
using namespace lathe::lab;
using namespace lathe::lab::xnnpack;

namespace {

/// How each operator is prepared, by its name.
const std::map<std::string, Prepare> &entries() {
  static const std::map<std::string, Prepare> table = [] {
    std::map<std::string, Prepare> all = {
        {"conv", prepareConv},        {"gemm", prepareFullyConnected},      {"matmul", prepareFullyConnected},
        {"max_pool", prepareMaxPool}, {"average_pool", prepareAveragePool}, {"reduce_mean", prepareGlobalAverage},
        {"resize", prepareResize},    {"softmax", prepareSoftmax}};
    for (const char *op :
         {"abs", "neg", "ceil", "floor", "round", "sqrt", "sigmoid", "hard_swish", "elu", "leaky_relu", "relu", "clip"})
      all[op] = prepareUnary;
    for (const char *op : {"add", "sub", "mul", "div", "max", "min"})
      all[op] = prepareBinary;
    return all;
  }();
  return table;
}

class XnnPack : public Provider {
public:
  std::string name() const override { return "xnnpack"; }
  std::string version() const override { return LATHE_XNNPACK_VERSION; } // the library states none
  std::map<std::string, std::vector<std::string>> variants() const override {
    std::map<std::string, std::vector<std::string>> result;
    for (auto &[op, entry] : entries())
      result[op] = {"auto"};
    return result;
  }
  nlohmann::json settings() const override { return {{"threading", "pthreadpool"}}; }
  std::vector<ActivationLayout> layouts() const override {
    return {ActivationLayout::channelsLast, ActivationLayout::row}; // for images; for all others
  }

  Outcome<std::string> prepare(const Problem &problem, const ProviderRequest &request,
                               const ProblemInputs &inputs) override {
    job.reset();
    try {
      check(xnn_initialize(nullptr), "its start"); // a second call does nothing
      auto next = std::make_unique<Job>(problem, inputs, request.threads);
      std::string implementation = entries().at(problem.op)(*next);
      auto layout = next->inputIsChannelsLast ? ActivationLayout::channelsLast : ActivationLayout::row;
      if (request.layout != ActivationLayout::any && request.layout != layout)
        return NotApplicable{
            fmt::format("XNNPACK computes this {} in the layout {} only", problem.op, lab::name(layout))};
      job = std::move(next);
      return implementation;
    } catch (const Declined &declined) {
      return NotApplicable{declined.reason};
    }
  }

  void run() override { check(xnn_run_operator(job->op.get(), job->pool.get()), "running the operator"); }
  std::vector<Tensor> outputs() override { return {job->output()}; }

private:
  std::unique_ptr<Job> job;
};

} // namespace

int main() {
  XnnPack provider;
  return serveProvider(provider);
}
