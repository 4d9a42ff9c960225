#include "import/tensorflow/GraphTesting.h"

#include "passes/interpret/Ports.h"
#include "runtime/NpyTensor.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <set>

namespace lathe::tensorflow {
namespace {

/// Writes "PATH.WHICH0.npy" and so on, and returns their names with those of the ports.
nlohmann::json written(const std::string &path, const char *which, const std::vector<runtime::Port> &ports,
                       const std::vector<Tensor> &tensors) {
  nlohmann::json list = nlohmann::json::array();
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::string file = fmt::format("{}.{}{}.npy", path, which, i);
    if (tensors[i].type() != ElementType::string)
      writeNpy(file, npyView(tensors[i]));
    list.push_back({{"name", ports.at(i).name}, {"file", file}});
  }
  return list;
}

void write(const std::string &folder, const std::string &bytes, mlir::ModuleOp module,
           const std::vector<lathe::Value> &inputs, const std::vector<Tensor> &results) {
  static int number = 0;
  const testing::TestInfo *test = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = fmt::format("{}.{}-{}", test->test_suite_name(), test->name(), number++);
  std::replace(name.begin(), name.end(), '/', '.'); // of parameterised tests
  std::string path = folder + "/" + name;
  file::GraphDef graph;
  if (!graph.ParseFromString(bytes)) // a text, or damaged on purpose
    return;
  std::set<std::string> operators;
  for (const file::NodeDef &node : graph.node())
    operators.insert(node.op());
  for (const file::FunctionDef &function : graph.library().function())
    for (const file::NodeDef &node : function.node_def())
      operators.insert(node.op());
  std::vector<Tensor> tensors;
  for (const lathe::Value &value : inputs)
    tensors.push_back(value.tensor());
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  nlohmann::json about{{"test", fmt::format("{}.{}", test->test_suite_name(), test->name())},
                       {"model", path + ".pb"},
                       {"operators", operators},
                       {"inputs", written(path, "in", inputPorts(module), tensors)},
                       {"outputs", written(path, "out", outputPorts(main, nn::SymbolicShapes(main)), results)}};
  std::ofstream(path + ".pb", std::ios::binary) << bytes;
  std::ofstream(path + ".json") << about.dump(1);
}

} // namespace

std::vector<Tensor> results(const std::string &bytes, const std::vector<lathe::Value> &inputs,
                            const ImportOptions &options) {
  auto context = makeContext();
  auto module = importModelOf(format(), *context, bytes, "m.pb", {}, options);
  std::vector<Tensor> tensors;
  for (const lathe::Value &value : evaluate(*module, inputs))
    tensors.push_back(value.tensor().clone()); // it may be a constant of the module
  if (const char *folder = std::getenv("LATHE_TENSORFLOW_WRITE"))
    write(folder, bytes, *module, inputs, tensors);
  return tensors;
}

} // namespace lathe::tensorflow
