#include "import/Node.h"

#include <charconv>
#include <cstring>

namespace lathe::source {
namespace {

/// Names the kind of value that an attribute holds, for messages.
std::string kindOf(const AttributeRecord &attribute) {
  static const char *const names[] = {"nothing",  "an integer", "a float", "a string", "an element type",
                                      "a tensor", "integers",   "floats",  "strings"};
  if (!attribute.graphs.empty())
    return attribute.graphs.size() == 1 ? "a graph" : "graphs";
  if (const auto *other = std::get_if<OtherKind>(&attribute.value))
    return other->name;
  return names[attribute.value.index()];
}

template <class T> std::string kindName() {
  AttributeRecord attribute;
  attribute.value = T();
  return kindOf(attribute);
}

class FieldSetter : public AttrVisitor {
public:
  FieldSetter(const std::string &wanted, const Field &source) : wanted(wanted), source(source) {}
  bool found = false;
  void field(const char *name, int64_t &value) override { assign(name, value); }
  void field(const char *name, double &value) override { assign(name, value); }
  void field(const char *name, bool &value) override { assign(name, value); }
  void field(const char *name, std::string &value) override { assign(name, value); }
  void field(const char *name, ElementType &value) override { assign(name, value); }
  void field(const char *name, std::vector<int64_t> &value) override { assign(name, value); }
  void field(const char *name, std::vector<double> &value) override { assign(name, value); }

private:
  const std::string &wanted;
  const Field &source;
  template <class T> void assign(const char *name, T &value) {
    if (name != wanted)
      return;
    const T *given = std::get_if<T>(&source.value);
    require(given != nullptr, "attribute '{}' of the operator record has another kind than its importer gives", name);
    value = *given;
    found = true;
  }
};

} // namespace

void setField(Attrs &attrs, const std::string &name, const Field &field) {
  FieldSetter setter(name, field);
  attrs.visit(setter);
  require(setter.found, "the operator record has no attribute '{}'", name);
}

double shortestDouble(float value) {
  if (!std::isfinite(value))
    return value;
  char text[64];
  auto end = std::to_chars(text, text + sizeof text, value).ptr;
  double result = value;
  std::from_chars(text, end, result);
  return result;
}

Node::Node(Graph &graph, const NodeRecord &record, mlir::Location loc, Values inputs, std::string name)
    : graph(graph), record(record), loc(loc), name(std::move(name)), outputs(record.outputs.size()),
      inputs(std::move(inputs)) {}

mlir::Value Node::in(size_t index) const {
  require(has(index), "input {} is missing", index);
  return inputs[index];
}

void Node::expectInputs(size_t least, size_t most) const {
  size_t count = inputs.size();
  if (least == most)
    require(count == least, "has {} inputs, expected {}", count, least);
  require(count >= least && count <= most, "has {} inputs, expected {} to {}", count, least, most);
  for (size_t i = 0; i < least; ++i)
    in(i);
}

void Node::expectOutputs(size_t count) const {
  require(outputCount() == count, "has {} outputs, expected {}", outputCount(), count);
  for (size_t i = 0; i < count; ++i)
    require(wants(i), "output {} is missing", i);
}

std::optional<std::vector<int64_t>> Node::staticInts(mlir::Value value) const {
  const TensorInfo &known = info(value);
  if (known.contents)
    return allConstant(*known.contents) ? std::optional(constants(*known.contents)) : std::nullopt;
  if (isInteger(known.type) && allConstant(known.dims) && product(known.dims) == Dim(0))
    return std::vector<int64_t>();
  const Tensor *tensor = isInteger(known.type) ? graph.known.contents(value) : nullptr;
  if (!tensor)
    return std::nullopt;
  std::vector<int64_t> values;
  for (int64_t i = 0; i < tensor->elements(); ++i)
    values.push_back(tensor->asInteger(i));
  return values;
}

std::optional<std::vector<double>> Node::staticDoubles(mlir::Value value) const {
  if (auto ints = staticInts(value))
    return std::vector<double>(ints->begin(), ints->end());
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  if (!constant) {
    const Tensor *tensor = graph.known.contents(value);
    if (!tensor || tensor->elements() > 64 || tensor->type() == ElementType::string)
      return std::nullopt;
    std::vector<double> result;
    for (int64_t i = 0; i < tensor->elements(); ++i)
      result.push_back(tensor->type() == ElementType::f32 ? shortestDouble(static_cast<float>(tensor->asDouble(i)))
                                                          : tensor->asDouble(i));
    return result;
  }
  nn::ConstantData data = nn::constantData(constant.getValue());
  int64_t count = 1;
  for (int64_t extent : data.dims)
    count *= extent;
  if (count > 64 || !isFloat(data.type))
    return std::nullopt;
  std::vector<double> result;
  auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue());
  if (!dense)
    return std::nullopt;
  for (const llvm::APFloat &element : dense.getValues<llvm::APFloat>()) {
    if (data.type == ElementType::f32) {
      result.push_back(shortestDouble(element.convertToFloat()));
      continue;
    }
    llvm::APFloat wide = element;
    bool losesInfo = false;
    wide.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    result.push_back(wide.convertToDouble());
  }
  return result;
}

