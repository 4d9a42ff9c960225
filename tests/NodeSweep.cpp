// node-sweep MODEL LEVEL: damages one weight of every layer of a model, one layer after the other. `verify` must name a
// kernel that reads the damaged weight as the first one that diverges.
//
// MODEL is a file of any format or zoo:NAME. The unchanged model must verify, and `verify` must compare all of its kernels
// except steps that the model does not have. First one element of the weight is damaged. If no output shows the damage,
// about half of the elements are damaged. If no output shows that either, because other values hide the product, the layer
// is listed as one that cannot be seen.
// Exit code 0: every other layer was found; 1: a layer was not found; 77: the file does not exist.
#include "compile/Compile.h"
#include "import/Import.h"
#include "ir/Bridge.h"
#include "ir/Context.h"
#include "ir/Main.h"
#include "passes/interpret/Ports.h"
#include "runtime/References.h"
#include "verify/Verification.h"
#include "zoo/Zoo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <random>

using namespace lathe;

namespace {

namespace fs = std::filesystem;

/// A weight with the nodes that read it.
struct Layer {
  nn::ConstantOp constant;
  std::vector<std::string> nodes;
};

/// Floats and integers of 8 bits with several elements. Others are biases of integer sums, tables, axes and extents.
std::vector<Layer> layersOf(mlir::ModuleOp module) {
  std::vector<Layer> layers;
  for (nn::ConstantOp constant : mainFunction(module).getBody().front().getOps<nn::ConstantOp>()) {
    auto type = llvm::cast<mlir::ShapedType>(constant.getType());
    ElementType element = nn::toElementType(type.getElementType());
    if (type.getNumElements() < 8 ||
        !(element == ElementType::f32 || element == ElementType::i8 || element == ElementType::u8))
      continue;
    Layer layer{constant, {}};
    for (mlir::Operation *user : constant->getUsers())
      for (const std::string &node : nn::nodeNames(user->getLoc()))
        layer.nodes.push_back(node);
    if (!layer.nodes.empty())
      layers.push_back(layer);
  }
  return layers;
}

/// The module with the `chosen` elements of a layer's weight far from what they were.
mlir::OwningOpRef<mlir::ModuleOp> damaged(mlir::ModuleOp module, size_t layer,
                                          llvm::function_ref<bool(size_t index)> chosen) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  nn::ConstantOp constant = layersOf(*copy)[layer].constant;
  nn::ConstantData data = nn::constantData(constant.getValue());
  size_t width = static_cast<size_t>(bitWidth(data.type)) / 8, count = 1;
  for (int64_t extent : data.dims)
    count *= static_cast<size_t>(extent);
  std::vector<char> bytes;
  for (size_t i = 0; i < (data.splat ? count : 1); ++i)
    bytes.insert(bytes.end(), data.bytes.begin(), data.bytes.end());
  if (data.type == ElementType::f32) {
    auto *values = reinterpret_cast<float *>(bytes.data());
    float largest = 0;
    for (size_t i = 0; i < count; ++i)
      largest = std::max(largest, std::abs(values[i]));
    for (size_t i = 0; i < count; ++i)
      values[i] += chosen(i) ? 2 * largest + 1 : 0;
  } else {
    for (size_t i = 0; i < count; ++i)
      bytes[i * width] = static_cast<char>(bytes[i * width] + (chosen(i) ? 128 : 0));
  }
  constant.setValueAttr(nn::makeConstant(module.getContext(), data.type, data.dims, bytes, "damaged"));
  return copy;
}

class Sweep {
public:
  Sweep(const std::string &model, int level) : level(level), context(makeContext()) {
    module = model.starts_with("zoo:") ? buildZoo(*context, model.substr(4)) : importModel(*context, model);
    fs::create_directories(kernels);
    std::mt19937 random(1);
    for (const runtime::Port &port : inputPorts(*module)) {
      std::vector<int64_t> dims;
      for (const Dim &dim : port.dims)
        dims.push_back(dim.evaluate([](const std::string &) { return int64_t(1); }));
      Tensor tensor(ElementType::f64, dims);
      bool real = isFloat(port.type);
      std::uniform_real_distribution<double> numbers(real ? -1 : isSignedInteger(port.type) ? -100 : 0, real ? 1 : 100);
      for (int64_t i = 0; i < tensor.elements(); ++i)
        tensor.as<double>()[i] = dims.empty() ? 1 : numbers(random); // scalars keep all or nothing in dropout
      inputs.push_back(Value(tensor.convertedTo(port.type)));
    }
  }
  ~Sweep() { fs::remove_all(kernels); }

