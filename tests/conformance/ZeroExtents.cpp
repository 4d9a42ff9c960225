// zero_extents [-O0 ... -O4] [--jobs N] [--every N] [--verbose] [CASE...]: runs the ONNX backend test cases with
// extents of zero, on the references and compiled, and compares the two.
//
// Every extent of every input and initializer is set to 0 in turn, alone and together with all extents that equal it;
// inputs once as static extents and once as a symbol that is 0 when the program runs. Each variant runs in a process of
// its own, forked from one that has compiled a model already; all share a cache of kernels. Expected: equal outputs, or an error from both, also where extents contradict one another when they are bound
// (an index into nothing, two extents that should agree). Exit code 1: a variant ended otherwise; 77: no test data.
#include "tests/conformance/Case.h"

#include "import/Import.h"
#include "ir/Context.h"
#include "passes/interpret/Evaluate.h"
#include "tests/conformance/Isolated.h"

#include "mlir/Parser/Parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include <sys/wait.h>
#include <unistd.h>

namespace lathe::conformance {
namespace {

namespace fs = std::filesystem;

enum class Outcome { equal, error, unchecked, different, unclear, crash, hang };
constexpr std::array outcomeNames = {
    "equal outputs",     "errors",         "contradictions that run: only the reference refuses them",
    "different outputs", "unclear errors", "ended by a signal",
    "ran past 10 s"};

struct Finding {
  Outcome outcome = Outcome::equal;
  std::string detail;
};

constexpr unsigned processorSeconds = 10, wallSeconds = 300; // the second for waits; machines are busy
constexpr rlim_t mostMemory = rlim_t(16) << 30;

/// Variants that compiled code alone refuses, and why it does (docs/dynamic-shapes.md).
const char *reasonToRefuse(const std::string &variant) {
  bool expanded =
      variant.starts_with("test_linear_attention_") && variant.ends_with("_expanded: input 0 axis 1, symbolic");
  return expanded ? "a target of Reshape has an extent of 0 that the run tells" : nullptr;
}

/// What every variant needs, made once, before processes fork.
mlir::MLIRContext &sharedContext() {
  static std::unique_ptr<mlir::MLIRContext> context = makeContext();
  return *context;
}

/// A folder for the kernels of all variants, removed at the end.
class SharedKernels {
public:
  SharedKernels() { require(mkdtemp(folder) != nullptr, "no temporary folder"); }
  ~SharedKernels() {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  std::string path() const { return folder; }

private:
  char folder[32] = "/tmp/lathe-zero-XXXXXX";
};

/// An extent of a tensor the graph is given.
struct Place {
  bool initializer;
  int tensor, axis; // of the data set's inputs or of the graph's initializers
  auto operator<=>(const Place &) const = default;
};

struct Variant {
  std::set<Place> zeros;
  bool symbolic = false;
  std::string name;
};

struct Case {
  onnx::ModelProto model;
  DataSet set;
};

void emptyTensor(onnx::TensorProto &tensor, int axis) {
  std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  onnx::TensorProto empty;
  empty.set_name(tensor.name());
  empty.set_data_type(tensor.data_type());
  dims[static_cast<size_t>(axis)] = 0;
  for (int64_t extent : dims)
    empty.add_dims(extent);
  tensor = std::move(empty);
}

onnx::ValueInfoProto *inputNamed(onnx::ModelProto &model, const std::string &name) {
  for (onnx::ValueInfoProto &input : *model.mutable_graph()->mutable_input())
    if (input.name() == name)
      return &input;
  return nullptr;
}

/// The case with the extents of `variant` set to zero.
Case changed(Case original, const Variant &variant) {
  onnx::GraphProto &graph = *original.model.mutable_graph();
  graph.clear_value_info();
  for (onnx::ValueInfoProto &output : *graph.mutable_output())
    if (output.type().has_tensor_type())
      output.mutable_type()->mutable_tensor_type()->clear_shape();
  for (const Place &place : variant.zeros) {
    onnx::TensorProto &tensor =
        place.initializer ? *graph.mutable_initializer(place.tensor) : original.set.inputs[place.tensor];
    emptyTensor(tensor, place.axis);
    onnx::ValueInfoProto *input = inputNamed(original.model, tensor.name());
    if (input && input->type().tensor_type().shape().dim_size() > place.axis) {
      auto *dim = input->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(place.axis);
      dim->Clear();
      if (variant.symbolic)
        dim->set_dim_param("zero");
      else
        dim->set_dim_value(0);
    }
    if (place.initializer)
      continue;
    Tensor &given = original.set.inputTensors[place.tensor];
    std::vector<int64_t> dims = given.dims();
    dims[static_cast<size_t>(place.axis)] = 0;
    given = Tensor(given.type(), dims);
  }
  return original;
}

/// Every extent alone, then all extents of one size together.
std::vector<Variant> variantsOf(const Case &one) {
  std::set<Place> places;
  std::map<int64_t, std::set<Place>> bySize;
  auto add = [&](Place place, int64_t extent) {
    if (extent == 0)
      return;
    places.insert(place);
    bySize[extent].insert(place);
  };
  for (size_t i = 0; i < one.set.inputTensors.size(); ++i)
    for (size_t axis = 0; axis < one.set.inputTensors[i].rank(); ++axis)
      add({false, static_cast<int>(i), static_cast<int>(axis)}, one.set.inputTensors[i].dim(axis));
  for (int i = 0; i < one.model.graph().initializer_size(); ++i)
    for (int axis = 0; axis < one.model.graph().initializer(i).dims_size(); ++axis)
      add({true, i, axis}, one.model.graph().initializer(i).dims(axis));
  std::vector<Variant> variants;
  std::set<std::set<Place>> seen;
  auto both = [&](const std::set<Place> &zeros, const std::string &name) {
    if (!seen.insert(zeros).second)
      return;
    variants.push_back({zeros, false, name});
    if (!zeros.begin()->initializer) // sorted: those of inputs come first
      variants.push_back({zeros, true, name + ", symbolic"});
  };
  for (const Place &place : places)
    both({place}, fmt::format("{} {} axis {}", place.initializer ? "initializer" : "input", place.tensor, place.axis));
  for (auto &[extent, zeros] : bySize)
    both(zeros, fmt::format("all extents of {}", extent));
  return variants;
}

/// What references and compiled code make of a model: outputs, or why there are none.
struct Answer {
  std::vector<Value> outputs;
  std::string error;
  bool unsupported = false, unclear = false;
};

struct Options {
  int level = 3;
  size_t jobs = 2, every = 1;
  bool verbose = false;
  std::set<std::string> wanted;
  std::string kernels; // folder of the kernel cache
};

/// On references, or with `options`, compiled.
Answer answer(const std::string &bytes, const DataSet &set, const Options *options) {
  Answer result;
  try {
    auto module = importOnnxBytes(sharedContext(), bytes, "model.onnx");
    std::vector<Value> inputs = argumentsOf(*module, set);
    result.outputs =
        options ? compiledResults(*module, inputs, options->level, options->kernels) : evaluate(*module, inputs);
    for (Value &output : result.outputs) // a constant lies in the module
      if (output.isTensor())
        output = output.tensor().clone();
  } catch (const UnsupportedError &error) {
    result.error = error.what();
    result.unsupported = true;
  } catch (const Error &error) {
    result.error = error.what();
    result.unclear = result.error.find("internal") != std::string::npos;
  } catch (const std::exception &error) {
    result.error = fmt::format("exception: {}", error.what());
    result.unclear = true;
  }
  return result;
}

Finding compareBoth(const Case &one, const Options &options) {
  std::string bytes = one.model.SerializeAsString();
  Answer reference = answer(bytes, one.set, nullptr);
  if (reference.unsupported) {
    bytes = specialised(one.model, one.set);
    reference = answer(bytes, one.set, nullptr);
  }
  Answer compiled = answer(bytes, one.set, &options);
  if (reference.unclear || compiled.unclear)
    return {Outcome::unclear, reference.unclear ? reference.error : "compiled: " + compiled.error};
  if (!reference.error.empty() && !compiled.error.empty())
    return {Outcome::error, reference.error};
  if (!reference.error.empty())
    return {Outcome::unchecked, reference.error};
  if (!compiled.error.empty())
    return {Outcome::different, "compiled alone fails: " + compiled.error};
  for (size_t i = 0; i < reference.outputs.size(); ++i)
    if (std::string text = difference(compiled.outputs[i], reference.outputs[i]); !text.empty())
      return {Outcome::different, fmt::format("output {} {}", i, text)};
  return {};
}

Finding runIsolated(const Case &original, const Variant &variant, const Options &options) {
  ChildEnd end = runInChild({wallSeconds, processorSeconds, mostMemory}, [&] {
    Finding found = compareBoth(changed(original, variant), options);
    return std::to_string(static_cast<int>(found.outcome)) + found.detail;
  });
  if (end.signal) {
    bool late = end.signal == SIGXCPU || end.signal == SIGALRM || end.signal == SIGKILL;
    return {late ? Outcome::hang : Outcome::crash, strsignal(end.signal)};
  }
  if (end.message.empty())
    return {Outcome::crash, "ended without a result"};
  return {static_cast<Outcome>(end.message[0] - '0'), end.message.substr(1)};
}

/// `found`, unless it is expected.
Finding judged(const std::string &name, Finding found) {
  const char *reason = reasonToRefuse(name);
  if (!reason)
    return found;
  bool refused = found.outcome == Outcome::different && found.detail.find("extents do not fit") != std::string::npos;
  return refused ? Finding{Outcome::error, reason}
                 : Finding{Outcome::different, "is no longer refused: " + found.detail};
}

using Counts = std::array<int64_t, outcomeNames.size()>;

/// The variants of one case; prints those that ended badly.
void sweepCase(const fs::path &folder, const Options &options, Counts &counts) {
  Case original;
  try {
    original.model = readModel(folder);
    fs::path data = folder / "test_data_set_0";
    if (!fs::exists(data))
      return;
    original.set = readSet(data, original.model);
  } catch (const NoTensor &) {
    return; // sequences and types without tensors of ours have no extents to change
  }
  for (const Variant &variant : variantsOf(original)) {
    std::string name = fmt::format("{}: {}", folder.filename().string(), variant.name);
    Finding found = judged(name, runIsolated(original, variant, options));
    ++counts[static_cast<size_t>(found.outcome)];
    if (options.verbose || found.outcome > Outcome::error)
      fmt::print("{}: {}{}{}\n", name, outcomeNames[static_cast<size_t>(found.outcome)],
                 found.detail.empty() ? "" : ": ", found.detail);
  }
  std::fflush(stdout);
}

/// The cases of one worker; its counts go to `end` when all are done.
void sweepShare(const std::vector<fs::path> &folders, size_t share, const Options &options, int end) {
  Counts counts{};
  for (size_t i = share; i < folders.size(); i += options.jobs)
    sweepCase(folders[i], options, counts);
  bool written = write(end, counts.data(), sizeof counts) == sizeof counts;
  std::fflush(stdout);
  _exit(written ? 0 : 1);
}

/// Compiles and runs a model, so that processes begin with a code generator that is ready.
void warmUp(const Options &options) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>("func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {\n"
                                                        "%0 = nn.sqrt %x : (tensor<5xf32>) -> tensor<5xf32>\n"
                                                        "return %0 : tensor<5xf32>\n}",
                                                        &sharedContext());
  require(module && evaluate(*module, {{Tensor(ElementType::f32, {5})}}).size() == 1, "the first model has no result");
  compiledResults(*module, {Tensor(ElementType::f32, {5})}, options.level, options.kernels);
}

int sweep(const std::vector<fs::path> &folders, const Options &options) {
  warmUp(options);
  int ends[2];
  require(pipe(ends) == 0, "no pipe");
  std::vector<pid_t> workers;
  for (size_t share = 0; share < options.jobs; ++share) {
    std::fflush(stdout);
    pid_t child = fork();
    if (child == 0)
      sweepShare(folders, share, options, ends[1]);
    workers.push_back(child);
  }
  close(ends[1]);
  Counts total{}, counts{};
  size_t reports = 0;
  for (; read(ends[0], counts.data(), sizeof counts) == sizeof counts; ++reports)
    for (size_t i = 0; i < total.size(); ++i)
      total[i] += counts[i];
  for (pid_t worker : workers)
    waitpid(worker, nullptr, 0);
  int64_t bad = 0, all = 0;
  for (size_t i = 0; i < total.size(); ++i) {
    fmt::print("{:6} {}\n", total[i], outcomeNames[i]);
    all += total[i];
    bad += i > static_cast<size_t>(Outcome::error) ? total[i] : 0;
  }
  if (reports != options.jobs)
    fmt::print("{} of {} workers ended without a report\n", options.jobs - reports, options.jobs);
  return bad > 0 || all == 0 || reports != options.jobs ? 1 : 0;
}

Options parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    bool more = i + 1 < argc;
    if (argument == "--verbose")
      options.verbose = true;
    else if (argument == "--jobs" && more)
      options.jobs = std::max<size_t>(1, std::strtoul(argv[++i], nullptr, 10));
    else if (argument == "--every" && more)
      options.every = std::max<size_t>(1, std::strtoul(argv[++i], nullptr, 10));
    else if (argument.size() == 3 && argument.starts_with("-O"))
      options.level = argument[2] - '0';
    else
      options.wanted.insert(argument);
  }
  return options;
}

} // namespace
} // namespace lathe::conformance

int main(int argc, char **argv) {
  using namespace lathe::conformance;
  Options options = parse(argc, argv);
  std::optional<fs::path> root = casesRoot();
  if (!root)
    return skipped;
  std::vector<fs::path> folders = listCases(*root, options.wanted);
  std::vector<fs::path> chosen;
  for (size_t i = 0; i < folders.size(); i += options.every)
    chosen.push_back(folders[i]);
  SharedKernels kernels;
  options.kernels = kernels.path();
  return sweep(chosen, options);
}
