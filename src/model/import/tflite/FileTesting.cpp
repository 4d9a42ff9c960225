#include "import/tflite/FileTesting.h"

#include "import/CaseTesting.h"
#include "passes/interpret/Evaluate.h"

#include <cstdlib>

namespace lathe::tflite {

namespace {

void write(const std::string &folder, const std::string &bytes, mlir::ModuleOp module,
           const std::vector<Tensor> &inputs, const std::vector<Tensor> &results, RequantizeRounding rounding) {
  nlohmann::json operators = nlohmann::json::array();
  const file::Model *model = file::GetModel(bytes.data());
  for (const file::OperatorCode *code : *model->operator_codes())
    operators.push_back(file::EnumNameBuiltinOperator(code->code()));
  writeCase(
      folder, "tflite", bytes, module, inputs, results,
      {{"operators", operators}, {"rounding", rounding == RequantizeRounding::reference ? "reference" : "optimised"}});
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
