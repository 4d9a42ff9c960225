#include "passes/interpret/Ports.h"

#include "ir/Bridge.h"
#include "ir/Main.h"

namespace lathe {

std::vector<runtime::Port> inputPorts(mlir::ModuleOp module) {
  mlir::func::FuncOp main = mainFunction(module);
  std::vector<std::string> names = inputNames(main);
  std::vector<runtime::Port> ports;
  for (mlir::BlockArgument argument : main.getArguments()) {
    unsigned index = argument.getArgNumber();
    runtime::Port port;
    port.name = names[index];
    TensorInfo info = nn::infoOf(argument);
    port.type = info.type;
    port.kind = info.kind;
    port.dims = nn::argumentDims(main, index);
    if (auto how = main.getArgAttrOfType<mlir::StringAttr>(index, "nn.quantization"))
      port.quantization = Quantization::parse(how.str());
    ports.push_back(std::move(port));
  }
  return ports;
}

std::vector<runtime::Port> outputPorts(mlir::func::FuncOp main, const nn::SymbolicShapes &shapes) {
  std::vector<std::string> names = outputNames(main);
  std::vector<TensorInfo> results = shapes.results();
  std::vector<runtime::Port> ports;
  for (size_t i = 0; i < names.size(); ++i) {
    runtime::Port port;
    port.name = names[i];
    port.type = results[i].type;
    port.kind = results[i].kind;
    port.dims = results[i].dims;
    if (auto how = main.getResultAttrOfType<mlir::StringAttr>(static_cast<unsigned>(i), "nn.quantization"))
      port.quantization = Quantization::parse(how.str());
    ports.push_back(std::move(port));
  }
  return ports;
}

} // namespace lathe
