// Lathe's own kernels as a provider: one kernel function is generated and linked as `lathe compile` does, and run by
// the runtime's threads. Activations stay in the layout that a network around the operator would keep them in.
#include "codegen/Emit.h"
#include "codegen/Generate.h"
#include "ir/Context.h"
#include "lab/providers/Provider.h"
#include "ops/Lowerings.h"
#include "package/KernelAbi.h"
#include "runtime/Cpu.h"
#include "runtime/ThreadPool.h"

#include "mlir/Parser/Parser.h"

#include <cstring>
#include <optional>
#include <sys/mman.h>

using namespace lathe;
using namespace lathe::lab;

namespace {

/// Machine code mapped executable for the life of the object.
class MappedCode {
public:
  explicit MappedCode(const CodeImage &image) : size(image.bytes.size()) {
    memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(memory != MAP_FAILED, "no memory for {} bytes of code", size);
    std::memcpy(memory, image.bytes.data(), size);
    require(::mprotect(memory, size, PROT_READ | PROT_EXEC) == 0, "memory cannot be made executable");
    entry = reinterpret_cast<LatheKernel>(static_cast<char *>(memory) + image.entries.at(0));
  }
  ~MappedCode() { ::munmap(memory, size); }
  MappedCode(const MappedCode &) = delete;
  MappedCode &operator=(const MappedCode &) = delete;
  LatheKernel entry = nullptr;

private:
  void *memory = nullptr;
  size_t size = 0;
};

/// How activations lie in memory: row-major (block 0) or channels in blocks, innermost.
struct Layout {
  int64_t block = 0;

  std::string type(const std::vector<int64_t> &dims) const {
    return fmt::format("tensor<{}xf32{}>", fmt::join(dims, "x"),
                       block ? fmt::format(", #nn.blocked<1, {}>", block) : "");
  }
  std::string name() const { return block ? fmt::format("nChw{}c", block) : "nchw"; }
  int64_t channels(const std::vector<int64_t> &dims) const {
    return block ? (dims[1] + block - 1) / block * block : dims[1];
  }
  /// A tensor for the stored form, zero.
  Tensor storage(const std::vector<int64_t> &dims) const {
    Tensor tensor(ElementType::f32, {dims[0] * channels(dims) * dims[2] * dims[3]});
    std::memset(tensor.data(), 0, static_cast<size_t>(tensor.bytes()));
    return tensor;
  }
  int64_t offset(const std::vector<int64_t> &dims, int64_t n, int64_t c, int64_t pixel) const {
    int64_t pixels = dims[2] * dims[3];
    if (!block)
      return (n * dims[1] + c) * pixels + pixel;
    return ((n * (channels(dims) / block) + c / block) * pixels + pixel) * block + c % block;
  }
  /// Calls move(row-major index, stored index) for every element.
  template <class Move> void forEach(const std::vector<int64_t> &dims, Move move) const {
    int64_t row = 0;
    for (int64_t n = 0; n < dims[0]; ++n)
      for (int64_t c = 0; c < dims[1]; ++c)
        for (int64_t pixel = 0; pixel < dims[2] * dims[3]; ++pixel)
          move(row++, offset(dims, n, c, pixel));
  }
};

struct Job {
  LatheKernel kernel;
  void *const *buffers;
  char *scratch;
  size_t scratchStride;
};

class LatheProvider : public Provider {
public:
  std::string name() const override { return "lathe"; }
  std::string version() const override { return LATHE_VERSION; }
  std::map<std::string, std::vector<std::string>> variants() const override {
    return {{"conv2d", {"auto", "direct", "plain"}}};
  }
  nlohmann::json settings() const override { return {{"target", target.str()}}; }

  Outcome<std::string> prepare(const ConvProblem &problem, const std::string &variant, int threads,
                               const ProblemInputs &inputs) override {
    code.reset();
    Layout row, blocked{int64_t(target.channelBlock())};
    // What a network keeps: blocked, and row-major images into the first layer.
    std::vector<std::pair<Layout, Layout>> choices = {{blocked, blocked}, {row, blocked}, {row, row}};
    if (variant == "plain")
      choices = {{row, row}};
    else if (problem.inChannels < blocked.block / 2)
      std::swap(choices[0], choices[1]);
    std::string reasons;
    for (auto &[in, out] : choices) {
      auto made = make(problem, in, out, variant == "direct", threads, inputs);
      if (made)
        return made;
      reasons += fmt::format("{}{} to {}: {}", reasons.empty() ? "" : "; ", in.name(), out.name(), made.reason());
    }
    return NotApplicable{reasons};
  }

  void run() override {
    Job job{code->entry, buffers.data(), scratchStride ? scratch.as<char>() : nullptr, scratchStride};
    pool->run(
        units,
        [](void *context, int slot, int64_t begin, int64_t end) {
          auto *job = static_cast<Job *>(context);
          runtime::KernelFloatMode mode;
          job->kernel(job->buffers, nullptr, begin, end,
                      job->scratch ? job->scratch + size_t(slot) * job->scratchStride : nullptr);
        },
        &job);
  }

