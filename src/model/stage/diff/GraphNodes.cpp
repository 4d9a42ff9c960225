#include "stage/diff/GraphNodes.h"

#include "ir/Bodies.h"
#include "ir/Main.h"
#include "ir/SymbolicShapes.h"

#include "llvm/Support/xxhash.h"

#include <set>

namespace lathe::stage {
namespace {

/// The attributes of an operator as texts. Axes count from the first of `rank` axes.
class AttributeTexts : public AttrVisitor {
public:
  explicit AttributeTexts(int64_t rank) : rank(rank) {}
  std::map<std::string, std::string> texts;

  void field(const char *name, int64_t &value) override {
    texts[name] = std::to_string(std::string_view(name) == "axis" ? counted(value) : value);
  }
  void field(const char *name, double &value) override { texts[name] = fmt::format("{}", value); }
  void field(const char *name, bool &value) override { texts[name] = value ? "true" : "false"; }
  void field(const char *name, std::string &value) override { texts[name] = value; }
  void field(const char *name, ElementType &value) override { texts[name] = std::string(lathe::name(value)); }
  void field(const char *name, std::vector<int64_t> &value) override {
    if (std::string_view(name) == "axes")
      for (int64_t &axis : value)
        axis = counted(axis);
    list(name, value);
  }
  void field(const char *name, std::vector<double> &value) override { list(name, value); }

private:
  int64_t rank;
  int64_t counted(int64_t axis) const { return axis < 0 ? axis + rank : axis; }
  template <class T> void list(const char *name, const std::vector<T> &values) {
    std::string text;
    for (const T &value : values)
      text += fmt::format("{}{}", text.empty() ? "" : ", ", value);
    texts[name] = "[" + text + "]";
  }
};

Extents extentsOf(const Dims &dims) {
  Extents extents;
  for (const Dim &dim : dims)
    extents.push_back(dim.isConstant() ? std::optional<int64_t>(dim.constant()) : std::nullopt);
  return extents;
}

uint64_t hashOf(std::string_view bytes) {
  return llvm::xxh3_64bits(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
}

/// The bytes of a constant's content: the bytes of one element if all elements are equal.
std::string_view contentOf(const nn::ConstantData &data, int64_t elements) {
  std::string_view bytes(data.bytes.data(), data.bytes.size());
  size_t width = bitWidth(data.type) / 8;
  bool same = !data.splat && elements > 1 && width > 0 && bytes.substr(width) == bytes.substr(0, bytes.size() - width);
  return same ? bytes.substr(0, width) : bytes;
}

bool isCommutative(llvm::StringRef kind) {
  static const std::set<std::string> kinds{"add", "mul", "max", "min", "equal", "and", "or", "xor"};
  return kinds.count(kind.str()) > 0;
}

/// The rank to which axis attributes of an operator refer: the rank of its first operand, or of the result if it adds
/// axes.
int64_t axesOf(mlir::Operation *op) {
  bool adds = op->getName().stripDialect() == "unsqueeze";
  if (adds ? op->getNumResults() == 0 : op->getNumOperands() == 0)
    return 0;
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(adds ? op->getResult(0).getType() : op->getOperand(0).getType());
  return type ? type.getRank() : 0;
}

GraphPort portOf(const std::string &name, const TensorInfo &info) {
  return {name,      info.isTensor() ? std::string(lathe::name(info.type)) : "no tensor",
          info.dims, extentsOf(info.dims),
          {},        {}};
}

/// The permutation of a transpose; nothing for other operators.
std::optional<std::vector<int64_t>> orderOf(mlir::Operation *op) {
  if (!op || !llvm::isa<nn::TransposeOp>(op))
    return std::nullopt;
  auto given = op->getAttrOfType<mlir::DenseI64ArrayAttr>("perm");
  std::vector<int64_t> order = given ? given.asArrayRef().vec() : std::vector<int64_t>();
  if (order.empty())
    for (int64_t axis = llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType()).getRank(); axis-- > 0;)
      order.push_back(axis);
  return order;
}

std::vector<int64_t> inverse(const std::vector<int64_t> &order) {
  std::vector<int64_t> result(order.size());
  for (size_t axis = 0; axis < order.size(); ++axis)
    result[static_cast<size_t>(order[axis])] = static_cast<int64_t>(axis);
  return result;
}

} // namespace

bool compatible(const Extents &a, const Extents &b) {
  if (a.size() != b.size())
    return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] && b[i] && *a[i] != *b[i])
      return false;
  return true;
}

std::string GraphNode::operandName(size_t slot) const {
  const OpRecord *record = nn::recordOf(op);
  if (!record || record->operands.empty())
    return std::to_string(slot);
  const OperandRecord &operand = record->operands[std::min(slot, record->operands.size() - 1)];
  return operand.variadic ? fmt::format("{} {}", operand.name, slot + 1 - record->operands.size()) : operand.name;
}

