// Declares the inputs of a graph and binds their extents, or makes them symbols.
#include "import/Graph.h"

#include "ir/SymbolicShapes.h"

#include <algorithm>
#include <set>

namespace lathe::source {

/// Makes the name of an extent from a format's symbol: letters, digits and underscores, so that a text can be parsed
/// again. Different symbols get different names.
std::string Graph::symbolName(const std::string &symbol) {
  if (auto known = symbols.find(symbol); known != symbols.end())
    return known->second;
  std::string wanted;
  for (char c : symbol)
    wanted += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (wanted.empty() || std::isdigit(static_cast<unsigned char>(wanted[0])))
    wanted = "d" + wanted;
  return symbols[symbol] = symbolNames.take(wanted);
}

TensorInfo Graph::inputInfo(const ValueRecord &input) {
  const std::string &name = input.name;
  if (!input.other.empty())
    throw Unsupported{fmt::format("input '{}' is {}, expected a tensor, a sequence or an optional", name, input.other)};
  TensorInfo result{input.type, {}, std::nullopt};
  if (result.type == ElementType::invalid)
    throw Unsupported{fmt::format("input '{}' has element type {}", name, input.typeName)};
  auto given = options.shapes.find(name);
  if (input.kind != ValueKind::tensor) {
    require(given == options.shapes.end(), "{}: --shape names input '{}', which is {}: it has no shape", fileName, name,
            lathe::name(input.kind));
    result.kind = input.kind;
    if (input.extents) {
      result.items.emplace();
      for (const ExtentRecord &extent : *input.extents)
        result.items->push_back(extent.value && *extent.value >= 0 ? Dim(*extent.value) : unknownDim());
    }
    return result;
  }
  if (!input.extents) {
    require(given != options.shapes.end(), "{}: input '{}' has no shape; give one with --shape {}=...", fileName, name,
            name);
    for (int64_t extent : given->second)
      result.dims.push_back(extent < 0 ? Dim::symbol(symbolName(fmt::format("{}_{}", name, result.dims.size())))
                                       : Dim(extent));
    return result;
  }
  for (const ExtentRecord &extent : *input.extents) {
    size_t axis = result.dims.size();
    if (extent.value) {
      require(*extent.value >= 0, "{}: input '{}' has extent {} on axis {}, expected none below 0", fileName, name,
              *extent.value, axis);
      result.dims.push_back(*extent.value);
    } else {
      result.dims.push_back(
          Dim::symbol(symbolName(extent.symbol.empty() ? fmt::format("{}_{}", name, axis) : extent.symbol)));
    }
  }
  return result;
}

/// Binds open extents, and replaces the other ones that the user gives.
void Graph::bindExtents(const std::string &name, Dims &dims) {
  auto given = options.shapes.find(name);
  if (given == options.shapes.end())
    return;
  require(given->second.size() == dims.size(), "{}: --shape gives input '{}' {} extents, expected {} ({})", fileName,
          name, given->second.size(), dims.size(), str(dims));
  const std::string stated = str(dims);
  bool changed = false;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    int64_t extent = given->second[axis];
    if (extent < 0)
      continue;
    if (dims[axis].isConstant()) {
      changed |= !(dims[axis] == Dim(extent));
      dims[axis] = extent;
      continue;
    }
    auto [at, added] = bound.emplace(dims[axis].str(), extent);
    require(added || at->second == extent, "{}: --shape binds '{}' to {} and {}", fileName, at->first, at->second,
            extent);
  }
  if (changed)
    changedExtents.push_back(fmt::format("input '{}' is {} in the model", name, stated));
}

void Graph::addInput(mlir::func::FuncOp function, const std::string &name, TensorInfo info,
                     const std::optional<Quantization> &quantization) {
  auto lookup = [&](const std::string &symbol) -> std::optional<Dim> {
    auto at = bound.find(symbol);
    return at == bound.end() ? std::nullopt : std::optional<Dim>(at->second);
  };
  std::vector<int64_t> extents;
  for (Dim &dim : info.dims) {
    dim = dim.substitute(lookup);
    extents.push_back(dim.constantOr(1));
  }
  checkedElements(extents, fmt::format("{}: input '{}'", fileName, name));
  unsigned index = function.getNumArguments();
  auto loc = mlir::NameLoc::get(builder.getStringAttr(name + " (input)"), function.getLoc());
  mlir::NamedAttrList attrs;
  attrs.set("nn.name", builder.getStringAttr(name));
  if (info.isTensor() && !allConstant(info.dims))
    attrs.set("nn.dims", nn::dimsAttr(context, info.dims));
  if (quantization)
    attrs.set("nn.quantization", builder.getStringAttr(quantization->str()));
  function.insertArgument(index, nn::toMlirType(context, info), attrs.getDictionary(context), loc);
  mlir::Value argument = function.getArgument(index);
  known.setInfo(argument, info);
  top.values[name] = GraphValue{{argument, {}, false}, -1, nullptr};
}

void Graph::declareInputs(mlir::func::FuncOp function) {
  struct Declared {
    const ValueRecord *record;
    TensorInfo info;
  };
  std::vector<Declared> inputs;
  std::set<std::string> names;
  bound = options.extents;
  for (const ValueRecord &input : model.graph.inputs) {
    const std::string &name = input.name;
    require(!name.empty(), "{}: an input has no name", fileName);
    require(names.insert(name).second, "{}: there are two inputs '{}'", fileName, name);
    if (auto known = top.values.find(name); known != top.values.end() && known->second.initializer)
      continue; // a weight, or a default value that the user does not override
    try {
      inputs.push_back({&input, inputInfo(input)});
    } catch (const Unsupported &problem) {
      top.values.emplace(name, GraphValue{});
      reportValue(oneLine(problem.reason));
      continue;
    }
    bindExtents(name, inputs.back().info.dims);
  }
  for (const NodeRecord &node : model.graph.nodes) // the producer is a node that is left out
    names.insert(node.outputs.begin(), node.outputs.end());
  for (auto &[name, extents] : options.shapes)
    require(names.contains(name), "{}: --shape names input '{}', which the model does not have", fileName, name);
  for (Declared &input : inputs)
    addInput(function, input.record->name, std::move(input.info), input.record->quantization);
}

void Graph::requireShapesUsed() {
  for (auto &[name, extents] : options.shapes) {
    GraphValue *value = find(name);
    require(value && value->value && llvm::isa<mlir::BlockArgument>(value->value),
            "{}: --shape names input '{}', which the model does not have", fileName, name);
  }
}

/// Makes the results of an unsupported node inputs, if their types are known.
void Graph::leaveOut(int index) {
  leftOut.push_back(index);
  auto function = llvm::cast<mlir::func::FuncOp>(top.block->getParentOp());
  std::set<std::string> read;
  for (const NodeRecord &node : model.graph.nodes)
    for (const std::string &name : namesRead(node))
      read.insert(name);
  for (const std::string &name : model.graph.nodes[static_cast<size_t>(index)].outputs) {
    if (!read.contains(name))
      continue;
    ValueRecord record;
    record.name = name;
    record.type = ElementType::f32;
    for (const ValueRecord &value : model.graph.values)
      if (value.name == name)
        record = value;
    if (!record.extents && !options.shapes.contains(name)) {
      unknownValues.push_back(name);
      continue;
    }
    try {
      TensorInfo info = inputInfo(record);
      bindExtents(name, info.dims);
      addInput(function, name, std::move(info), record.quantization);
    } catch (const Unsupported &) {
      unknownValues.push_back(name);
    }
  }
}

} // namespace lathe::source
