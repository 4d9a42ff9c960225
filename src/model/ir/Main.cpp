#include "ir/Main.h"

#include "support/Error.h"
#include "support/UniqueNames.h"

namespace lathe {
namespace {

template <class NameOf> std::vector<std::string> uniqueNames(unsigned count, const char *otherwise, NameOf nameOf) {
  UniqueNames unique(":");
  std::vector<std::string> names;
  for (unsigned i = 0; i < count; ++i) {
    mlir::StringAttr name = nameOf(i);
    names.push_back(unique.take(name ? name.str() : fmt::format("{}{}", otherwise, i)));
  }
  return names;
}

} // namespace

mlir::func::FuncOp mainFunction(mlir::ModuleOp module) {
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  require(main && !main.isExternal(), "the model has no function @main");
  return main;
}

std::vector<std::string> inputNames(mlir::func::FuncOp main) {
  return uniqueNames(main.getNumArguments(), "input",
                     [&](unsigned i) { return main.getArgAttrOfType<mlir::StringAttr>(i, "nn.name"); });
}

std::vector<std::string> outputNames(mlir::func::FuncOp main) {
  return uniqueNames(main.getNumResults(), "output",
                     [&](unsigned i) { return main.getResultAttrOfType<mlir::StringAttr>(i, "nn.name"); });
}

} // namespace lathe
