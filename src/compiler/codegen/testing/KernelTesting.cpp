#include "codegen/testing/KernelTesting.h"

#include "codegen/testing/KernelEmulation.h"
#include "ir/Context.h"
#include "ir/SymbolicShapes.h"
#include "ops/Reference.h"
#include "schedule/Algorithms.h"
#include "support/Error.h"

#include "mlir/Parser/Parser.h"

#include <cmath>
#include <cstring>
#include <optional>
#include <sys/mman.h>
#include <unistd.h>

namespace lathe {

LoadedKernel::LoadedKernel(mlir::ModuleOp module, const Target &target) {
  CodeImage image = linkImage({emitObject(module, target)}, target);
  kernel = std::make_unique<runtime::MappedKernel>(image.bytes, image.entries.at(0));
}

GuardedBuffer::GuardedBuffer(size_t bytes, bool aligned) : length(bytes), toLine(aligned) {
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t inside = (bytes + 64 + page - 1) / page * page;
  mapped = inside + 2 * page;
  mapping = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(mapping != MAP_FAILED, "no memory for a buffer of {} bytes", bytes);
  char *first = static_cast<char *>(mapping) + page;
  mprotect(first, inside, PROT_READ | PROT_WRITE);
  std::memset(first, 0xff, inside);
  start = first + inside - (aligned ? (bytes + 63) / 64 * 64 : bytes);
}

GuardedBuffer::GuardedBuffer(GuardedBuffer &&other) noexcept
    : mapping(other.mapping), mapped(other.mapped), length(other.length), start(other.start), toLine(other.toLine) {
  other.mapping = nullptr;
}

GuardedBuffer::~GuardedBuffer() {
  if (mapping)
    munmap(mapping, mapped);
}

// ---- Kernels from text ----

namespace {

/// Calls visit(logical index, physical index) for every element of a tensor in blocks of `block` channels.
void forBlocked(const std::vector<int64_t> &dims, int64_t block, const std::function<void(int64_t, int64_t)> &visit) {
  int64_t spatial = 1;
  for (size_t i = 2; i < dims.size(); ++i)
    spatial *= dims[i];
  int64_t blocks = (dims[1] + block - 1) / block;
  for (int64_t n = 0; n < dims[0]; ++n)
    for (int64_t c = 0; c < dims[1]; ++c)
      for (int64_t s = 0; s < spatial; ++s)
        visit((n * dims[1] + c) * spatial + s, ((n * blocks + c / block) * spatial + s) * block + c % block);
}

int64_t storedElements(const std::vector<int64_t> &dims, int64_t block) {
  int64_t count = 1;
  for (size_t i = 0; i < dims.size(); ++i)
    count *= block && i == 1 ? (dims[1] + block - 1) / block * block : dims[i];
  return count;
}

int64_t blockOf(mlir::Value value) {
  auto layout = nn::layoutOf(value);
  return layout ? layout.getSize() : 0;
}

Tensor tensorOf(const nn::ConstantData &data) {
  Tensor result(data.type, data.dims);
  size_t width = bitWidth(data.type) / 8;
  for (int64_t i = 0; i < result.elements(); ++i)
    std::memcpy(static_cast<char *>(result.data()) + i * width, data.bytes.data() + (data.splat ? 0 : i * width),
                width);
  return result;
}

} // namespace

KernelUnderTest::KernelUnderTest(const std::string &text, const Target &target, uint64_t seed, int threads)
    : target(target), context(makeContext()), random(seed), threads(threads) {
  module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(context.get()));
  require(static_cast<bool>(module), "the kernel's text does not parse:\n{}", text);
  module->walk([&](mlir::func::FuncOp candidate) {
    if (candidate->hasAttr("nn.family"))
      func = candidate;
  });
  require(static_cast<bool>(func), "no function with nn.family in:\n{}", text);
}

KernelUnderTest::~KernelUnderTest() = default;

std::string KernelUnderTest::declined(const std::string &text) {
  Outcome<Schedule> schedule = text.empty() ? priorSchedule(problem()) : Outcome<Schedule>(readSchedule(text));
  if (!schedule)
    return schedule.reason();
  Outcome<GeneratedKernel> kernel = generate(problem(), *schedule);
  return kernel ? "" : kernel.reason();
}

