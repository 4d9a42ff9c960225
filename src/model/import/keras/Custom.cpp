// Layers that the user defines: the operators of @main in the user's file replace the layer.
#include "import/keras/Custom.h"
#include "ir/ModelText.h"

namespace lathe::keras {
namespace {

/// The function @main of the user's file.
mlir::func::FuncOp mainOf(mlir::ModuleOp module, const std::string &file) {
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  require(static_cast<bool>(main), "{}: has no function @main", file);
  return main;
}

/// Copies the operator, with mapped operands. Shapes are inferred again.
mlir::Operation *copied(Node &node, mlir::Operation &op, const mlir::IRMapping &values, const std::string &file) {
  if (llvm::isa<nn::ConstantOp>(op))
    return node.graph.builder.clone(op);
  const OpRecord *record = nn::recordOf(&op);
  require(record && op.getNumRegions() == 0, "{}: {} cannot be part of a layer's definition", file,
          op.getName().getStringRef().str());
  Values operands;
  for (mlir::Value operand : nn::operandsByRecord(&op))
    operands.push_back(operand ? values.lookup(operand) : operand);
  auto attrs = nn::attrsOf(&op);
  return node.emitOp(*record, operands, *attrs);
}

/// Copies the operators of `main` of `file` and returns its results. `what` names the operands in errors: "the layer's
/// inputs and weights".
Values inlined(Node &node, mlir::func::FuncOp main, const Values &operands, const std::string &file, const char *what) {
  require(main.getNumArguments() == operands.size(), "{}: @main has {} arguments, expected {}: {}", file,
          main.getNumArguments(), operands.size(), what);
  mlir::IRMapping values;
  for (size_t i = 0; i < operands.size(); ++i) {
    TensorInfo given = nn::infoOf(main.getArgument(static_cast<unsigned>(i))), own = node.info(operands[i]);
    require(given.isTensor(), "{}: argument {} of @main is {}, expected a tensor", file, i, name(given.kind));
    require(given.type == own.type && given.rank() == own.rank(),
            "{}: argument {} of @main is {} of rank {}, expected {} of rank {}", file, i, name(given.type),
            given.rank(), name(own.type), own.rank());
    values.map(main.getArgument(static_cast<unsigned>(i)), operands[i]);
  }
  Values results;
  for (mlir::Operation &op : main.getBody().front()) {
    if (llvm::isa<mlir::func::ReturnOp>(op)) {
      for (mlir::Value result : op.getOperands())
        results.push_back(values.lookup(result));
      break;
    }
    mlir::Operation *copy = copied(node, op, values, file);
    for (unsigned i = 0; i < op.getNumResults(); ++i)
      values.map(op.getResult(i), copy->getResult(i));
  }
  return results;
}

} // namespace

mlir::Value definedBy(Node &node, const std::string &file, const Values &operands) {
  auto module = nn::readModelText(*node.graph.builder.getContext(), file);
  Values results = inlined(node, mainOf(*module, file), operands, file, "the activation's input");
  require(results.size() == 1, "{}: @main has {} results, expected 1", file, results.size());
  return results[0];
}

void importDefined(StructureNode &structure) {
  const auto &source = *static_cast<const LayerNode *>(structure.record.source);
  const std::string &file = source.definition;
  auto module = nn::readModelText(*structure.graph.builder.getContext(), file);
  Values inputs;
  for (size_t i = 0; i < structure.inputs.size(); ++i)
    inputs.push_back(structure.tensor(i));
  Node node(structure.graph, structure.record, structure.loc, inputs, structure.name);
  Values results = inlined(node, mainOf(*module, file), inputs, file, "the layer's inputs and weights");
  require(results.size() >= structure.outputs.size(), "{}: @main has {} results, expected {}", file, results.size(),
          structure.outputs.size());
  for (size_t i = 0; i < structure.outputs.size(); ++i)
    structure.outputs[i].value = results[i];
}

} // namespace lathe::keras
