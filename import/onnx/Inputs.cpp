// What a graph is given: its inputs, bound or symbolic, and its initializers.
#include "import/onnx/Graph.h"

#include "ir/SymbolicShapes.h"

#include <algorithm>
#include <set>

namespace lathe::onnx {

/// A dim_param as the name of an extent: letters, digits and underscores, so that it can be read back from text.
/// Different dim_params stay different.
std::string Graph::symbolName(const std::string &param) {
  if (auto known = symbols.find(param); known != symbols.end())
    return known->second;
  std::string wanted;
  for (char c : param)
    wanted += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (wanted.empty() || std::isdigit(static_cast<unsigned char>(wanted[0])))
    wanted = "d" + wanted;
  auto taken = [&](const std::string &name) {
    return std::any_of(symbols.begin(), symbols.end(), [&](auto &entry) { return entry.second == name; });
  };
  std::string name = wanted;
  for (int i = 1; taken(name); ++i)
    name = fmt::format("{}_{}", wanted, i);
  return symbols[param] = name;
}

void Graph::collectInitializers(google::protobuf::RepeatedPtrField<TensorProto> &initializers) {
  for (TensorProto &tensor : initializers) {
    require(!tensor.name().empty(), "{}: an initializer has no name", fileName);
    auto [at, added] = scope->values.emplace(tensor.name(), GraphValue{});
    require(added, "{}: there are two initializers '{}'", fileName, tensor.name());
    at->second.initializer = &tensor;
  }
}

TensorInfo Graph::inputInfo(const ValueInfoProto &input) {
  const TypeProto &type = input.type();
  const std::string &name = input.name();
  if (!type.has_tensor_type()) {
    const char *kind = type.has_sequence_type()        ? "a sequence"
                       : type.has_optional_type()      ? "an optional"
                       : type.has_map_type()           ? "a map"
                       : type.has_sparse_tensor_type() ? "a sparse tensor"
                                                       : "of no type";
    throw Unsupported{fmt::format("input '{}' is {}, expected a tensor", name, kind)};
  }
  TensorInfo result{fromOnnxType(type.tensor_type().elem_type()), {}, std::nullopt};
  if (result.type == ElementType::invalid)
    throw Unsupported{
        fmt::format("input '{}' has element type {}", name, onnxTypeName(type.tensor_type().elem_type()))};
  auto given = options.shapes.find(name);
  if (!type.tensor_type().has_shape()) {
    require(given != options.shapes.end(), "{}: input '{}' has no shape; give one with --shape {}=...", fileName, name,
            name);
    for (int64_t extent : given->second)
      result.dims.push_back(extent < 0 ? Dim::symbol(symbolName(fmt::format("{}_{}", name, result.dims.size())))
                                       : Dim(extent));
    return result;
  }
  for (const TensorShapeProto::Dimension &dim : type.tensor_type().shape().dim()) {
    size_t axis = result.dims.size();
    if (dim.has_dim_value()) {
      require(dim.dim_value() >= 0, "{}: input '{}' has extent {} on axis {}, expected none below 0", fileName, name,
              dim.dim_value(), axis);
      result.dims.push_back(dim.dim_value());
    } else {
      result.dims.push_back(
          Dim::symbol(symbolName(dim.dim_param().empty() ? fmt::format("{}_{}", name, axis) : dim.dim_param())));
    }
  }
  return result;
}

void Graph::declareInputs(mlir::func::FuncOp function) {
  std::vector<std::pair<const ValueInfoProto *, TensorInfo>> inputs;
  std::map<std::string, int64_t> bound; // symbol -> extent given with --shape
  std::set<std::string> names;
  for (const ValueInfoProto &input : model.graph().input()) {
    const std::string &name = input.name();
    require(!name.empty(), "{}: an input has no name", fileName);
    require(names.insert(name).second, "{}: there are two inputs '{}'", fileName, name);
    if (auto known = top.values.find(name); known != top.values.end() && known->second.initializer)
      continue; // a weight listed as an input, as files before IR version 4 do
    try {
      inputs.emplace_back(&input, inputInfo(input));
    } catch (const Unsupported &problem) {
      top.values.emplace(name, GraphValue{});
      issues.push_back({"", "", opset(), "", problem.reason});
      continue;
    }
    Dims &dims = inputs.back().second.dims;
    auto given = options.shapes.find(name);
    if (given == options.shapes.end())
      continue;
    require(given->second.size() == dims.size(), "{}: --shape gives input '{}' {} extents, expected {} ({})", fileName,
            name, given->second.size(), dims.size(), str(dims));
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      int64_t extent = given->second[axis];
      if (extent < 0)
        continue;
      if (dims[axis].isConstant()) {
        require(dims[axis] == Dim(extent), "{}: --shape gives input '{}' extent {} on axis {}, expected {}", fileName,
                name, extent, axis, dims[axis].str());
        continue;
      }
      auto [at, added] = bound.emplace(dims[axis].str(), extent);
      require(added || at->second == extent, "{}: --shape binds '{}' to {} and {}", fileName, at->first, at->second,
              extent);
    }
  }
  for (auto &[name, extents] : options.shapes) {
    auto same = [&](auto &input) { return input.first->name() == name; };
    require(std::any_of(inputs.begin(), inputs.end(), same),
            "{}: --shape names input '{}', which the model does not have", fileName, name);
  }
  auto lookup = [&](const std::string &symbol) -> std::optional<Dim> {
    auto at = bound.find(symbol);
    return at == bound.end() ? std::nullopt : std::optional<Dim>(at->second);
  };
  for (auto &[input, info] : inputs) {
    std::vector<int64_t> known;
    for (Dim &dim : info.dims) {
      dim = dim.substitute(lookup);
      known.push_back(dim.constantOr(1));
    }
    checkedElements(known, fmt::format("{}: input '{}'", fileName, input->name()));
    unsigned index = function.getNumArguments();
    auto loc = mlir::NameLoc::get(builder.getStringAttr(input->name() + " (input)"), function.getLoc());
    mlir::NamedAttrList attrs;
    attrs.set("nn.name", builder.getStringAttr(input->name()));
    if (!allConstant(info.dims))
      attrs.set("nn.dims", nn::dimsAttr(context, info.dims));
    function.insertArgument(index, nn::toMlirType(context, info), attrs.getDictionary(context), loc);
    mlir::Value argument = function.getArgument(index);
    setInfo(argument, info);
    top.values.emplace(input->name(), GraphValue{{argument, {}, false}, -1, nullptr});
  }
}

} // namespace lathe::onnx