struct KernelUnderTest::Prepared {
  CodeImage image;                    // if the code is for another architecture
  std::unique_ptr<LoadedKernel> code; // if this machine runs the code
  std::vector<GuardedBuffer> memory;  // without buffers of another kernel
  std::vector<void *> buffers;        // of arguments and results
  std::vector<std::pair<char *, size_t>> packed;
  std::vector<int64_t> dims;
  int64_t units = 0, scratchBytes = 0, stages = 1;
  struct Result {
    ElementType type;
    std::vector<int64_t> dims;
    int64_t block;
  };
  std::vector<Result> results;

  std::vector<Tensor> rowMajorResults() const;
};

std::unique_ptr<KernelUnderTest::Prepared>
KernelUnderTest::prepare(std::span<const Tensor> inputs, const std::string &text, bool aligned, const Prepared *like) {
  Outcome<Schedule> schedule = text.empty() ? priorSchedule(problem()) : Outcome<Schedule>(readSchedule(text));
  require(schedule.done(), "declined: {}", schedule ? "" : schedule.reason());
  Outcome<GeneratedKernel> kernel = generate(problem(), *schedule);
  require(kernel.done(), "declined: {}", kernel ? "" : kernel.reason());

  std::map<std::string, int64_t> symbols;
  auto result = std::make_unique<Prepared>();
  for (unsigned i = 0; i < func.getNumArguments(); ++i) {
    Dims dims = nn::argumentDims(func, i);
    for (size_t axis = 0; axis < dims.size(); ++axis)
      if (!dims[axis].isConstant())
        symbols.emplace(dims[axis].str(), inputs[i].dim(axis));
  }
  auto value = [&](const Dim &dim) {
    return dim.evaluate([&](const std::string &symbol) { return symbols.at(symbol); });
  };

  for (unsigned i = 0; i < func.getNumArguments(); ++i) {
    const Tensor &input = inputs[i];
    int64_t block = blockOf(func.getArgument(i)), width = bitWidth(input.type()) / 8;
    const char *from = static_cast<const char *>(input.data());
    if (kernel->packings.at(i)) {
      nn::ConstantData data{input.type(), input.dims(), llvm::ArrayRef<char>(from, input.bytes()), false};
      std::vector<char> packed = kernel->packings[i]->pack(data);
      result->memory.emplace_back(packed.size(), true);
      std::memcpy(result->memory.back().data(), packed.data(), packed.size());
      result->packed.emplace_back(result->memory.back().data(), packed.size());
    } else if (like) {
      result->buffers.push_back(like->buffers[i]);
      continue;
    } else {
      result->memory.emplace_back(storedElements(input.dims(), block) * width, aligned);
      char *to = result->memory.back().data();
      if (block)
        forBlocked(input.dims(), block, [&](int64_t logical, int64_t physical) {
          std::memcpy(to + physical * width, from + logical * width, width);
        });
      else
        std::memcpy(to, from, input.bytes());
    }
    result->buffers.push_back(result->memory.back().data());
  }
  mlir::Operation *terminator = func.getBody().front().getTerminator();
  for (unsigned i = 0; i < terminator->getNumOperands(); ++i) {
    Prepared::Result r{nn::infoOf(terminator->getOperand(i)).type, {}, blockOf(terminator->getOperand(i))};
    for (const Dim &dim : dimsOf(func, func.getNumArguments() + i))
      r.dims.push_back(value(dim));
    result->results.push_back(r);
    if (like) {
      result->buffers.push_back(like->buffers[result->buffers.size()]);
      continue;
    }
    result->memory.emplace_back(storedElements(r.dims, r.block) * bitWidth(r.type) / 8, aligned);
    result->buffers.push_back(result->memory.back().data());
  }
  for (const Dim &dim : kernel->dims)
    result->dims.push_back(value(dim));
  result->units = value(kernel->units);
  result->scratchBytes = value(kernel->scratchBytes);
  result->stages = value(kernel->stages);
  if (change)
    change(*kernel->module);
  if (needsEmulator(target))
    result->image = linkImage({emitObject(*kernel->module, target)}, target);
  else
    result->code = std::make_unique<LoadedKernel>(*kernel->module, target);
  return result;
}

