// Writes nn.if and nn.loop as If and Loop with subgraphs.
#include "ir/Bodies.h"
#include "export/onnx/GraphWriter.h"

#include "llvm/Support/SaveAndRestore.h"

#include <limits>

namespace lathe::onnx {
namespace {

GraphProto &graphAttribute(NodeProto &node, const char *name) {
  AttributeProto &attr = *node.add_attribute();
  attr.set_name(name);
  attr.set_type(AttributeProto::GRAPH);
  attr.mutable_g()->set_name(name);
  return *attr.mutable_g();
}

/// States only the extents of scalars: ONNX Runtime reads the iteration number only if it is known to be a scalar.
void describeTensor(ValueInfoProto &out, const std::string &name, mlir::Value value) {
  TensorInfo info = nn::infoOf(value);
  out.set_name(name);
  writeType(*out.mutable_type(), info, info.isTensor() && info.dims.empty());
}

} // namespace

void GraphWriter::writeControlFlow(mlir::Operation &op) {
  NodeProto &node = *graph->add_node();
  auto sourceNames = nn::nodeNames(op.getLoc());
  std::string name = nodeNames.take(sourceNames.empty() ? op.getName().stripDialect().str() : sourceNames.front());
  node.set_name(name);
  for (mlir::Value result : op.getResults()) {
    if (!names.contains(result))
      names[result] = uniqueValueName(name);
    node.add_output(names[result]);
  }
  auto bodies = nn::bodiesOf(&op);
  nn::Captured captured = nn::capturedBy(&op);
  if (auto branch = llvm::dyn_cast<nn::IfOp>(op)) {
    node.set_op_type("If");
    node.add_input(nameOf(branch.getCondition()));
    const char *const attributes[] = {"then_branch", "else_branch"};
    for (auto [body, attribute] : llvm::zip(bodies, attributes))
      writeBody(body.main, captured.values, captured.firstArgument, graphAttribute(node, attribute));
    return;
  }
  auto loop = llvm::cast<nn::LoopOp>(op);
  node.set_op_type("Loop");
  node.add_input(nameOf(loop.getTripCount()));
  node.add_input(nameOf(loop.getCondition()));
  for (mlir::Value value : nn::carriedBy(loop))
    node.add_input(nameOf(value));
  writeBody(bodies.front().main, captured.values, captured.firstArgument, graphAttribute(node, "body"));
}

/// A subgraph reads captured values by their names outside. Its constants stay in the message.
void GraphWriter::writeBody(mlir::func::FuncOp body, mlir::ValueRange captured, unsigned firstCaptured,
                            GraphProto &into) {
  llvm::SaveAndRestore inBody(graph, &into);
  llvm::SaveAndRestore inside(externalFrom, std::numeric_limits<int64_t>::max());
  for (mlir::BlockArgument argument : body.getArguments()) {
    unsigned index = argument.getArgNumber();
    if (index >= firstCaptured) {
      names[argument] = nameOf(captured[index - firstCaptured]);
      continue;
    }
    names[argument] = uniqueValueName(fmt::format("argument_{}", index));
    describeTensor(*into.add_input(), names[argument], argument);
  }
  writeOperations(body);
  // Each output needs its own name, which a node of the subgraph writes.
  for (mlir::Value value : body.getBody().front().getTerminator()->getOperands()) {
    std::string name = uniqueValueName("result");
    addIdentity(value, name);
    describeTensor(*into.add_output(), name, value);
  }
}

} // namespace lathe::onnx
