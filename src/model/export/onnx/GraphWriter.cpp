#include "export/onnx/GraphWriter.h"

#include "export/onnx/Export.h"
#include "ir/SymbolicShapes.h"

namespace lathe::onnx {
namespace {

void writePort(ValueInfoProto &out, const std::string &name, const TensorInfo &info) {
  out.set_name(name);
  writeType(*out.mutable_type(), info, true);
}

std::string expanded(const nn::ConstantData &data) {
  if (!data.splat)
    return std::string(data.bytes.data(), data.bytes.size());
  int64_t count = 1;
  for (int64_t extent : data.dims)
    count *= extent;
  std::string bytes;
  if (bitWidth(data.type) == 4) // two elements a byte
    return std::string(static_cast<size_t>(byteSize(data.type, count)),
                       static_cast<char>((data.bytes[0] & 15) | data.bytes[0] << 4));
  bytes.reserve(count * data.bytes.size());
  for (int64_t i = 0; i < count; ++i)
    bytes.append(data.bytes.data(), data.bytes.size());
  return bytes;
}

void requireExportable(ElementType type, mlir::Location loc) {
  require(toOnnxType(type) != TensorProto::UNDEFINED, "{}: element type {} cannot be written to ONNX opset {}",
          nn::describe(loc), name(type), exportedOpset);
}

/// Throws Error for an operator that computes with 4-bit integers. ONNX has only operators that move or convert them.
void requireFourBitsAllowed(mlir::Operation &op) {
  for (llvm::StringRef allowed : {"reshape", "transpose", "cast", "pad", "shape"})
    if (op.getName().stripDialect() == allowed)
      return;
  for (mlir::Value operand : op.getOperands())
    require(!hasFourBits(operand), "{}: an operand of element type {} cannot be written to ONNX opset {}",
            nn::describe(op.getLoc()), name(nn::infoOf(operand).type), fourBitOpset);
}

/// The IR version that came with an opset.
int64_t irVersionOf(int64_t opset) {
  return opset <= 20 ? exportedIrVersion : opset <= 22 ? 10 : opset == 23 ? 11 : 12;
}

} // namespace

std::string GraphWriter::nameOf(mlir::Value value) const {
  auto at = names.find(value);
  require(at != names.end(), "export: an operand of {} has no name", nn::describe(value.getLoc()));
  return at->second;
}

std::string GraphWriter::addInitializer(const std::string &wanted, ElementType type, const std::vector<int64_t> &dims,
                                        const std::string &bytes) {
  TensorProto &tensor = *graph->add_initializer();
  tensor.set_name(uniqueValueName(wanted));
  tensor.set_data_type(toOnnxType(type));
  for (int64_t extent : dims)
    tensor.add_dims(extent);
  tensor.set_raw_data(bytes);
  return tensor.name();
}

void GraphWriter::writeConstant(nn::ConstantOp constant) {
  nn::ConstantData data = nn::constantData(constant.getValue());
  requireExportable(data.type, constant.getLoc());
  auto sourceNames = nn::nodeNames(constant.getLoc());
  names[constant.getOutput()] = addConstant(sourceNames.empty() ? "constant" : sourceNames.front(), data, data.dims);
}

std::string GraphWriter::addConstant(const std::string &wanted, const nn::ConstantData &data,
                                     const std::vector<int64_t> &dims) {
  int64_t size = 1;
  for (int64_t extent : dims)
    size *= extent;
  bool outside = byteSize(data.type, size) >= externalFrom && !data.splat;
  std::string name = addInitializer(wanted, data.type, dims, outside ? std::string() : expanded(data));
  if (outside)
    external.push_back({name, data});
  return name;
}

NodeProto &GraphWriter::addBefore(const char *opType, const std::string &wantedName) {
  NodeProto &node = *graph->add_node();
  graph->mutable_node()->SwapElements(graph->node_size() - 2, graph->node_size() - 1);
  node.set_op_type(opType);
  node.set_name(nodeNames.take(wantedName));
  node.add_output(uniqueValueName(node.name()));
  return node;
}

void GraphWriter::writeNode(mlir::Operation &op) {
  for (mlir::Value result : op.getResults()) {
    require(!nn::layoutOf(result), "{}: has a blocked layout, export needs the graph level", nn::describe(op.getLoc()));
    requireExportable(nn::infoOf(result).type, op.getLoc());
  }
  requireFourBitsAllowed(op);
  if (llvm::isa<nn::IfOp, nn::LoopOp>(op))
    return writeControlFlow(op);
  require(nn::recordOf(&op) != nullptr, "{}: '{}' cannot be written to ONNX, export needs the graph level",
          nn::describe(op.getLoc()), op.getName().getStringRef().str());
  auto sourceNames = nn::nodeNames(op.getLoc());
  if (isIndicesOfPoolBefore(op)) { // a second result of the previous node
    NodeProto &pool = *graph->mutable_node(graph->node_size() - 1);
    mlir::Value result = op.getResult(0);
    if (!names.contains(result))
      names[result] = uniqueValueName(sourceNames.empty() ? "indices" : sourceNames.front());
    pool.add_output(names[result]);
    NodeWriter(*this, op, pool)
        .attr("storage_order", static_cast<int64_t>(nn::attrsAs<MaxPoolIndicesAttrs>(&op).column_major));
    return;
  }
  auto hidden = hideScale(op);
  NodeProto &node = *graph->add_node();
  std::string name = nodeNames.take(sourceNames.empty() ? op.getName().stripDialect().str() : sourceNames.front());
  node.set_name(name);
  for (mlir::Value result : op.getResults()) {
    if (!names.contains(result)) // results of the graph are named already
      names[result] = uniqueValueName(name);
    node.add_output(names[result]);
  }
  NodeWriter writer(*this, op, node);
  try {
    if (auto form = quantized.find(&op); form != quantized.end())
      writeQuantized(writer, form->second);
    else if (auto weights = packed.find(&op); weights != packed.end())
      writePacked(writer, weights->second);
    else
      writeOperator(writer);
  } catch (const Error &error) {
    fail("{}: {}", nn::describe(op.getLoc()), error.what());
  }
  for (std::string &input : *node.mutable_input())
    if (hidden && input == nameOf(hidden->first))
      input = hidden->second;
  while (node.input_size() && node.input(node.input_size() - 1).empty())
    node.mutable_input()->RemoveLast();
}

void GraphWriter::writeOperations(mlir::func::FuncOp main) {
  findPacked(main.getBody().front());
  findQuantized(main.getBody().front());
  for (mlir::Operation &op : main.getBody().front().without_terminator()) {
    if (skipped.contains(&op))
      continue;
    if (auto constant = llvm::dyn_cast<nn::ConstantOp>(op))
      writeConstant(constant);
    else
      writeNode(op);
  }
}

void GraphWriter::addIdentity(mlir::Value from, const std::string &to) {
  NodeProto &node = *graph->add_node();
  node.set_op_type("Identity");
  node.set_name(nodeNames.take(to));
  node.add_input(nameOf(from));
  node.add_output(to);
}

ModelProto GraphWriter::write(int64_t externalFromBytes) {
  externalFrom = externalFromBytes;
  ModelProto model;
  model.set_producer_name("lathe");
  auto *opset = model.add_opset_import();
  opset->set_domain("");
  graph = model.mutable_graph();
  graph->set_name("main");

  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  require(main && !main.isExternal(), "export: the module has no function @main");
  int64_t version = llvm::any_of(main.getArguments(), hasFourBits) ? fourBitOpset : exportedOpset;
  module.walk([&](mlir::Operation *op) {
    if (nn::recordOf(op))
      version = std::max(version, opsetOf(*op));
    if (writtenPacked(op))
      version = std::max(version, fourBitOpset); // also DequantizeLinear with blocks needs it
  });
  opset->set_version(version);
  model.set_ir_version(irVersionOf(version));
  nn::SymbolicShapes shapes(main);
  auto given = [](mlir::DictionaryAttr attrs, std::string fallback) {
    auto name = attrs ? attrs.getAs<mlir::StringAttr>("nn.name") : mlir::StringAttr();
    return name ? name.str() : fallback;
  };
  for (mlir::BlockArgument argument : main.getArguments()) {
    unsigned index = argument.getArgNumber();
    TensorInfo info = shapes.of(argument);
    requireExportable(info.type, argument.getLoc());
    std::string name = uniqueValueName(given(main.getArgAttrDict(index), fmt::format("input_{}", index)));
    names[argument] = name;
    writePort(*graph->add_input(), name, info);
  }

  // Results keep their names: the producer writes the name, or an Identity copies the value to it.
  mlir::Operation *terminator = main.getBody().front().getTerminator();
  std::vector<std::pair<mlir::Value, std::string>> copies;
  for (mlir::OpOperand &operand : terminator->getOpOperands()) {
    mlir::Value value = operand.get();
    std::string wanted =
        given(main.getResultAttrDict(operand.getOperandNumber()), fmt::format("output_{}", operand.getOperandNumber()));
    if (auto known = names.find(value); known != names.end() && known->second == wanted) { // an input of this name
      writePort(*graph->add_output(), wanted, shapes.of(value));
      continue;
    }
    std::string name = uniqueValueName(wanted);
    bool produced = value.getDefiningOp() && !llvm::isa<nn::ConstantOp>(value.getDefiningOp());
    if (produced && !names.contains(value))
      names[value] = name;
    else
      copies.emplace_back(value, name);
    TensorInfo info = shapes.of(value);
    writePort(*graph->add_output(), name, info);
  }
  writeOperations(main);
  for (auto &[value, name] : copies)
    addIdentity(value, name);
  return model;
}

} // namespace lathe::onnx
