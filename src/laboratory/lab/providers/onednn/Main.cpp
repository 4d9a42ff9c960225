// oneDNN as a provider. If no layout is requested, `auto` lets a convolution choose the layout of its activations, and
// gives pooling and resizing the layout that convolutions produce; reorders are part of the preparation. `plain` fixes
// the layout to row-major. Constant operands are always packed as oneDNN prefers.
#include "lab/providers/onednn/OneDnn.h"

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl_debug.h>

using namespace lathe;
using namespace lathe::lab;
using namespace lathe::lab::onednn;

namespace {

struct Entry {
  Prepare prepare;
  std::vector<std::string> variants;
  bool rowOnly = false; // it always gets row-major activations
};

/// How each operator is prepared, by its name.
const std::map<std::string, Entry> &entries() {
  static const std::map<std::string, Entry> table = [] {
    std::vector<std::string> one = {"auto"}, layouts = {"auto", "channels_last", "plain"};
    std::map<std::string, Entry> all = {{"conv", {prepareConv, {"auto", "direct", "winograd", "gemm", "plain"}}},
                                        {"gemm", {prepareMatrices, {"auto", "inner_product"}, true}},
                                        {"matmul", {prepareMatrices, one, true}},
                                        {"conv_integer", {prepareConv, {"auto", "direct", "gemm", "plain"}}},
                                        {"matmul_integer", {prepareMatrices, {"auto", "inner_product"}, true}},
                                        {"max_pool", {preparePool, layouts}},
                                        {"average_pool", {preparePool, layouts}},
                                        {"resize", {prepareResize, layouts}},
                                        {"lrn", {prepareLrn, layouts}},
                                        {"softmax", {prepareSoftmax, one, true}},
                                        {"log_softmax", {prepareSoftmax, one, true}},
                                        {"layer_norm", {prepareLayerNorm, one, true}},
                                        {"lstm", {prepareLstm, one, true}}};
    for (const char *op : {"relu", "leaky_relu", "elu", "tanh", "sigmoid", "exp", "log", "sqrt", "abs", "round", "gelu",
                           "swish", "hard_swish", "mish", "softplus", "clip", "neg", "reciprocal"})
      all[op] = {prepareEltwise, one};
    for (const char *op : {"add", "sub", "mul", "div", "max", "min"})
      all[op] = {prepareBinary, one};
    for (const char *op : {"sum", "mean", "max", "min", "prod", "l1", "l2", "sum_square"})
      all[std::string("reduce_") + op] = {prepareReduction, one, true};
    for (auto &[op, entry] : all)
      for (const std::string &variant : numberedImplementations())
        entry.variants.push_back(variant);
    return all;
  }();
  return table;
}

/// The activation layout from both request and variant; declines if they contradict each other.
Outcome<ActivationLayout> layoutOf(const Problem &problem, const ProviderRequest &request) {
  ActivationLayout fixed = request.variant == "plain"           ? ActivationLayout::row
                           : request.variant == "channels_last" ? ActivationLayout::channelsLast
                                                                : ActivationLayout::any;
  if (request.layout == ActivationLayout::any)
    return fixed;
  if (fixed != ActivationLayout::any && fixed != request.layout)
    return NotApplicable{fmt::format("variant '{}' is the layout {}", request.variant, name(fixed))};
  size_t rank = problem.operands[0].dims.size();
  if (request.layout != ActivationLayout::row && (entries().at(problem.op).rowOnly || rank < 3 || rank > 5))
    return NotApplicable{fmt::format("oneDNN is given row-major activations for {} of {} axes", problem.op, rank)};
  return request.layout;
}

/// Why oneDNN does not get a product of 8-bit integers; "" if it does.
std::string declineBytes(const Problem &problem) {
  if (problem.operands.size() > 2)
    return "zero points are not implemented";
  if (problem.operands[1].type != ElementType::i8)
    return "oneDNN's weights of 8 bits are s8";
  return "";
}

/// Sets the number of OpenMP threads, for any OpenMP library.
void setThreads(int count) {
  auto set = reinterpret_cast<void (*)(int)>(::dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  require(set != nullptr, "this oneDNN does not use OpenMP: its threads cannot be set");
  set(count);
}

class OneDnn : public Provider {
public:
  std::string name() const override { return "onednn"; }
  std::string version() const override {
    const dnnl_version_t *found = dnnl_version();
    return fmt::format("{}.{}.{}", found->major, found->minor, found->patch);
  }
  std::map<std::string, std::vector<std::string>> variants() const override {
    std::map<std::string, std::vector<std::string>> result;
    for (auto &[op, entry] : entries())
      result[op] = entry.variants;
    return result;
  }
  nlohmann::json settings() const override {
    return {{"isa", dnnl_cpu_isa2str(static_cast<dnnl_cpu_isa_t>(dnnl::get_effective_cpu_isa()))},
            {"threading", "OpenMP"}};
  }

  std::vector<ActivationLayout> layouts() const override {
    return {ActivationLayout::row, ActivationLayout::blocked, ActivationLayout::channelsLast};
  }

  Outcome<std::string> prepare(const Problem &problem, const ProviderRequest &request,
                               const ProblemInputs &inputs) override {
    job.reset();
    if (problem.op.ends_with("_integer")) {
      if (auto reason = declineBytes(problem); !reason.empty())
        return NotApplicable{reason};
    } else {
      for (auto &operand : problem.operands)
        if (operand.type != ElementType::f32 && operand.type != ElementType::bf16)
          return NotApplicable{
              fmt::format("only f32 and bf16 are implemented, '{}' is {}", operand.name, lathe::name(operand.type))};
    }
    auto layout = layoutOf(problem, request);
    if (!layout)
      return NotApplicable{layout.reason()};
    setThreads(request.threads);
    given = problem;
    values = inputs;
    chosenVariant = request.variant;
    try {
      auto next = std::make_unique<Job>(given, values, chosenVariant, *layout);
      auto made = entries().at(problem.op).prepare(*next);
      if (made)
        job = std::move(next);
      return made;
    } catch (const Declined &declined) {
      return NotApplicable{declined.reason};
    } catch (const dnnl::error &error) {
      if (error.status != dnnl_unimplemented)
        throw;
      return NotApplicable{fmt::format("oneDNN has no {} implementation of it for this processor, layout {}",
                                       chosenVariant, lab::name(*layout))};
    }
  }

  void run() override {
    job->primitive.execute(job->stream, job->arguments);
    job->stream.wait();
  }

  std::vector<Tensor> outputs() override { return job->outputs(); }
  std::optional<std::vector<std::span<const char>>> constants() const override { return job->constants(); }

private:
  Problem given; // a job refers to all three
  ProblemInputs values;
  std::string chosenVariant;
  std::unique_ptr<Job> job;
};

} // namespace

int main() {
  OneDnn provider;
  return serveProvider(provider);
}
