// oneDNN as a provider. `auto`, `direct` and `winograd` let it choose the layout of the activations, and reorders are
// made while preparing; `plain` fixes it to row-major. Weights are always packed as it likes.
#include "lab/ConvProblem.h"
#include "lab/providers/Provider.h"

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.hpp>
#include <oneapi/dnnl/dnnl_debug.h>

#include <cstring>
#include <optional>

using namespace lathe;
using namespace lathe::lab;
using Tag = dnnl::memory::format_tag;

namespace {

/// "nChw16c": the name of a layout that convolutions use, or "other".
std::string layoutName(const dnnl::memory::desc &layout) {
  const std::pair<Tag, const char *> names[] = {{Tag::nchw, "nchw"},
                                                {Tag::nhwc, "nhwc"},
                                                {Tag::nChw16c, "nChw16c"},
                                                {Tag::nChw8c, "nChw8c"},
                                                {Tag::nChw4c, "nChw4c"}};
  for (auto &[tag, name] : names)
    if (layout == dnnl::memory::desc(layout.dims(), dnnl::memory::data_type::f32, tag))
      return name;
  return "other";
}

/// How many threads OpenMP uses from now on, whichever OpenMP the library was built with.
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
    return {{"conv", {"auto", "direct", "winograd", "plain"}}};
  }
  nlohmann::json settings() const override {
    return {{"isa", dnnl_cpu_isa2str(static_cast<dnnl_cpu_isa_t>(dnnl::get_effective_cpu_isa()))},
            {"threading", "OpenMP"}};
  }

  Outcome<std::string> prepare(const Problem &problem, const std::string &variant, int threads,
                               const ProblemInputs &inputs) override {
    auto conv = convOf(problem);
    if (!conv)
      return NotApplicable{"only two-dimensional convolutions with at most a relu behind them are implemented"};
    const ConvProblem &p = *conv;
    for (auto &operand : problem.operands)
      if (operand.type != ElementType::f32)
        return NotApplicable{"only f32 is implemented"};
    primitive = {};
    arguments.clear();
    setThreads(threads);
    using dims = dnnl::memory::dims;
    auto f32 = dnnl::memory::data_type::f32;
    dims x{p.batch, p.inChannels, p.inHeight, p.inWidth}, y{p.batch, p.outChannels, p.outHeight, p.outWidth};
    dims w{p.outChannels, p.inChannels, p.kernelHeight, p.kernelWidth};
    Tag weightTag = Tag::oihw;
    if (p.groups > 1) {
      w = {p.groups, p.outChannels / p.groups, p.inChannels / p.groups, p.kernelHeight, p.kernelWidth};
      weightTag = Tag::goihw;
    }
    Tag free = variant == "plain" ? Tag::nchw : Tag::any;
    dnnl::memory::desc anyX(x, f32, free), anyW(w, f32, Tag::any), anyY(y, f32, free),
        anyB({p.outChannels}, f32, Tag::x);
    auto algorithm = variant == "winograd" ? dnnl::algorithm::convolution_winograd
                     : variant == "direct" ? dnnl::algorithm::convolution_direct
                                           : dnnl::algorithm::convolution_auto;
    dims strides{p.strideHeight, p.strideWidth}, dilations{p.dilationHeight - 1, p.dilationWidth - 1};
    dims before{p.padTop, p.padLeft}, after{p.padBottom, p.padRight};
    dnnl::primitive_attr attributes;
    if (p.relu) {
      dnnl::post_ops after;
      after.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
      attributes.set_post_ops(after);
    }
    dnnl::convolution_forward::primitive_desc description;
    try {
      auto kind = dnnl::prop_kind::forward_inference;
      auto request = p.bias ? dnnl::convolution_forward::desc(kind, algorithm, anyX, anyW, anyB, anyY, strides,
                                                              dilations, before, after)
                            : dnnl::convolution_forward::desc(kind, algorithm, anyX, anyW, anyY, strides, dilations,
                                                              before, after);
      description = {request, attributes, engine};
    } catch (const dnnl::error &error) {
      if (error.status != dnnl_unimplemented)
        throw;
      return NotApplicable{"oneDNN has no " + variant + " implementation of it for this processor"};
    }
    primitive = dnnl::convolution_forward(description);

    auto give = [&](int argument, const Tensor &tensor, const dnnl::memory::desc &plain,
                    const dnnl::memory::desc &wanted) {
      dnnl::memory from(plain, engine, const_cast<void *>(tensor.data())), to(wanted, engine);
      dnnl::reorder(from, to).execute(stream, from, to);
      stream.wait();
      arguments[argument] = to;
    };
    give(DNNL_ARG_SRC, inputs[0], {x, f32, Tag::nchw}, description.src_desc());
    give(DNNL_ARG_WEIGHTS, inputs[1], {w, f32, weightTag}, description.weights_desc());
    if (p.bias)
      give(DNNL_ARG_BIAS, inputs[2], anyB, description.bias_desc());
    arguments[DNNL_ARG_DST] = dnnl::memory(description.dst_desc(), engine);
    result = Tensor(ElementType::f32, p.outputDims());
    return fmt::format("{} {} to {}", description.impl_info_str(), layoutName(description.src_desc()),
                       layoutName(description.dst_desc()));
  }

  void run() override {
    primitive.execute(stream, arguments);
    stream.wait();
  }

  std::vector<Tensor> outputs() override {
    dnnl::memory from = arguments.at(DNNL_ARG_DST);
    dnnl::memory to({from.get_desc().dims(), dnnl::memory::data_type::f32, Tag::nchw}, engine, result.data());
    dnnl::reorder(from, to).execute(stream, from, to);
    stream.wait();
    return {result};
  }

private:
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::convolution_forward primitive;
  std::unordered_map<int, dnnl::memory> arguments;
  Tensor result;
};

} // namespace

int main() {
  OneDnn provider;
  return serveProvider(provider);
}