  Tensor output() override {
    Tensor y(ElementType::f32, outputDims);
    const float *from = operands.back().as<float>();
    outputLayout.forEach(outputDims, [&](int64_t row, int64_t stored) { y.as<float>()[row] = from[stored]; });
    return y;
  }

private:
  /// The kernel as passes/Partition would leave it.
  static std::string kernelText(const ConvProblem &p, Layout in, Layout out) {
    std::string x = in.type(p.inputDims()), w = Layout{}.type(p.weightDims()), y = out.type(p.outputDims());
    std::string b = fmt::format("tensor<{}xf32>", p.outChannels);
    std::string text = fmt::format(
        "func.func private @k(%x: {}, %w: {} {{nn.constant}}{}) -> {} attributes {{nn.family = \"contraction\"}} {{\n",
        x, w, p.bias ? ", %b: " + b + " {nn.constant}" : "", y);
    text += fmt::format("  %0 = nn.conv %x, %w{} {{strides = array<i64: {}, {}>, dilations = array<i64: {}, {}>, pads "
                        "= array<i64: {}, {}, {}, {}>, "
                        "group = {} : i64}} : ({}, {}{}) -> {}\n",
                        p.bias ? ", %b" : "", p.strideHeight, p.strideWidth, p.dilationHeight, p.dilationWidth,
                        p.padTop, p.padLeft, p.padBottom(), p.padRight(), p.groups, x, w, p.bias ? ", " + b : "", y);
    if (p.relu)
      text += fmt::format("  %1 = nn.relu %0 : ({0}) -> {0}\n", y);
    return text + fmt::format("  return %{} : {}\n}}\n", p.relu ? 1 : 0, y);
  }

  Outcome<std::string> make(const ConvProblem &p, Layout in, Layout out, bool exactMath, int threads,
                            const ProblemInputs &inputs) {
    std::unique_ptr<mlir::MLIRContext> context = makeContext();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(kernelText(p, in, out), context.get());
    require(bool(module), "the kernel's text is not understood");
    mlir::func::FuncOp function = *module->getOps<mlir::func::FuncOp>().begin();
    KernelProblem problem{function, target, threads, exactMath};
    Outcome<Schedule> schedule = priorSchedule(problem);
    if (!schedule)
      return NotApplicable{schedule.reason()};
    Outcome<GeneratedKernel> kernel = generate(problem, *schedule);
    if (!kernel)
      return NotApplicable{kernel.reason()};
    code.emplace(linkImage({emitObject(*kernel->module, target)}, target));

    operands.clear();
    buffers.clear();
    operands.push_back(in.storage(p.inputDims()));
    in.forEach(p.inputDims(),
               [&](int64_t row, int64_t stored) { operands[0].as<float>()[stored] = inputs.x.as<float>()[row]; });
    auto constant = [&](const Tensor &tensor) {
      auto &packing = kernel->packings.at(operands.size());
      if (!packing) {
        operands.push_back(tensor);
        return;
      }
      nn::ConstantData data{ElementType::f32, tensor.dims(),
                            llvm::ArrayRef<char>(static_cast<const char *>(tensor.data()), size_t(tensor.bytes())),
                            false};
      std::vector<char> packed = packing->pack(data);
      Tensor stored(ElementType::u8, {int64_t(packed.size())});
      std::memcpy(stored.data(), packed.data(), packed.size());
      operands.push_back(stored);
    };
    constant(inputs.w);
    if (p.bias)
      constant(inputs.b);
    operands.push_back(out.storage(p.outputDims()));
    for (Tensor &operand : operands)
      buffers.push_back(operand.data());
    outputDims = p.outputDims();
    outputLayout = out;
    units = kernel->units.constant();
    scratchStride = size_t(kernel->scratchBytes.constant() + 63) / 64 * 64;
    scratch = Tensor(ElementType::u8, {std::max<int64_t>(1, int64_t(scratchStride) * threads)});
    if (!pool || pool->slots() != threads)
      pool = std::make_unique<runtime::ThreadPool>(threads);
    return fmt::format("{} {} to {}", kernel->schedule.str(), in.name(), out.name());
  }

  Target target = Target::parse("native");
  std::optional<MappedCode> code;
  std::unique_ptr<runtime::ThreadPool> pool;
  std::vector<Tensor> operands; // inputs, constants as packed, output
  std::vector<void *> buffers;
  std::vector<int64_t> outputDims;
  Layout outputLayout;
  int64_t units = 0;
  size_t scratchStride = 0;
  Tensor scratch;
};

} // namespace

int main() {
  registerLowerings();
  LatheProvider provider;
  return serveProvider(provider);
}
