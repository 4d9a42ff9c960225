#include "runtime/Model.h"

#include "runtime/Loader.h"
#include "runtime/plan/Program.h"

namespace lathe::runtime {

namespace {

/// Reads the quantisation of a port from the plan's `text`. `file` is for messages.
Quantization quantizationOf(const Port &port, const std::string &text, const std::string &file) {
  Quantization how;
  try {
    how = Quantization::parse(text);
  } catch (const Error &error) {
    fail("{}: malformed plan: '{}': {}", file, port.name, error.what());
  }
  bool fits = !how.perChannel() || (size_t(how.axis) < port.dims.size() &&
                                    port.dims[size_t(how.axis)] == Dim(static_cast<int64_t>(how.scales.size())));
  require(port.tensor() && isInteger(port.type) && fits,
          "{}: malformed plan: '{}' is no tensor of integers with {} channels along axis {}", file, port.name,
          how.scales.size(), how.axis);
  return how;
}

} // namespace

struct Model::State {
  std::string file;
  LoadedPackage package;
  Program program;
  std::vector<Port> inputs, outputs;

  State(LoadedPackage loaded, const std::string &name) : file(name), package(std::move(loaded)) {
    program = decodeProgram(package.plan, package.constants.size(), name);
    package.plan = {};
    require(program.kernelCount == 0 || !package.entries.empty(), "{}: malformed: {} kernels and no code", name,
            program.kernelCount);
    require(program.kernelCount == package.entries.size(), "{}: malformed: {} kernels and code for {}", name,
            program.kernelCount, package.entries.size());
    // The last plan is the general plan: its extents are symbolic where other plans have fixed extents.
    const Plan &plan = program.plans.back();
    auto ports = [&](const std::vector<uint32_t> &values) {
      std::vector<Port> result;
      for (uint32_t index : values) {
        const ValueInfo &info = plan.values[index];
        Port port{info.name, info.type, {}, info.kind};
        for (Extent extent : info.dims)
          port.dims.push_back(plan.extents[extent]);
        if (!info.quantization.empty())
          port.quantization = quantizationOf(port, info.quantization, name);
        result.push_back(std::move(port));
      }
      return result;
    };
    inputs = ports(plan.inputs);
    outputs = ports(plan.outputs);
  }
};

Model::Model() = default;
Model::~Model() = default;

std::shared_ptr<const Model> Model::load(const std::string &path, const LoadOptions &options) {
  std::shared_ptr<Model> model(new Model);
  model->state = std::make_unique<State>(loadPackageFile(path, options), options.name.empty() ? path : options.name);
  return model;
}

std::shared_ptr<const Model> Model::fromBytes(std::span<const char> bytes, const std::string &name,
                                              std::shared_ptr<const void> keepAlive, const LoadOptions &options) {
  std::shared_ptr<Model> model(new Model);
  model->state = std::make_unique<State>(loadPackageBytes(bytes, name, std::move(keepAlive), options), name);
  return model;
}

std::span<const Port> Model::inputs() const { return state->inputs; }
std::span<const Port> Model::outputs() const { return state->outputs; }

namespace {
std::optional<size_t> find(std::span<const Port> ports, const std::string &name) {
  for (size_t i = 0; i < ports.size(); ++i)
    if (ports[i].name == name)
      return i;
  return std::nullopt;
}
} // namespace

std::optional<size_t> Model::findInput(const std::string &name) const { return find(state->inputs, name); }
std::optional<size_t> Model::findOutput(const std::string &name) const { return find(state->outputs, name); }
const std::string &Model::file() const { return state->file; }
const std::string &Model::target() const { return state->package.target; }
const std::string &Model::producer() const { return state->program.producer; }
const std::string &Model::source() const { return state->program.model; }
const std::string &Model::options() const { return state->program.options; }
int Model::plannedThreads() const { return state->program.threads; }
const std::string &Model::machine() const { return state->program.machine; }
std::optional<uint64_t> Model::contentHash() const { return state->package.contentHash; }
uint64_t Model::constantBytes() const { return state->package.constants.size(); }
uint64_t Model::codeBytes() const { return state->package.code.bytes(); }
const Program &Model::program() const { return state->program; }
const char *Model::constants() const { return state->package.constants.data(); }
LatheKernel Model::kernel(uint32_t number) const {
  return state->package.code.kernelAt(state->package.entries[number]);
}

} // namespace lathe::runtime
