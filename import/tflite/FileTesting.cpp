#include "import/tflite/FileTesting.h"

#include "passes/interpret/Evaluate.h"
#include "passes/interpret/Ports.h"
#include "runtime/NpyTensor.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>

namespace lathe::tflite {

namespace {

/// Writes "NAME.WHICH0.npy" and so on, and returns their names with those of the ports and their zero points.
nlohmann::json written(const std::string &path, const char *which, const std::vector<runtime::Port> &ports,
                       const std::vector<Tensor> &tensors) {
  nlohmann::json list = nlohmann::json::array();
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::string file = fmt::format("{}.{}{}.npy", path, which, i);
    writeNpy(file, npyView(tensors[i]));
    const auto &how = ports.at(i).quantization;
    list.push_back({{"name", ports.at(i).name}, {"file", file}, {"zero", how ? how->zeroPoints[0] : 0}});
  }
  return list;
}

void write(const std::string &folder, const std::string &bytes, mlir::ModuleOp module,
           const std::vector<Tensor> &inputs, const std::vector<Tensor> &results, RequantizeRounding rounding) {
  static int number = 0;
  const testing::TestInfo *test = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = fmt::format("{}.{}", test->test_suite_name(), test->name());
  std::string path = fmt::format("{}/{}-{}", folder, name, number++);
  for (char &c : path)
    if (c == '/' && &c >= path.data() + folder.size() + 1) // of parameterised tests
      c = '.';
  nlohmann::json operators = nlohmann::json::array();
  const file::Model *model = file::GetModel(bytes.data());
  for (const file::OperatorCode *code : *model->operator_codes())
    operators.push_back(file::EnumNameBuiltinOperator(code->code()));
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  nlohmann::json about{{"test", name},
                       {"model", path + ".tflite"},
                       {"operators", operators},
                       {"rounding", rounding == RequantizeRounding::reference ? "reference" : "optimised"},
                       {"inputs", written(path, "in", inputPorts(module), inputs)},
                       {"outputs", written(path, "out", outputPorts(main, nn::SymbolicShapes(main)), results)}};
  std::ofstream(path + ".tflite", std::ios::binary) << bytes;
  std::ofstream(path + ".json") << about.dump(1);
}

} // namespace

std::vector<Tensor> evaluated(const std::string &bytes, const std::vector<Tensor> &inputs,
                              const ImportOptions &options) {
  auto context = makeContext();
  auto module = importModelOf(format(), *context, bytes, "m.tflite", ".", options);
  std::vector<lathe::Value> values;
  for (const Tensor &input : inputs)
    values.emplace_back(input);
  std::vector<Tensor> results;
  for (lathe::Value &result : evaluate(*module, values))
    results.push_back(result.tensor().clone());
  if (const char *folder = std::getenv("LATHE_TFLITE_WRITE"))
    write(folder, bytes, *module, inputs, results, options.requantizeRounding);
  return results;
}

} // namespace lathe::tflite
