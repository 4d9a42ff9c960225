#include "tests/programs/ProgramCheck.h"

#include "codegen/testing/RandomTesting.h"
#include "compile/Compile.h"
#include "import/Import.h"
#include "import/onnx/TensorData.h"
#include "ir/Context.h"
#include "passes/interpret/Evaluate.h"
#include "runtime/Context.h"
#include "runtime/NpyTensor.h"
#include "tests/programs/RandomProgram.h"

#include <cmath>
#include <filesystem>
#include <fstream>

namespace lathe {
namespace {

/// x with `rows` rows, the number of iterations and the flag of a run.
std::vector<Value> inputsOf(uint64_t seed, int64_t rows, int64_t count, bool flag) {
  Random random(seed);
  Tensor x(ElementType::f32, {rows, 4});
  for (int64_t i = 0; i < x.elements(); ++i)
    x.as<float>()[i] = static_cast<float>(random.in(-1000, 1000)) / 500;
  Tensor condition(ElementType::boolean, {});
  condition.as<uint8_t>()[0] = flag;
  return {x, Tensor::of<int64_t>({}, {count}), condition};
}

bool decides(mlir::Operation *op) {
  auto name = llvm::dyn_cast<mlir::NameLoc>(op->getLoc());
  return name && name.getName().getValue().contains(programMargin);
}

double largestDistance(const std::vector<Value> &a, const std::vector<Value> &b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const Tensor &x = a[i].tensor(), &y = b[i].tensor();
    if (x.dims() != y.dims())
      return std::numeric_limits<double>::infinity(); // rounding decided
    for (int64_t e = 0; e < x.elements(); ++e)
      largest = std::max(largest, std::abs(x.asDouble(e) - y.asDouble(e)));
  }
  return largest;
}

ProgramRun runOf(mlir::ModuleOp module, std::vector<Value> inputs) {
  ProgramRun run;
  run.inputs = std::move(inputs);
  run.margin = std::numeric_limits<double>::infinity();
  EvaluateOptions options;
  options.judge = options.observeBodies = true;
  options.observe = [&](mlir::Operation *op, std::span<const Value> results) {
    if (!decides(op))
      return;
    const Tensor &result = results[0].tensor();
    for (int64_t i = 0; i < result.elements(); ++i)
      run.margin = std::min(run.margin, std::abs(result.asDouble(i)));
  };
  std::vector<Value> judged = evaluate(module, run.inputs, options);
  run.expected = evaluate(module, run.inputs);
  run.error = largestDistance(run.expected, judged);
  return run;
}

/// Rounding errors of a run in float32 are no more than those of the references, but for the order of sums.
double toleranceOf(const ProgramRun &run, int level) {
  return level == 4 ? 1e-2 : 1e-5 + 32 * run.error; // docs/numerics.md: relaxed math
}

std::string runFailure(runtime::Context &context, const ProgramRun &run, int level) {
  std::vector<Value> results = context.run(run.inputs);
  for (size_t i = 0; i < run.expected.size(); ++i)
    if (auto text = programDifference(run.expected[i], results[i], toleranceOf(run, level)); !text.empty())
      return fmt::format("output {}: {}", i, text);
  return "";
}

} // namespace

std::vector<ProgramRun> programRuns(const std::string &bytes, uint64_t seed, ProgramCheck &check) {
  auto context = makeContext();
  auto module = importOnnxBytes(*context, bytes, "program.onnx");
  struct Size {
    int64_t rows, count;
    bool flag;
  };
  std::vector<ProgramRun> runs;
  uint64_t next = seed;
  for (const Size &size : {Size{3, 2, true}, {5, 1, false}, {1, 4, false}, {17, 0, true}, {3, 6, false}}) {
    ++check.runs;
    constexpr double decided = 1e-3;
    ProgramRun run;
    for (int attempt = 0; attempt < 8 && run.margin < decided; ++attempt)
      run = runOf(*module, inputsOf(next++, size.rows, size.count, size.flag));
    if (run.margin >= decided)
      runs.push_back(std::move(run));
    else
      ++check.undecided;
  }
  return runs;
}