std::vector<Tensor> KernelUnderTest::run(std::span<const Tensor> inputs, const std::string &schedule) {
  auto prepared = prepare(inputs, schedule);
  // Slots get shares of random size in random order, because units of a stage must be independent.
  std::vector<std::pair<int64_t, int64_t>> slots;
  int64_t stageUnits = prepared->units / prepared->stages;
  for (int64_t stage = 0; stage < prepared->stages && stageUnits > 0; ++stage) {
    auto first = static_cast<int64_t>(slots.size());
    for (int64_t at = 0; at < stageUnits;) {
      int64_t size = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(stageUnits));
      slots.emplace_back(stage * stageUnits + at, stage * stageUnits + std::min(stageUnits, at + size));
      at += size;
    }
    std::shuffle(slots.begin() + first, slots.end(), random);
  }
  if (prepared->code) {
    std::optional<GuardedBuffer> scratch; // of the slot, or of all stages
    for (auto [begin, end] : slots) {
      if (!scratch || prepared->stages == 1)
        scratch.emplace(prepared->scratchBytes, true);
      prepared->code->call(prepared->buffers.data(), prepared->dims.data(), begin, end, scratch->data());
    }
  } else {
    if (prepared->stages > 1) // the emulator has a scratch for each call
      slots = {{0, prepared->units}};
    runEmulated(prepared->image, target, prepared->memory, prepared->dims, slots, prepared->scratchBytes);
  }
  return prepared->rowMajorResults();
}

std::vector<Tensor> KernelUnderTest::Prepared::rowMajorResults() const {
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    const Result &r = results[i];
    Tensor output(r.type, r.dims);
    char *to = static_cast<char *>(output.data());
    const char *from = static_cast<const char *>(buffers[buffers.size() - results.size() + i]);
    int64_t width = bitWidth(r.type) / 8;
    if (r.block)
      forBlocked(r.dims, r.block, [&](int64_t logical, int64_t physical) {
        std::memcpy(to + logical * width, from + physical * width, width);
      });
    else
      std::memcpy(to, from, output.bytes());
    outputs.push_back(output);
  }
  return outputs;
}

KernelUnderTest::Trial::Trial(std::unique_ptr<Prepared> prepared) : prepared(std::move(prepared)) {}
KernelUnderTest::Trial::~Trial() = default;

std::unique_ptr<KernelUnderTest::Trial> KernelUnderTest::trial(std::span<const Tensor> inputs,
                                                               const std::string &schedule, const Trial *like) {
  auto prepared = prepare(inputs, schedule, true, like ? like->prepared.get() : nullptr);
  require(prepared->code != nullptr, "code for {} does not run here", target.str());
  return std::unique_ptr<Trial>(new Trial(std::move(prepared)));
}

/// Bytes of scratch of one thread, rounded up to cache lines. With stages, the threads share one scratch.
static int64_t scratchOfThread(int64_t bytes) { return (bytes + 63) / 64 * 64; }

void KernelUnderTest::Trial::call(runtime::ThreadPool &pool, char *scratch) const {
  const Prepared &p = *prepared;
  size_t stride = p.stages > 1 ? 0 : scratchOfThread(p.scratchBytes);
  p.code->run(pool, {p.buffers.data(), p.dims.data(), p.units, p.stages, scratch, stride});
}

int64_t KernelUnderTest::Trial::scratchBytes(const runtime::ThreadPool &pool) const {
  return prepared->stages > 1 ? prepared->scratchBytes : pool.slots() * scratchOfThread(prepared->scratchBytes);
}
std::vector<Tensor> KernelUnderTest::Trial::results() const { return prepared->rowMajorResults(); }

void KernelUnderTest::Trial::spoilResults() const {
  for (size_t i = 0; i < prepared->results.size(); ++i) {
    const Prepared::Result &r = prepared->results[i];
    std::memset(prepared->buffers[prepared->buffers.size() - prepared->results.size() + i], 0xff,
                storedElements(r.dims, r.block) * bitWidth(r.type) / 8);
  }
}