  bool unchanged() {
    verify::SetResult result = verify::Verification(compiled(*module), *module, {.all = true}).run(inputs);
    std::printf("compared %zu of %zu kernels\n", result.kernels - result.leftOut.size(), result.kernels);
    for (const verify::LeftOut &left : result.leftOut)
      std::printf("left out: %s (kernel %s): %s\n", left.value.c_str(), left.kernel.c_str(), left.reason.c_str());
    if (const verify::Comparison *failed = result.failed())
      std::printf("FAILED: %s: %s\n", failed->value.c_str(), failed->difference.str().c_str());
    auto excused = [](const verify::LeftOut &left) { return left.reason.starts_with("is "); }; // a step, or in a body
    return !result.failed() && llvm::all_of(result.leftOut, excused);
  }

  bool wrongWeights() {
    std::vector<Layer> layers = layersOf(*module);
    size_t found = 0, unseen = 0;
    for (size_t i = 0; i < layers.size(); ++i) {
      verify::SetResult result = wrongWeight(layers[i], i);
      std::string node = layers[i].nodes.front();
      auto reads = [&](const std::string &name) { return llvm::is_contained(result.divergence->nodes, name); };
      if (!result.failed()) {
        std::printf("cannot be seen: a weight of '%s'\n", node.c_str());
        ++unseen;
      } else if (!result.divergence || llvm::none_of(layers[i].nodes, reads)) {
        std::printf("FAILED: a weight of '%s': %s\n", node.c_str(),
                    result.divergence ? result.divergence->str().c_str() : "no kernel diverges");
      } else {
        ++found;
      }
    }
    std::printf("found %zu of %zu layers; %zu cannot be seen\n", found, layers.size(), unseen);
    return found > 0 && found + unseen == layers.size();
  }

private:
  int level;
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Value> inputs;
  fs::path kernels = fs::temp_directory_path() / fmt::format("lathe-sweep-{}", ::getpid());

  std::shared_ptr<const runtime::Model> compiled(mlir::ModuleOp from) {
    std::vector<char> bytes;
    CompileOptions options;
    options.level = level;
    options.kernelCache = kernels.string(); // a wrong weight changes the code of no kernel
    mlir::OwningOpRef<mlir::ModuleOp> copy = from.clone();
    compileToBytes(*copy, options, bytes);
    return runtime::Model::fromBytes(bytes, "m.lathe");
  }

  /// The verdict on the first of some elements of the weight that an output shows, or on half of the elements together.
  verify::SetResult wrongWeight(Layer layer, size_t number) {
    auto elements = static_cast<size_t>(llvm::cast<mlir::ShapedType>(layer.constant.getType()).getNumElements());
    auto verdict = [&](llvm::function_ref<bool(size_t index)> chosen) {
      auto wrong = damaged(*module, number, chosen);
      return verify::Verification(compiled(*wrong), *module, {}).run(inputs);
    };
    for (size_t eighth : {4, 2, 5, 7})
      if (auto result = verdict([&](size_t i) { return i == elements * eighth / 8; }); result.failed())
        return result;
    // Not in a regular pattern: softmax hides what all of its inputs have more.
    return verdict([](size_t i) { return static_cast<uint32_t>(i) * 2654435761u >> 31; });
  }
};

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: node-sweep MODEL LEVEL\n");
    return 2;
  }
  std::string model = argv[1];
  if (!model.starts_with("zoo:") && !fs::exists(model)) {
    std::printf("NO TEST DATA: %s is not there (set LATHE_TEST_DATA)\n", argv[1]);
    return 77;
  }
  try {
    runtime::registerReferences();
    Sweep sweep(model, std::atoi(argv[2]));
    bool complete = sweep.unchanged();
    return sweep.wrongWeights() && complete ? 0 : 1;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
