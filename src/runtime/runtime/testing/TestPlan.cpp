#include "runtime/testing/TestPlan.h"

#include "package/Dependences.h"
#include "support/Error.h"

#include <cstring>
#include <fstream>
#include <iterator>

namespace lathe::runtime::testing {

TestPlan::TestPlan() {
  program.producer = "test";
  program.model = "test.onnx";
  program.plans.push_back(std::make_unique<plan::PlanT>());
  static const char *names[testKernels] = {"add", "half", "rowsum", "units", "waves", "table", "relay"};
  for (const char *name : names) {
    auto kernel = std::make_unique<plan::KernelT>();
    kernel->name = name;
    kernel->family = "test";
    kernel->nodes = {std::string("node_") + name};
    kernel->flops = "100";
    kernel->origin = "the prior";
    kernel->predicted_cycles = 250;
    plan().kernels.push_back(std::move(kernel));
  }
}

uint32_t TestPlan::value(const std::string &name, const Dims &dims, ElementType type, plan::Storage storage) {
  auto value = std::make_unique<plan::ValueT>();
  value->name = name;
  value->dims = dims;
  value->type = static_cast<uint8_t>(type);
  value->storage = storage;
  plan().values.push_back(std::move(value));
  return static_cast<uint32_t>(plan().values.size() - 1);
}
uint32_t TestPlan::input(const std::string &name, const Dims &dims, ElementType type) {
  plan().inputs.push_back(value(name, dims, type, plan::Storage::Input));
  return plan().inputs.back();
}
uint32_t TestPlan::output(const std::string &name, const Dims &dims, ElementType type) {
  plan().outputs.push_back(value(name, dims, type, plan::Storage::Output));
  return plan().outputs.back();
}
uint32_t TestPlan::temporary(const std::string &name, const Dims &dims, ElementType type) {
  return value(name, dims, type, plan::Storage::Temporary);
}
uint32_t TestPlan::dynamic(const std::string &name, const Dims &dims, ElementType type) {
  return value(name, dims, type, plan::Storage::Dynamic);
}
uint32_t TestPlan::alias(const std::string &name, const Dims &dims, uint32_t of, const std::string &offset) {
  uint32_t index = value(name, dims, static_cast<ElementType>(plan().values[of]->type), plan::Storage::Alias);
  plan().values[index]->alias_of = static_cast<int32_t>(of);
  plan().values[index]->alias_offset = offset;
  return index;
}
uint32_t TestPlan::constant(const std::string &name, const Dims &dims, ElementType type, std::vector<char> bytes) {
  uint32_t index = value(name, dims, type, plan::Storage::Constant);
  plan().values[index]->bytes = std::to_string(bytes.size());
  plan().values[index]->offset = constants.add(std::move(bytes));
  return index;
}

plan::BlockT &TestPlan::blockAt(size_t block) {
  while (plan().blocks.size() <= block)
    plan().blocks.push_back(std::make_unique<plan::BlockT>());
  return *plan().blocks[block];
}

void TestPlan::call(TestKernel kernel, std::vector<uint32_t> buffers, std::vector<std::string> dims,
                    const std::string &units, const std::string &scratch, size_t block) {
  plan::CallKernelT call;
  call.kernel = static_cast<uint32_t>(kernel);
  call.buffers = std::move(buffers);
  call.dims = std::move(dims);
  call.units = units;
  call.scratch_bytes = scratch;
  instruction(std::move(call), block);
}
void TestPlan::add(uint32_t a, uint32_t b, uint32_t out, const std::string &elements, size_t block) {
  call(TestKernel::add, {a, b, out}, {elements}, "floordiv(" + elements + " + 15, 16)", "0", block);
}
void TestPlan::half(uint32_t x, uint32_t out, const std::string &elements, size_t block) {
  call(TestKernel::half, {x, out}, {}, elements, "0", block);
}
void TestPlan::rowsum(uint32_t x, uint32_t out, const std::string &rows, const std::string &columns, size_t block) {
  call(TestKernel::rowsum, {x, out}, {columns}, rows, columns + "*4", block);
}
void TestPlan::units(uint32_t out, const std::string &count, size_t block) {
  call(TestKernel::units, {out}, {}, count, "0", block);
}
void TestPlan::waves(uint32_t out, const std::string &width, const std::string &stages, size_t block) {
  call(TestKernel::waves, {out}, {width}, width + "*" + stages, width + "*16", block);
  blockAt(block).instructions.back()->operation.AsCallKernel()->stages = stages;
}
void TestPlan::table(uint32_t out, const std::string &count, size_t block) {
  call(TestKernel::table, {out}, {}, count, "0", block);
}
void TestPlan::setPlaces(int threads, const std::vector<std::pair<uint32_t, uint32_t>> &places) {
  program.threads = threads;
  plan().places.clear();
  std::map<std::pair<uint32_t, uint32_t>, int> numbers{{{0, 0}, -1}};
  for (size_t i = 0; i < places.size(); ++i) {
    auto [entry, fresh] = numbers.try_emplace(places[i], static_cast<int>(plan().places.size()));
    if (fresh) {
      plan().places.push_back(std::make_unique<plan::PlaceT>());
      plan().places.back()->first_slot = places[i].first;
      plan().places.back()->slots = places[i].second;
    }
    plan().blocks[0]->instructions[i]->place = entry->second;
  }
  package::setWaits(plan());
}
void TestPlan::imageCosts(const std::vector<std::pair<double, double>> &levels, double callCycles) {
  auto costs = std::make_unique<plan::ImageCostsT>();
  for (auto [bytes, cyclesPerByte] : levels) {
    costs->levels.push_back(std::make_unique<plan::MemoryLevelT>());
    costs->levels.back()->bytes = bytes;
    costs->levels.back()->cycles_per_byte = cyclesPerByte;
  }
  costs->call_cycles = callCycles;
  plan().image_costs = std::move(costs);
}
void TestPlan::relay(LatheKernel kernel, std::vector<uint32_t> buffers, const std::string &width,
                     const std::string &units, const std::string &scratch) {
  uint32_t address = constant<int64_t>("kernel", {"1"}, {static_cast<int64_t>(reinterpret_cast<intptr_t>(kernel))});
  buffers.insert(buffers.begin(), address);
  call(TestKernel::relay, std::move(buffers), {width}, units, scratch, 0);
}
void TestPlan::reference(const std::string &op, std::vector<int32_t> inputs, std::vector<uint32_t> outputs,
                         size_t block) {
  plan::CallReferenceT call;
  call.op = op;
  call.inputs = std::move(inputs);
  call.outputs = std::move(outputs);
  call.nodes = {"node_" + op};
  instruction(std::move(call), block);
}

std::vector<char> TestPlan::bytes(uint64_t features, const std::string &target) const {
  package::CodeSection code = testCode(program.plans.size());
  code.features = features;
  code.target = target;
  return package::packageBytes(program, constants, std::span(&code, 1));
}

std::shared_ptr<const Model> TestPlan::model(const std::string &name) const { return Model::fromBytes(bytes(), name); }

TestPlan counting() {
  TestPlan p;
  uint32_t trips = p.input("trips", {}, ElementType::i64), x = p.input("x", {"2"});
  uint32_t iteration = p.temporary("i", {}, ElementType::i64), go = p.temporary("go", {}, ElementType::boolean);
  uint32_t carried = p.temporary("carried", {"2"}), next = p.temporary("next", {"2"}),
           last = p.temporary("last", {"2"});
  uint32_t one = p.constant<float>("one", {"2"}, {1, 1});
  plan::LoopT loop;
  loop.trip_count = int32_t(trips);
  loop.body = 1;
  loop.body_inputs = {iteration, go, carried};
  loop.body_outputs = {go, next};
  loop.initial = {x};
  loop.results = {last};
  p.instruction(loop);
  p.add(carried, one, next, "2", 1);
  p.half(last, p.output("out", {"2"}), "2");
  return p;
}

package::CodeSection testCode(size_t copies) {
  std::ifstream file(LATHE_TEST_KERNELS, std::ios::binary);
  package::CodeSection code;
  code.target = "test";
  code.image.assign(std::istreambuf_iterator<char>(file), {});
  require(code.image.size() > testKernels * sizeof(uint64_t), "{} is missing", LATHE_TEST_KERNELS);
  code.entries.resize(testKernels * copies);
  for (size_t i = 0; i < code.entries.size(); ++i)
    std::memcpy(&code.entries[i], code.image.data() + i % testKernels * sizeof(uint64_t), sizeof(uint64_t));
  return code;
}

namespace {

using Run = void (*)(std::span<const Value *const>, std::span<Value>, const ParallelFor &);

void allocate(Value &output, ElementType type, const std::vector<int64_t> &dims) {
  if (!output.isTensor() || !output.tensor().defined())
    output = Tensor(type, dims);
}

void negate(std::span<const Value *const> inputs, std::span<Value> outputs, const ParallelFor &parallel) {
  const Tensor &x = inputs[0]->tensor();
  allocate(outputs[0], x.type(), x.dims());
  float *out = outputs[0].tensor().as<float>();
  parallel(x.elements(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      out[i] = -x.as<float>()[i];
  });
}

void nonnegative(std::span<const Value *const> inputs, std::span<Value> outputs, const ParallelFor &) {
  const Tensor &x = inputs[0]->tensor();
  std::vector<float> kept;
  for (int64_t i = 0; i < x.elements(); ++i)
    if (x.as<float>()[i] >= 0)
      kept.push_back(x.as<float>()[i]);
  outputs[0] = Tensor::of<float>({static_cast<int64_t>(kept.size())}, std::span<const float>(kept));
}

void increment(std::span<const Value *const> inputs, std::span<Value> outputs, const ParallelFor &) {
  allocate(outputs[0], ElementType::i64, inputs[0]->tensor().dims());
  *outputs[0].tensor().as<int64_t>() = *inputs[0]->tensor().as<int64_t>() + 1;
}

void less(std::span<const Value *const> inputs, std::span<Value> outputs, const ParallelFor &) {
  allocate(outputs[0], ElementType::boolean, {});
  *outputs[0].tensor().as<uint8_t>() = *inputs[0]->tensor().as<int64_t>() < *inputs[1]->tensor().as<int64_t>();
}

void append(std::span<const Value *const> inputs, std::span<Value> outputs, const ParallelFor &) {
  const Tensor &x = inputs[0]->tensor(), &y = inputs[1]->tensor();
  Tensor result(x.type(), {x.elements() + y.elements()});
  for (int64_t i = 0; i < result.elements(); ++i)
    result.as<float>()[i] = i < x.elements() ? x.as<float>()[i] : y.as<float>()[i - x.elements()];
  outputs[0] = result;
}

void upper(std::span<const Value *const> inputs, std::span<Value> outputs, const ParallelFor &) {
  const Tensor &x = inputs[0]->tensor();
  allocate(outputs[0], ElementType::string, x.dims());
  for (size_t i = 0; i < x.strings().size(); ++i) {
    outputs[0].tensor().strings()[i] = x.strings()[i];
    for (char &c : outputs[0].tensor().strings()[i])
      c = static_cast<char>(std::toupper(c));
  }
}

void broken(std::span<const Value *const>, std::span<Value>, const ParallelFor &parallel) {
  parallel(1000, [](int64_t, int64_t end) { require(end < 1000, "broken on purpose"); });
}

const std::map<std::string, Run, std::less<>> runs = {{"negate", negate},       {"nonnegative", nonnegative},
                                                      {"increment", increment}, {"less", less},
                                                      {"append", append},       {"upper", upper},
                                                      {"fail", broken}};

struct TestOperator : ReferenceOperator {
  Run entry = nullptr;
  void run(std::span<const Value *const> inputs, std::span<Value> outputs, const ParallelFor &parallel) const override {
    entry(inputs, outputs, parallel);
  }
};

struct TestProvider : ReferenceProvider {
  std::unique_ptr<ReferenceOperator> prepare(std::string_view op, std::span<const uint8_t>) const override {
    auto it = runs.find(op);
    require(it != runs.end(), "unknown operator '{}'", op);
    auto result = std::make_unique<TestOperator>();
    result->entry = it->second;
    return result;
  }
};

} // namespace

void useTestReferences() {
  static const TestProvider provider;
  setReferenceProvider(&provider);
}

} // namespace lathe::runtime::testing
