#include "import/CaseTesting.h"

#include "ir/SymbolicShapes.h"
#include "passes/interpret/Ports.h"
#include "runtime/NpyTensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace lathe {

/// Writes "PATH.WHICH0.npy" and so on. Returns the file names with the names and zero points of the ports.
static nlohmann::json written(const std::string &path, const char *which, const std::vector<runtime::Port> &ports,
                              const std::vector<Tensor> &tensors) {
  nlohmann::json list = nlohmann::json::array();
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::string file = fmt::format("{}.{}{}.npy", path, which, i);
    if (tensors[i].type() != ElementType::string)
      writeNpy(file, npyView(tensors[i]));
    const auto &how = ports.at(i).quantization;
    list.push_back({{"name", ports.at(i).name}, {"file", file}, {"zero", how ? how->zeroPoints[0] : 0}});
  }
  return list;
}

void writeCase(const std::string &folder, const std::string &extension, const std::string &model, mlir::ModuleOp module,
               const std::vector<Tensor> &inputs, const std::vector<Tensor> &results, nlohmann::json about) {
  static int number = 0;
  const testing::TestInfo *test = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = fmt::format("{}.{}", test->test_suite_name(), test->name());
  std::string file = fmt::format("{}-{}", name, number++);
  std::replace(file.begin(), file.end(), '/', '.'); // names of parameterised tests contain '/'
  std::string path = folder + "/" + file, modelFile = path + "." + extension;
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  about["test"] = name;
  about["model"] = modelFile;
  about["inputs"] = written(path, "in", inputPorts(module), inputs);
  about["outputs"] = written(path, "out", outputPorts(main, nn::SymbolicShapes(main)), results);
  std::ofstream(modelFile, std::ios::binary) << model;
  std::ofstream(path + ".json") << about.dump(1);
}

} // namespace lathe
