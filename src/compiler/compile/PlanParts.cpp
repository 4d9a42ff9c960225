#include "compile/PlanParts.h"

namespace lathe {
namespace {

std::string attrText(mlir::Attribute attr, const std::string &fallback) {
  auto text = llvm::dyn_cast_if_present<mlir::StringAttr>(attr);
  return text ? text.str() : fallback;
}

/// The constant's bytes, row-major, one element for each element of its shape.
nn::ConstantData expanded(nn::ConstantOp constant, std::vector<char> &storage) {
  nn::ConstantData data = nn::constantData(constant.getValue());
  if (!data.splat)
    return data;
  int64_t count = 1;
  for (int64_t extent : data.dims)
    count *= extent;
  storage.reserve(count * data.bytes.size());
  for (int64_t i = 0; i < count; ++i)
    storage.insert(storage.end(), data.bytes.begin(), data.bytes.end());
  data.bytes = storage;
  data.splat = false;
  return data;
}

} // namespace

bool hasUnknown(const TensorInfo &info) { return !info.isTensor() || llvm::any_of(info.dims, isUnknown); }

PlanParts::PlanParts(KernelLibrary &library, package::Constants &constants) : library(library), constants(constants) {
  built.plan = std::make_unique<plan::PlanT>();
  addBlock();
}

uint32_t PlanParts::addBlock() {
  built.plan->blocks.push_back(std::make_unique<plan::BlockT>());
  return static_cast<uint32_t>(built.plan->blocks.size() - 1);
}

std::string PlanParts::nameInside(mlir::Value value) {
  std::vector<std::string> nodes;
  if (mlir::Operation *op = value.getDefiningOp())
    nodes = nn::nodeNames(op->getLoc());
  return names.take(nodes.empty() ? "value" : nodes.back());
}

uint32_t PlanParts::addValue(std::string name, const TensorInfo &info, nn::BlockedAttr layout, plan::Storage storage) {
  auto value = std::make_unique<plan::ValueT>();
  value->name = std::move(name);
  value->kind = static_cast<plan::Kind>(info.kind);
  value->type = static_cast<uint8_t>(info.type);
  for (const Dim &dim : info.dims)
    value->dims.push_back(dim.str());
  if (layout) {
    value->block_axis = static_cast<int>(layout.getAxis());
    value->block = static_cast<int>(layout.getSize());
  }
  value->storage = storage;
  if (storage != plan::Storage::Dynamic && info.isTensor())
    value->bytes = physicalBytes(info, layout).str();
  built.plan->values.push_back(std::move(value));
  return static_cast<uint32_t>(built.plan->values.size() - 1);
}

uint32_t PlanParts::constantValue(nn::ConstantOp constant, const Packing *packing) {
  auto key = std::make_pair(constant.getValue().getAsOpaquePointer(), packing ? packing->text : std::string());
  if (auto found = packed.find(key); found != packed.end())
    return found->second;
  std::vector<char> storage;
  nn::ConstantData data = expanded(constant, storage);
  std::vector<char> bytes = packing ? packing->pack(data) : std::vector<char>(data.bytes.begin(), data.bytes.end());
  bool converted = packing && packing->stored != ElementType::invalid;
  TensorInfo info{converted ? packing->stored : data.type, toDims(data.dims), std::nullopt};
  uint32_t value =
      addValue(nameInside(constant.getOutput()), info, nn::layoutOf(constant.getOutput()), plan::Storage::Constant);
  row(value).bytes = std::to_string(bytes.size());
  row(value).offset = constants.add(std::move(bytes));
  return packed[key] = value;
}

void PlanParts::addKernelRow(mlir::func::CallOp call, mlir::func::FuncOp function, const CompiledKernel &kernel,
                             const nn::SymbolicShapes &shapes) {
  auto row = std::make_unique<plan::KernelT>();
  row->name = function.getName().str();
  row->family = attrText(function->getAttr("nn.family"), "");
  row->nodes = nn::nodeNames(function.getLoc());
  if (row->nodes.empty())
    row->nodes = nn::nodeNames(call.getLoc());
  row->schedule = kernel.schedule.str();
  row->origin = library.originOf(function);
  row->predicted_cycles = kernel.predictedCycles;

  std::vector<TensorInfo> arguments;
  std::string operands, results;
  for (mlir::Value operand : call.getOperands()) {
    arguments.push_back(shapes.of(operand));
    operands += (operands.empty() ? "" : " * ") + str(arguments.back().dims);
  }
  for (mlir::Value result : call.getResults()) {
    results += (results.empty() ? "" : ", ") + str(shapes.of(result).dims);
  }
  row->shapes = operands + " -> " + results;
  row->bytes = bytesMoved(function, call.getOperands(), call.getResults(), shapes).str();

  Dim flops = 0;
  nn::SymbolicShapes inside(function, arguments);
  bool onlyConverts = true;
  function.walk([&](mlir::Operation *op) {
    flops = flops + flopsOf(op, inside);
    onlyConverts &= nn::recordOf(op) == nullptr;
  });
  row->flops = flops.str();
  built.layoutConversions += onlyConverts;
  built.plan->kernels.push_back(std::move(row));
  built.code.push_back(kernel.code);
}

Dim bytesMoved(mlir::func::FuncOp kernel, mlir::ValueRange operands, mlir::ValueRange results,
               const nn::SymbolicShapes &shapes) {
  auto bytesOf = [&](mlir::Value value) { return physicalBytes(shapes.of(value), nn::layoutOf(value)); };
  Dim written = 0, read = 0;
  for (mlir::Value result : results)
    written = written + bytesOf(result);
  bool movement = attrText(kernel->getAttr("nn.family"), "") == "movement";
  for (mlir::Value operand : operands)
    read = read + (movement ? minimum(written, bytesOf(operand)) : bytesOf(operand));
  return read + written;
}

Dim physicalBytes(const TensorInfo &info, nn::BlockedAttr layout) {
  Dims dims = info.dims;
  if (layout)
    dims[layout.getAxis()] = ceilDiv(dims[layout.getAxis()], layout.getSize()) * layout.getSize();
  Dim bits = product(dims) * static_cast<int64_t>(bitWidth(info.type));
  return bitWidth(info.type) % 8 == 0 ? product(dims) * static_cast<int64_t>(bitWidth(info.type) / 8)
                                      : ceilDiv(bits, 8);
}

Dim flopsOf(mlir::Operation *op, const nn::SymbolicShapes &shapes) {
  const OpRecord *record = nn::recordOf(op);
  if (!record)
    return 0;
  auto operands = nn::operandsByRecord(op);
  std::vector<TensorInfo> in(std::max(operands.size(), record->operands.size())), out;
  InferInputs inPointers(in.size(), nullptr), outPointers;
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i]) {
      in[i] = shapes.of(operands[i]);
      inPointers[i] = &in[i];
    }
  for (mlir::Value result : op->getResults())
    out.push_back(shapes.of(result));
  for (TensorInfo &info : out)
    outPointers.push_back(&info);
  try {
    return record->flops(*nn::attrsOf(op), inPointers, outPointers);
  } catch (const Error &error) {
    fail("{}: its operations cannot be counted: {}", nn::describe(op->getLoc()), error.what());
  }
}

} // namespace lathe