std::vector<int64_t> Node::requireInts(size_t index, const char *what) const {
  auto values = staticInts(in(index));
  if (!values)
    unsupported(fmt::format("{} is computed at run time", what));
  return *values;
}

const AttributeRecord *Node::find(const std::string &attr) const {
  for (const AttributeRecord &candidate : record.attributes)
    if (candidate.name == attr)
      return &candidate;
  return nullptr;
}

template <class T> const T *Node::attribute(const std::string &name) {
  understood.insert(name);
  const AttributeRecord *found = find(name);
  if (!found)
    return nullptr;
  require(found->parameter.empty(), "attribute '{}' refers to a function's attribute outside a function", name);
  const T *value = std::get_if<T>(&found->value);
  require(value != nullptr, "attribute '{}' is {}, expected {}", name, kindOf(*found), kindName<T>());
  return value;
}

template const float *Node::attribute<float>(const std::string &);
template const TensorRecord *Node::attribute<TensorRecord>(const std::string &);
template const std::vector<float> *Node::attribute<std::vector<float>>(const std::string &);

int64_t Node::intAttr(const std::string &name, int64_t fallback) {
  auto found = attribute<int64_t>(name);
  return found ? *found : fallback;
}

double Node::floatAttr(const std::string &name, double fallback) {
  auto found = attribute<float>(name);
  return found ? shortestDouble(*found) : fallback;
}

std::string Node::stringAttr(const std::string &name, const std::string &fallback) {
  auto found = attribute<std::string>(name);
  return found ? *found : fallback;
}

std::vector<int64_t> Node::intsAttr(const std::string &name, std::vector<int64_t> fallback) {
  auto found = attribute<std::vector<int64_t>>(name);
  return found ? *found : fallback;
}

std::vector<double> Node::floatsAttr(const std::string &name) {
  std::vector<double> result;
  if (auto found = attribute<std::vector<float>>(name))
    for (float value : *found)
      result.push_back(shortestDouble(value));
  return result;
}

std::vector<std::string> Node::stringsAttr(const std::string &name) {
  auto found = attribute<std::vector<std::string>>(name);
  return found ? *found : std::vector<std::string>();
}

ElementType Node::typeAttr(const std::string &name, ElementType fallback) {
  const AttributeRecord *found = find(name);
  if (!found)
    return fallback;
  if (!graph.format.typeOf || std::holds_alternative<ElementType>(found->value))
    return *attribute<ElementType>(name);
  int64_t code = intAttr(name, 0);
  ElementType type = graph.format.typeOf(code);
  if (type == ElementType::invalid)
    unsupported(fmt::format("element type {} is not supported", graph.format.typeName(code)));
  return type;
}

void Node::ignore(std::initializer_list<const char *> attrs) { understood.insert(attrs.begin(), attrs.end()); }

void Node::checkAllUnderstood() const {
  std::set<std::string> seen;
  for (const AttributeRecord &attribute : record.attributes) {
    require(understood.contains(attribute.name), "attribute '{}' is not one of {} at {} {}", attribute.name, record.op,
            graph.format.versionWord, version());
    require(seen.insert(attribute.name).second, "attribute '{}' is given twice", attribute.name);
  }
}

void Node::set(size_t index, mlir::Value value) {
  require(index < outputs.size() || index > 0, "has no outputs, expected at least 1");
  if (index < outputs.size())
    outputs[index] = value;
}

mlir::Operation *Node::emitOp(const char *mnemonic, const Values &operands, const Fields &fields) {
  const OpRecord *record = findOp(mnemonic);
  if (!record)
    unsupported(fmt::format("there is no operator nn.{}", mnemonic));
  auto attrs = record->makeAttrs();
  for (auto &[name, value] : fields)
    setField(*attrs, name, value);
  return emitOp(*record, operands, *attrs);
}