void KernelUnderTest::Trial::evictPacked() const {
#ifdef __x86_64__
  for (auto [start, bytes] : prepared->packed)
    for (size_t at = 0; at < bytes; at += 64)
      __builtin_ia32_clflush(start + at);
  __builtin_ia32_mfence();
#endif
}

KernelUnderTest::Lines KernelUnderTest::lines(std::span<const Tensor> inputs, int slots) {
  auto prepared = prepare(inputs, "");
  require(prepared->code != nullptr, "code for {} does not run here", target.str());
  constexpr size_t line = 64;
  constexpr int none = -1, several = -2;
  std::vector<std::vector<int>> writers; // by result and line; results are aligned to lines in a program
  std::vector<std::vector<char>> before;
  for (size_t i = inputs.size(); i < prepared->memory.size(); ++i) {
    GuardedBuffer &buffer = prepared->memory[i];
    writers.emplace_back((buffer.bytes() + line - 1) / line, none);
    before.emplace_back(buffer.data(), buffer.data() + buffer.bytes());
  }
  Lines result;
  int64_t stageUnits = prepared->units / prepared->stages;
  slots = static_cast<int>(std::min<int64_t>(slots, stageUnits));
  std::vector<int64_t> own(slots);
  std::optional<GuardedBuffer> scratch; // of the slot, or of all stages
  for (int64_t call = 0; call < prepared->stages * slots; ++call) {
    auto slot = static_cast<int>(call % slots);
    int64_t first = call / slots * stageUnits;
    if (!scratch || prepared->stages == 1)
      scratch.emplace(prepared->scratchBytes, true);
    prepared->code->call(prepared->buffers.data(), prepared->dims.data(), first + stageUnits * slot / slots,
                         first + stageUnits * (slot + 1) / slots, scratch->data());
    for (size_t i = 0; i < writers.size(); ++i) {
      const char *now = prepared->memory[inputs.size() + i].data();
      for (size_t at = 0; at < before[i].size(); at += line) {
        size_t bytes = std::min(line, before[i].size() - at);
        int &writer = writers[i][at / line];
        if (std::memcmp(now + at, before[i].data() + at, bytes) == 0)
          continue;
        std::memcpy(before[i].data() + at, now + at, bytes);
        if (writer == slot)
          continue;
        writer = writer == none ? slot : several;
        ++own[slot];
      }
    }
  }
  if (slots > 0)
    result.most = *std::max_element(own.begin(), own.end());
  for (const std::vector<int> &slotOf : writers)
    for (int writer : slotOf) {
      result.written += writer != none;
      result.shared += writer == several;
    }
  return result;
}

KernelUnderTest::Evaluated KernelUnderTest::evaluated(std::span<const Tensor> inputs,
                                                      const std::function<Tensor(Tensor, size_t)> &change) {
  Evaluated evaluated;
  llvm::DenseMap<mlir::Value, Value> values;
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    values[func.getArgument(i)] = Value(inputs[i]);
  for (mlir::Operation &op : func.getBody().front().without_terminator()) {
    if (auto constant = llvm::dyn_cast<nn::ConstantOp>(op)) {
      values[constant.getOutput()] = Value(tensorOf(nn::constantData(constant.getValue())));
    } else if (auto convert = llvm::dyn_cast<nn::ConvertLayoutOp>(op)) {
      values[convert.getOutput()] = values[convert.getInput()];
    } else {
      std::vector<Value> held;
      std::vector<const Value *> operands;
      for (mlir::Value operand : nn::operandsByRecord(&op))
        held.push_back(operand ? values[operand] : Value());
      auto byRecord = nn::operandsByRecord(&op);
      for (size_t i = 0; i < held.size(); ++i)
        operands.push_back(byRecord[i] ? &held[i] : nullptr);
      std::string_view lowering = nn::recordOf(&op)->lowering;
      bool anchor = lowering == "contraction" || lowering == "attention";
      for (size_t i = 0; anchor && i < (lowering == "attention" ? 3 : 2); ++i)
        held[i] = Value(change(held[i].tensor(), i));
      auto results = evaluateReference(nn::recordOf(&op)->name, *nn::attrsOf(&op), operands);
      for (size_t i = 0; i < results.size(); ++i)
        values[op.getResult(i)] = results[i];
      for (int64_t i = 0; anchor && i < results[0].tensor().elements(); ++i)
        evaluated.largestAnchor = std::max(evaluated.largestAnchor, std::fabs(results[0].tensor().asDouble(i)));
    }
  }
  for (mlir::Value result : func.getBody().front().getTerminator()->getOperands())
    evaluated.results.push_back(values[result].tensor());
  return evaluated;
}