void GraphNodes::readConstant(nn::ConstantOp constant) {
  GraphConstant result;
  auto type = llvm::cast<mlir::ShapedType>(constant.getType());
  TensorInfo info = nn::infoOf(constant.getOutput());
  result.dims = str(info.dims);
  result.elements = type.getNumElements();
  std::string key = fmt::format("{} {} ", lathe::name(info.type), result.dims);
  if (llvm::isa<mlir::DenseStringElementsAttr>(constant.getValue())) {
    llvm::raw_string_ostream(key) << constant.getValue();
  } else {
    result.data = nn::constantData(constant.getValue());
    key += std::to_string(hashOf(contentOf(*result.data, result.elements)));
  }
  result.content = hashOf(key);
  sources[constant.getOutput().getAsOpaquePointer()] = {Source::constant, constants.size(), 0};
  constants.push_back(std::move(result));
}

void GraphNodes::readInputs(mlir::func::FuncOp main, const std::vector<TensorInfo> &infos,
                            const std::vector<std::string> &names) {
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    mlir::Value value = main.getArgument(i);
    inputs.push_back(portOf(names[i], infos[i]));
    sources[value.getAsOpaquePointer()] = {Source::input, i, 0};
    if (!value.hasOneUse())
      continue;
    mlir::Operation *user = *value.getUsers().begin();
    if (auto order = orderOf(user)) {
      inputs[i].order = *order;
      Extents before = inputs[i].extents;
      for (size_t axis = 0; axis < order->size(); ++axis)
        inputs[i].extents[axis] = before[static_cast<size_t>((*order)[axis])];
      sources[user->getResult(0).getAsOpaquePointer()] = {Source::input, i, 0};
    }
  }
}

GraphNodes::GraphNodes(mlir::func::FuncOp main) {
  nn::SymbolicShapes shapes(main);
  std::vector<TensorInfo> infos;
  for (mlir::Value argument : main.getArguments())
    infos.push_back(shapes.of(argument));
  readInputs(main, infos, inputNames(main));
  mlir::Operation *end = main.getBody().front().getTerminator();
  std::set<mlir::Operation *> atOutputs; // transposes that only results of the graph read
  for (mlir::Value value : end->getOperands())
    if (value.getDefiningOp() && orderOf(value.getDefiningOp()) && value.hasOneUse() &&
        !sources.count(value.getAsOpaquePointer()))
      atOutputs.insert(value.getDefiningOp());
  for (mlir::Operation &op : main.getBody().front()) {
    if (auto constant = llvm::dyn_cast<nn::ConstantOp>(op))
      readConstant(constant);
    if (llvm::isa<nn::ConstantOp>(op) || &op == end || atOutputs.count(&op) ||
        (op.getNumResults() && sources.count(op.getResult(0).getAsOpaquePointer())))
      continue;
    GraphNode node;
    node.op = &op;
    node.kind = op.getName().stripDialect().str();
    node.commutes = isCommutative(node.kind);
    std::vector<std::string> names = nn::nodeNames(op.getLoc());
    node.name = names.empty() ? fmt::format("{} {}", node.kind, nodes.size()) : names[0];
    const OpRecord *record = nn::recordOf(&op);
    if (record) {
      AttributeTexts reader(axesOf(&op));
      nn::attrsOf(&op)->visit(reader);
      node.attributes = std::move(reader.texts);
    }
    if (auto loop = llvm::dyn_cast<nn::LoopOp>(op))
      node.attributes["carried"] = std::to_string(loop.getCarried());
    llvm::SmallVector<mlir::Value> operands =
        record ? nn::operandsByRecord(&op) : llvm::SmallVector<mlir::Value>(op.getOperands());
    for (mlir::Value operand : operands) {
      node.operands.push_back(operand ? sources.at(operand.getAsOpaquePointer()) : Source());
      if (const Source &source = node.operands.back(); source.kind == Source::node)
        nodes[source.index].uses[source.result].push_back({nodes.size(), node.operands.size() - 1});
    }
    for (mlir::OpResult result : op.getResults())
      sources[result.getAsOpaquePointer()] = {Source::node, nodes.size(), result.getResultNumber()};
    if (op.getNumResults())
      node.extents = extentsOf(shapes.of(op.getResult(0)).dims);
    node.uses.resize(op.getNumResults());
    nodes.push_back(std::move(node));
  }
  std::vector<TensorInfo> results = shapes.results();
  std::vector<std::string> names = outputNames(main);
  for (unsigned i = 0; i < end->getNumOperands(); ++i) {
    mlir::Value value = end->getOperand(i);
    GraphPort port = portOf(names[i], results[i]);
    if (atOutputs.count(value.getDefiningOp())) {
      port.order = inverse(*orderOf(value.getDefiningOp()));
      value = value.getDefiningOp()->getOperand(0);
      port.extents = extentsOf(shapes.of(value).dims);
    }
    port.source = sources.at(value.getAsOpaquePointer());
    outputs.push_back(std::move(port));
  }
}

} // namespace lathe::stage
