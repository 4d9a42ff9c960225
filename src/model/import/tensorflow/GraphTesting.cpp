#include "import/tensorflow/GraphTesting.h"

#include "import/CaseTesting.h"

#include <cstdlib>
#include <set>

namespace lathe::tensorflow {
namespace {

void write(const std::string &folder, const std::string &bytes, mlir::ModuleOp module,
           const std::vector<lathe::Value> &inputs, const std::vector<Tensor> &results) {
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
  writeCase(folder, "pb", bytes, module, tensors, results, {{"operators", operators}});
}

} // namespace

std::vector<Tensor> results(const std::string &bytes, const std::vector<lathe::Value> &inputs,
                            const ImportOptions &options) {
  auto context = makeContext();
  auto module = importModelOf(format(), *context, bytes, "m.pb", {}, options);
  std::vector<Tensor> tensors;
  for (const lathe::Value &value : evaluate(*module, inputs))
    tensors.push_back(value.tensor().clone()); // a copy: the value may be a constant of the module
  if (const char *folder = std::getenv("LATHE_TENSORFLOW_WRITE"))
    write(folder, bytes, *module, inputs, tensors);
  return tensors;
}

} // namespace lathe::tensorflow