double KernelUnderTest::largestSum(std::span<const Tensor> inputs) {
  auto absolute = [](Tensor x, size_t) {
    Tensor result(x.type(), x.dims());
    for (int64_t i = 0; i < x.elements(); ++i)
      result.as<float>()[i] = std::fabs(x.as<float>()[i]);
    return result;
  };
  return evaluated(inputs, absolute).largestAnchor;
}

std::vector<Tensor> KernelUnderTest::randomInputs(double lo, double hi, const std::map<std::string, int64_t> &symbols) {
  std::vector<Tensor> inputs;
  for (unsigned i = 0; i < func.getNumArguments(); ++i) {
    std::vector<int64_t> dims;
    for (const Dim &dim : nn::argumentDims(func, i))
      dims.push_back(dim.evaluate([&](const std::string &symbol) { return symbols.at(symbol); }));
    ElementType type = nn::infoOf(func.getArgument(i)).type;
    std::uniform_real_distribution<double> uniform(lo, hi);
    if (isFloat(type)) {
      Tensor values(ElementType::f64, dims);
      for (int64_t j = 0; j < values.elements(); ++j)
        values.as<double>()[j] = uniform(random);
      inputs.push_back(values.convertedTo(type));
    } else {
      Tensor values(ElementType::i64, dims);
      for (int64_t j = 0; j < values.elements(); ++j) {
        double x = std::round(uniform(random));
        values.as<int64_t>()[j] = type == ElementType::boolean
                                      ? random() % 2
                                      : static_cast<int64_t>(isUnsignedInteger(type) ? std::fabs(x) : x);
      }
      inputs.push_back(values.convertedTo(type));
    }
  }
  return inputs;
}

std::string difference(const Tensor &got, const Tensor &expected, double tolerance, double least) {
  if (got.type() != expected.type() || got.dims() != expected.dims())
    return fmt::format("got {} [{}], expected {} [{}]", name(got.type()), fmt::join(got.dims(), "x"),
                       name(expected.type()), fmt::join(expected.dims(), "x"));
  double largest = least;
  for (int64_t i = 0; i < expected.elements(); ++i)
    if (double magnitude = std::fabs(expected.asDouble(i)); std::isfinite(magnitude))
      largest = std::max(largest, magnitude);
  for (int64_t i = 0; i < expected.elements(); ++i) {
    double x = got.asDouble(i), y = expected.asDouble(i);
    if (x == y || (std::isnan(x) && std::isnan(y)))
      continue;
    if (!(std::fabs(x - y) <= tolerance * (std::fabs(y) + largest))) {
      std::string place;
      int64_t rest = i;
      for (size_t axis = expected.rank(); axis-- > 0; rest /= expected.dim(axis))
        place = fmt::format("{}{}{}", rest % expected.dim(axis), place.empty() ? "" : ", ", place);
      return fmt::format("element [{}] is {}, expected {}", place, x, y);
    }
  }
  return "";
}

std::string checkKernel(const std::string &text, const Target &target, uint64_t seed, double tolerance, double lo,
                        double hi, const std::string &schedule, const std::map<std::string, int64_t> &symbols) {
  try {
    KernelUnderTest kernel(text, target, seed);
    std::vector<Tensor> inputs = kernel.randomInputs(lo, hi, symbols);
    std::vector<Tensor> expected = kernel.expected(inputs), got = kernel.run(inputs, schedule);
    for (size_t i = 0; i < expected.size(); ++i)
      if (std::string what = difference(got[i], expected[i], tolerance); !what.empty())
        return fmt::format("result {}: {}\n{}", i, what, text);
    return "";
  } catch (const std::exception &error) {
    return fmt::format("{}\n{}", error.what(), text);
  }
}

} // namespace lathe