mlir::Operation *Node::emitOp(const OpRecord &record, Values operands, Attrs &attrs) {
  operands.resize(std::max(operands.size(), record.operands.size()));
  InferInputs in(operands.size(), nullptr);
  bool runTimeParameter = false;
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i]) {
      in[i] = &info(operands[i]);
      // A parameter that is not computed by shape arithmetic, but from floating-point numbers, for example.
      bool parameter = i < record.operands.size() && *record.operands[i].staticAttribute;
      if (parameter && !in[i]->contents && isInteger(in[i]->type))
        if (auto values = staticInts(operands[i]); values && values->size() <= maxContents) {
          TensorInfo better = *in[i];
          better.contents = toDims(*values);
          graph.known.setInfo(operands[i], better);
          in[i] = &info(operands[i]);
        }
      runTimeParameter |= i < record.operands.size() && *record.operands[i].staticAttribute && !in[i]->contents;
    }
  InferResult results;
  mlir::Operation *op = nullptr;
  try {
    results = record.infer(attrs, in);
    for (const TensorInfo &result : results)
      for (const Dim &dim : result.dims)
        require(dim.constantOr(0) >= 0, "the result would have extents {}", str(result.dims));
    for (const TensorInfo &result : results) {
      std::vector<int64_t> known;
      for (const Dim &dim : result.dims)
        known.push_back(dim.constantOr(1));
      checkedElements(known, "the result");
    }
    op = nn::build(graph.builder, loc, record.name, operands, attrs);
  } catch (const Error &error) {
    if (runTimeParameter) // a shape that depends on values is unsupported, not a mistake in the model
      unsupported(error.what());
    throw;
  }
  // Symbols may tell static extents where the types alone give `?`.
  for (size_t i = 0; i < results.size() && i < op->getNumResults(); ++i) {
    op->getResult(i).setType(nn::toMlirType(graph.builder.getContext(), results[i]));
    graph.known.setInfo(op->getResult(i), results[i]);
  }
  return op;
}

mlir::Value Node::constantInts(const std::vector<int64_t> &dims, const std::vector<int64_t> &values) {
  TensorData data{ElementType::i64, dims, {}, {}};
  const char *bytes = reinterpret_cast<const char *>(values.data());
  data.bytes.assign(bytes, bytes + values.size() * sizeof(int64_t));
  return constant(data);
}

mlir::Value Node::constantScalar(ElementType type, double value) {
  mlir::Builder &b = graph.builder;
  auto tensor = mlir::RankedTensorType::get({}, nn::toMlir(b.getContext(), type));
  mlir::DenseElementsAttr attr;
  if (auto floating = llvm::dyn_cast<mlir::FloatType>(tensor.getElementType()))
    attr = mlir::DenseElementsAttr::get(tensor, b.getFloatAttr(floating, value).getValue());
  else if (auto integer = llvm::dyn_cast<mlir::IntegerType>(tensor.getElementType()))
    attr = mlir::DenseElementsAttr::get(
        tensor, llvm::APInt(integer.getWidth(), static_cast<uint64_t>(static_cast<int64_t>(value))));
  else
    unsupported(fmt::format("element type {} has no constants", lathe::name(type)));
  return graph.builder.create<nn::ConstantOp>(loc, tensor, attr);
}

/// One extent of `value`, a vector of one element.
static mlir::Value extentAt(Node &node, mlir::Value value, int64_t axis) {
  return node.emit("shape", {value}, {{"start", axis}, {"end", axis + 1}});
}

/// The operand of the node that has the extents `dims`; null if there is none, or if it is ambiguous.
static mlir::Value operandLike(Node &node, const Dims &dims) {
  mlir::Value found;
  bool unknown = std::any_of(dims.begin(), dims.end(), isUnknown);
  for (size_t i = 0; i < node.inputCount(); ++i) {
    if (!node.has(i) || node.info(node.in(i)).dims != dims || node.in(i) == found)
      continue;
    if (found && unknown)
      return {};
    found = found ? found : node.in(i);
  }
  return found;
}

/// Reads the extent `dim`, which is not constant, from the shape of an operand that has it; null if there is none.
static mlir::Value extentOfOperand(Node &node, const Dim &dim) {
  for (size_t i = 0; i < node.inputCount() && !isUnknown(dim); ++i)
    if (node.has(i)) {
      const Dims &own = node.info(node.in(i)).dims;
      if (auto at = std::find(own.begin(), own.end(), dim); at != own.end())
        return extentAt(node, node.in(i), at - own.begin());
    }
  return {};
}

