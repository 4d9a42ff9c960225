// Layers of several tensors, and functions of keras.ops and TensorFlow that models call like layers.
#include "import/keras/Keras.h"

namespace lathe::keras {
namespace {

using Ints = std::vector<int64_t>;

/// Brings all operands to one rank: inserts axes of extent 1 behind the batch.
Values mergeOperands(Layer &layer) {
  Values operands;
  int64_t most = 0;
  for (size_t i = 0; i < layer.tensorCount(); ++i) {
    operands.push_back(layer.in(i));
    most = std::max(most, layer.rank(operands.back()));
  }
  require(!operands.empty(), "has no operands");
  for (mlir::Value &operand : operands)
    if (int64_t rank = layer.rank(operand); rank < most && rank > 0) {
      Dims dims = layer.dims(operand);
      dims.insert(dims.begin() + 1, static_cast<size_t>(most - rank), Dim(1));
      operand = layer.node.reshape(operand, dims);
    }
  return operands;
}

mlir::Value folded(Layer &layer, const char *mnemonic, const Values &operands) {
  mlir::Value y = operands[0];
  for (size_t i = 1; i < operands.size(); ++i)
    y = layer.emit(mnemonic, {y, operands[i]});
  return y;
}

void importAdd(Layer &layer) { layer.set(folded(layer, "add", mergeOperands(layer))); }
void importMultiply(Layer &layer) { layer.set(folded(layer, "mul", mergeOperands(layer))); }
void importMaximum(Layer &layer) { layer.set(folded(layer, "max", mergeOperands(layer))); }
void importMinimum(Layer &layer) { layer.set(folded(layer, "min", mergeOperands(layer))); }

void importSubtract(Layer &layer) {
  require(layer.tensorCount() == 2, "has {} operands, expected 2", layer.tensorCount());
  layer.set(folded(layer, "sub", mergeOperands(layer)));
}

void importAverage(Layer &layer) {
  Values operands = mergeOperands(layer);
  mlir::Value sum = folded(layer, "add", operands);
  layer.set(layer.emit("mul", {sum, layer.scalar(1.0 / static_cast<double>(operands.size()))}));
}

void importConcatenate(Layer &layer) {
  Values operands;
  for (size_t i = 0; i < layer.tensorCount(); ++i)
    operands.push_back(layer.in(i));
  layer.set(
      layer.emit("concat", operands, {{"axis", layer.integer(layer.has("concat_axis") ? "concat_axis" : "axis", -1)}}));
}

/// Keras 1 has one layer for all ways of merging.
void importMerge(Layer &layer) {
  std::string mode = layer.text("mode", "sum");
  if (mode == "sum")
    importAdd(layer);
  else if (mode == "mul")
    importMultiply(layer);
  else if (mode == "max")
    importMaximum(layer);
  else if (mode == "ave")
    importAverage(layer);
  else if (mode == "concat")
    importConcatenate(layer);
  else
    layer.unsupported(fmt::format("mode '{}' is not supported", mode));
}

mlir::Value unit(Layer &layer, mlir::Value x, int64_t axis) {
  Fields along = {{"axes", Ints{axis}}, {"keepdims", true}};
  mlir::Value sum = layer.emit("reduce_sum", {layer.emit("mul", {x, x})}, along);
  return layer.emit("div", {x, layer.emit("sqrt", {layer.emit("max", {sum, layer.scalar(1e-12)})})});
}

/// Sums of products along one axis of each operand, for every row.
void importDot(Layer &layer) {
  require(layer.tensorCount() == 2, "has {} operands, expected 2", layer.tensorCount());
  mlir::Value x = layer.in(0), y = layer.in(1);
  int64_t rankX = layer.rank(x), rankY = layer.rank(y);
  require(rankX >= 2 && rankX <= 8 && rankY >= 2 && rankY <= 8, "operands have ranks {} and {}, expected 2 to 8", rankX,
          rankY);
  Ints axes = layer.integers("axes", 2, -1);
  axes = {normalizeAxis(axes[0], rankX, "axes"), normalizeAxis(axes[1], rankY, "axes")};
  if (layer.flag("normalize", false)) {
    x = unit(layer, x, axes[0]);
    y = unit(layer, y, axes[1]);
  }
  std::string left, right, result = "z";
  for (int64_t axis = 0; axis < rankX; ++axis)
    left += axis == 0 ? 'z' : axis == axes[0] ? 'k' : static_cast<char>('a' + axis);
  for (int64_t axis = 0; axis < rankY; ++axis)
    right += axis == 0 ? 'z' : axis == axes[1] ? 'k' : static_cast<char>('A' + axis);
  for (char label : left + right)
    if (label != 'z' && label != 'k')
      result += label;
  mlir::Value dot = einsum(layer.node, {x, y}, left + "," + right + "->" + result);
  layer.set(result.size() == 1 ? layer.node.reshape(dot, {layer.dims(dot)[0], Dim(1)}) : dot);
}

// ---- Functions ----------------------------------------------------------------------------------------------------

/// An argument that is a tensor or a number, as a tensor of the type of the first operand.
mlir::Value operandOf(Layer &layer, size_t position, const char *name, const char *otherName) {
  const json *given = &layer.argument(position, name);
  if (given->is_null())
    given = &layer.argument(position, otherName);
  if (mlir::Value tensor = layer.tensorOf(*given))
    return tensor;
  if (!given->is_number() && !given->is_boolean())
    layer.unsupported(fmt::format("argument {} is {}, expected a tensor or a number", position, given->type_name()));
  double value = given->is_boolean() ? given->get<bool>() : given->get<double>();
  return layer.node.constantScalar(layer.node.info(layer.in(0)).type, value);
}

void importBinary(Layer &layer, const char *mnemonic) {
  layer.set(layer.emit(mnemonic, {operandOf(layer, 0, "x1", "x"), operandOf(layer, 1, "x2", "y")}));
}

/// Options of a function: of a class in the configuration ("axis"), of TensorFlow an argument.
const json &optionOf(Layer &layer, size_t position, const char *name) {
  const json &own = member(layer.config, name);
  return own.is_null() ? layer.argument(position, name) : own;
}

void importReduction(Layer &layer, const char *mnemonic) {
  const json &axis = optionOf(layer, 1, "axis"), &keep = optionOf(layer, 2, "keepdims");
  Ints axes;
  if (axis.is_number_integer())
    axes.push_back(axis.get<int64_t>());
  else if (axis.is_array())
    axes = axis.get<Ints>();
  else
    for (int64_t i = 0; i < layer.rank(layer.in()); ++i)
      axes.push_back(i);
  layer.set(layer.emit(mnemonic, {layer.in()}, {{"axes", axes}, {"keepdims", keep.is_boolean() && keep.get<bool>()}}));
}

void importSquare(Layer &layer) {
  mlir::Value x = layer.in();
  layer.set(layer.emit("mul", {x, x}));
}

void importTransposeFunction(Layer &layer) {
  const json *perm = &optionOf(layer, 1, "axes");
  if (!perm->is_array())
    perm = &optionOf(layer, 1, "perm");
  layer.set(layer.emit("transpose", {layer.in()}, {{"perm", perm->is_array() ? perm->get<Ints>() : Ints{}}}));
}

void importReshapeFunction(Layer &layer) {
  const json *shape = &optionOf(layer, 1, "newshape");
  if (!shape->is_array())
    shape = &optionOf(layer, 1, "shape");
  if (!shape->is_array())
    layer.unsupported("a shape that is computed is not supported");
  Ints extents;
  for (const json &extent : *shape)
    extents.push_back(extent.is_null() ? -1 : extent.get<int64_t>());
  layer.set(layer.emit("reshape", {layer.in()}, {{"shape", extents}}));
}

void importExpandDims(Layer &layer) {
  Dims dims = layer.dims(layer.in());
  const json &axis = optionOf(layer, 1, "axis");
  int64_t at = axis.is_number_integer() ? axis.get<int64_t>() : 0;
  at = normalizeAxis(at, static_cast<int64_t>(dims.size()) + 1, "axis");
  dims.insert(dims.begin() + at, Dim(1));
  layer.set(layer.node.reshape(layer.in(), dims));
}

void importConcatFunction(Layer &layer) {
  Values operands;
  for (size_t i = 0; i < layer.tensorCount(); ++i)
    operands.push_back(layer.in(i));
  const json &axis = optionOf(layer, 1, "axis");
  layer.set(layer.emit("concat", operands, {{"axis", axis.is_number_integer() ? axis.get<int64_t>() : int64_t(0)}}));
}

void importMatmul(Layer &layer) { layer.set(layer.emit("matmul", {layer.in(0), layer.in(1)})); }

/// A function that an operator record names: a reduction, or an operator on one or two tensors.
void importMapped(Layer &layer) {
  const OpRecord &record = *layer.node.graph.format.mapping(layer.node.record.op, 1).record;
  if (std::string_view(record.family) == "reduce")
    return importReduction(layer, record.name);
  if (record.operands.size() == 2)
    return importBinary(layer, record.name);
  layer.set(layer.emit(record.name, {layer.in()}));
}

void addFunctions(Importers &table) {
  auto both = [&](const char *keras, std::initializer_list<const char *> tensorflow, Importer importer) {
    table[std::string("ops.") + keras] = importer;
    for (const char *name : tensorflow)
      table[std::string("tf.") + name] = importer;
  };
  for (const MappedOp &mapped : mappings("keras"))
    table[mapped.mapping->op] = {importMapped, fmt::format("`{}`", mapped.record->name)};
  both("Square", {"math.square"}, {importSquare, "`mul`"});
  both("Matmul", {"linalg.matmul"}, {importMatmul, "`matmul`"});
  both("Transpose", {"compat.v1.transpose", "transpose"}, {importTransposeFunction, "`transpose`"});
  both("Reshape", {"reshape"}, {importReshapeFunction, "`reshape`"});
  both("ExpandDims", {"expand_dims"}, {importExpandDims, "`reshape`"});
  both("Concatenate", {"concat"}, {importConcatFunction, "`concat`"});
}

} // namespace

void addMergeImporters(Importers &table) {
  table["Add"] = {importAdd, "`add`", MaskUse::joins};
  table["Subtract"] = {importSubtract, "`sub`", MaskUse::joins};
  table["Multiply"] = {importMultiply, "`mul`", MaskUse::joins};
  table["Average"] = {importAverage, "`add`, `mul`", MaskUse::joins};
  table["Maximum"] = {importMaximum, "`max`", MaskUse::joins};
  table["Minimum"] = {importMinimum, "`min`", MaskUse::joins};
  table["Concatenate"] = {importConcatenate, "`concat`", MaskUse::joins};
  table["Merge"] = {importMerge, "the layer of its mode (Keras 1)"};
  table["Dot"] = {importDot, "`matmul`, `reshape`"};
  addFunctions(table);
}

} // namespace lathe::keras
