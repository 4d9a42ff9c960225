// Constants, and operators that pass a value on.
#include "import/EqualExtents.h"
#include "import/tensorflow/TensorFlow.h"

namespace lathe::tensorflow {
namespace {

void importConst(Operator &op) {
  op.node.ignore({"dtype"});
  const TensorRecord *tensor = op.node.tensorAttr("value");
  require(tensor != nullptr, "has no value");
  if (tensor->type == ElementType::invalid)
    op.unsupported(fmt::format("a constant of element type {}", tensor->typeName));
  op.set(op.node.constant(tensor->read("its value")));
}

/// Other attributes (names, messages, checks) concern only TensorFlow.
void importIdentity(Operator &op) {
  op.node.ignore({"dtype", "shape", "message", "data", "summarize", "first_n", "tensor_name", "device_name",
                  "debug_urls", "gated_grpc"});
  op.set(op.in(0));
}

/// The operand, and pairs of vectors that the graph asserts to be equal. Pairs of extents state that inputs fit
/// together.
void importAsserted(Operator &op) {
  for (size_t i = 1; i + 1 < op.node.inputCount(); i += 2) {
    const auto &a = op.node.info(op.in(i)).contents, &b = op.node.info(op.in(i + 1)).contents;
    for (size_t k = 0; a && b && a->size() == b->size() && k < a->size(); ++k)
      demandEqual(op.node.graph.builder, (*a)[k], (*b)[k]);
  }
  op.set(op.in(0));
}

void importIdentityN(Operator &op) {
  for (size_t i = 0; i < op.node.inputCount(); ++i)
    op.node.set(i, op.in(i));
}

} // namespace

void addValueImporters(Importers &table) {
  table["Const"] = {importConst};
  for (const char *name :
       {"CheckNumerics", "CheckNumericsV2", "DebugIdentity", "EnsureShape", "Identity", "PlaceholderWithDefault",
        "PreventGradient", "Print", "ReadVariableOp", "Snapshot", "StopGradient"})
    table[name] = {importIdentity};
  table["IdentityN"] = {importIdentityN};
  table["Assert+Identity"] = {importAsserted};
  table["Switch+Const"] = {importIdentity};
  for (const char *name : {"VarHandleOp", "Variable", "VariableV2"})
    table[name] = {nullptr, {}, "a variable without a value: pass the folder of the SavedModel, or freeze the graph"};
  for (const char *name : {"HashTable", "HashTableV2", "LookupTableFind", "LookupTableFindV2", "MutableHashTableV2"})
    table[name] = {nullptr, {}, "tables"};
  for (const char *name : {"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"})
    table[name] = {nullptr, {}, "a part of control flow that is no branch and no while loop"};
}

} // namespace lathe::tensorflow