/// Computes `dim` as a product of neighbouring extents of `x`; null if it is not such a product.
static mlir::Value productOfExtents(Node &node, mlir::Value x, const Dim &dim) {
  const Dims own = node.info(x).dims;
  for (size_t first = 0; first < own.size() && !isUnknown(dim); ++first)
    for (size_t last = first + 2; last <= own.size() && !isUnknown(own[first]) && !isUnknown(own[last - 1]); ++last)
      if (product(std::span(own).subspan(first, last - first)) == dim) {
        mlir::Value result = extentAt(node, x, static_cast<int64_t>(first));
        for (size_t axis = first + 1; axis < last; ++axis)
          result = node.emit("mul", {result, extentAt(node, x, static_cast<int64_t>(axis))});
        return result;
      }
  return {};
}

/// The values of `dims` as an operand. Extents that are not constant are extents of `x` in the same order, products of
/// them, or extents of an operand of the node. One other extent becomes -1, which reshape infers.
static mlir::Value extentsOf(Node &node, mlir::Value x, const Dims &dims) {
  if (mlir::Value like = operandLike(node, dims))
    return node.emit("shape", {like});
  const Dims own = node.info(x).dims;
  std::vector<mlir::Value> parts;
  bool inferred = false;
  int64_t next = 0; // unknown extents compare equal: each one stands for the next one of x
  for (const Dim &dim : dims) {
    const int64_t at = std::find(own.begin() + next, own.end(), dim) - own.begin();
    if (dim.isConstant()) {
      parts.push_back(node.constantInts({1}, {dim.constant()}));
    } else if (at < static_cast<int64_t>(own.size())) {
      parts.push_back(extentAt(node, x, at));
      next = at + 1;
    } else if (mlir::Value given = extentOfOperand(node, dim)) {
      parts.push_back(given);
    } else if (mlir::Value made = productOfExtents(node, x, dim)) {
      parts.push_back(made);
    } else if (!inferred) {
      parts.push_back(node.constantInts({1}, {-1}));
      inferred = true;
    } else {
      node.unsupported(
          fmt::format("reshaping {} to {} computes more than one extent; give them with --shape", str(own), str(dims)));
    }
  }
  return node.emit("concat", parts, {{"axis", int64_t(0)}});
}

/// If `dims` are two products, of the extents before an axis and of the extents from this axis on, the number of axes
/// in the second product; otherwise 0.
static size_t axesBehind(const Dims &own, const Dims &dims) {
  for (size_t axis = 1; dims.size() == 2 && axis < own.size(); ++axis)
    if (product(std::span(own).first(axis)) == dims[0] && product(std::span(own).subspan(axis)) == dims[1])
      return own.size() - axis;
  return 0;
}

mlir::Value Node::reshape(mlir::Value x, const Dims &dims) {
  const TensorInfo known = info(x);
  if (known.dims == dims)
    return x;
  // If both extents are products of several extents, two reshapes compute one product each.
  if (size_t behind = axesBehind(known.dims, dims);
      behind > 1 && behind + 1 < known.dims.size() && !dims[0].isConstant() && !dims[1].isConstant()) {
    Dims joined(known.dims.begin(), known.dims.end() - static_cast<int64_t>(behind));
    joined.push_back(dims[1]);
    return reshape(reshape(x, joined), dims);
  }
  std::vector<int64_t> shape;
  bool zero = false, copies = false, inferred = false, computed = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].isConstant()) {
      shape.push_back(dims[i].constant());
      zero |= shape.back() == 0;
    } else if (i < known.dims.size() && known.dims[i] == dims[i]) {
      shape.push_back(0);
      copies = true;
    } else {
      shape.push_back(-1);
      computed |= inferred;
      inferred = true;
    }
  }
  mlir::Value result;
  if (computed || (zero && (copies || inferred)))
    result = emit("reshape", {x, extentsOf(*this, x, dims)}, {{"allow_zero", true}});
  else
    result = emit("reshape", {x}, {{"shape", shape}, {"allow_zero", zero}});
  TensorInfo better = info(result);
  better.dims = dims;
  result.setType(nn::toMlirType(graph.builder.getContext(), better));
  graph.known.setInfo(result, better);
  return result;
}

mlir::Value Node::expand(mlir::Value x, const Dims &dims, mlir::Value like) {
  std::vector<int64_t> shape;
  for (const Dim &dim : dims)
    if (dim.isConstant())
      shape.push_back(dim.constant());
  if (shape.size() == dims.size())
    return emit("expand", {x}, {{"shape", shape}});
  return emit("expand", {x, extentsOf(*this, like, dims)});
}

mlir::Value Node::cast(mlir::Value x, ElementType type) {
  return info(x).type == type ? x : emit("cast", {x}, {{"to", type}});
}

} // namespace lathe::source