std::string programFailure(const std::string &bytes, uint64_t seed, ProgramCheck &check) {
  try {
    std::vector<ProgramRun> runs = programRuns(bytes, seed, check);
    for (int level : check.levels) {
      check.level = level;
      auto context = makeContext();
      auto module = importOnnxBytes(*context, bytes, "program.onnx");
      CompileOptions options;
      options.level = level;
      options.threads = 1 + static_cast<int>(seed % 2);
      std::vector<char> package;
      compileToBytes(*module, options, package);
      if (level == 3 && !check.packages.empty())
        writePackage(check.packages, std::to_string(seed), package, runs);
      auto model = runtime::Model::fromBytes(package, "program.lathe");
      for (int threads : check.threads) {
        runtime::Context running(model, {threads});
        for (int repeat = 0; repeat < 2; ++repeat) // what a run leaves behind must not reach the next one
          for (size_t k = 0; k < runs.size(); ++k) {
            if (level == 4 && runs[k].margin < 0.05)
              continue; // relaxed math decides
            if (auto text = runFailure(running, runs[k], level); !text.empty())
              return fmt::format("level {}, {} threads, inputs {}, {}", level, threads, k, text);
          }
      }
    }
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

void writePackage(const std::string &folder, const std::string &name, const std::vector<char> &package,
                  const std::vector<ProgramRun> &runs) {
  std::string path = folder + "/" + name;
  std::ofstream(path + ".lathe", std::ios::binary).write(package.data(), static_cast<std::streamsize>(package.size()));
  std::ofstream tolerances(path + ".txt");
  for (size_t k = 0; k < runs.size(); ++k) {
    tolerances << toleranceOf(runs[k], 3) << "\n";
    auto write = [&](const char *what, const std::vector<Value> &values) {
      for (size_t i = 0; i < values.size(); ++i)
        writeNpy(fmt::format("{}.{}.{}{}.npy", path, k, what, i), npyView(values[i].tensor()));
    };
    write("in", runs[k].inputs);
    write("out", runs[k].expected);
  }
}

// ---- Programs that fail ----

namespace {

/// Every graph of a program, innermost last.
void collectGraphs(onnx::GraphProto &graph, std::vector<onnx::GraphProto *> &graphs) {
  graphs.push_back(&graph);
  for (onnx::NodeProto &node : *graph.mutable_node())
    for (onnx::AttributeProto &attribute : *node.mutable_attribute())
      if (attribute.has_g())
        collectGraphs(*attribute.mutable_g(), graphs);
}

/// Calls `edit` with copies of the model; keeps the copy where it returns true and the program still fails.
class Shrinker {
public:
  Shrinker(const std::string &bytes, const std::function<bool(const std::string &)> &fails) : fails(fails) {
    model.ParseFromString(bytes);
  }

  std::string run() {
    for (int output = model.graph().output_size() - 1; output >= 0 && model.graph().output_size() > 1; --output)
      attempt([&](onnx::ModelProto &copy) { copy.mutable_graph()->mutable_output()->DeleteSubrange(output, 1); });
    for (bool smaller = true; smaller;) {
      smaller = false;
      for (size_t graph = 0; graph < graphsOf(model).size(); ++graph)
        for (int node = graphsOf(model)[graph]->node_size() - 1; node >= 0; --node)
          smaller |= passOperandOn(graph, node);
    }
    return model.SerializeAsString();
  }

private:
  const std::function<bool(const std::string &)> &fails;
  onnx::ModelProto model;
  static constexpr int mostAttempts = 400;
  int attempts = 0;

  static std::vector<onnx::GraphProto *> graphsOf(onnx::ModelProto &of) {
    std::vector<onnx::GraphProto *> graphs;
    collectGraphs(*of.mutable_graph(), graphs);
    return graphs;
  }

  bool attempt(const std::function<void(onnx::ModelProto &)> &edit) {
    if (++attempts > mostAttempts)
      return false;
    onnx::ModelProto copy = model;
    edit(copy);
    if (!fails(copy.SerializeAsString()))
      return false;
    model = std::move(copy);
    return true;
  }

  /// Replaces a node by one of its operands.
  bool passOperandOn(size_t graph, int index) {
    if (graph >= graphsOf(model).size() || index >= graphsOf(model)[graph]->node_size())
      return false;
    const onnx::NodeProto node = graphsOf(model)[graph]->node(index);
    if (node.op_type() == "Identity" || node.output_size() != 1)
      return false;
    for (const std::string &input : node.input())
      if (!input.empty() && attempt([&](onnx::ModelProto &copy) {
            onnx::NodeProto &changed = *graphsOf(copy)[graph]->mutable_node(index);
            changed.set_op_type("Identity");
            changed.clear_attribute();
            changed.clear_input();
            changed.add_input(input);
          }))
        return true;
    return false;
  }
};

} // namespace

std::string smallerProgram(const std::string &bytes, const std::function<bool(const std::string &)> &fails) {
  return Shrinker(bytes, fails).run();
}

std::string keepProgram(const std::string &bytes, const std::string &name) {
  auto folder = std::filesystem::temp_directory_path() / "lathe-failed-programs";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / name, std::ios::binary) << bytes;
  return (folder / name).string();
}

} // namespace lathe
