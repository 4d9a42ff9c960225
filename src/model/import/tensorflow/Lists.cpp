// TensorArray and TensorList. A list is a tensor with its elements along axis 0. Until the first element is written,
// only the number of elements is known, and this scalar ("reserve") stands for the list. A growing list begins with few
// elements, or with none. The handle of a TensorArray is its initial number of elements: a vector of one element if the
// array grows when an element beyond its end is written, otherwise a scalar.
#include "import/tensorflow/TensorFlow.h"
#include "support/DimForms.h"

namespace lathe::tensorflow {
namespace {

bool isReserve(Operator &op, mlir::Value list) { return op.rank(list) == 0; }

/// Makes the extents of an element the extents of axes 1 and on.
void setElementDims(Graph &graph, mlir::Value list, const Dims &element) {
  TensorInfo better = graph.info(list);
  better.dims.resize(1 + element.size());
  std::copy(element.begin(), element.end(), better.dims.begin() + 1);
  list.setType(nn::toMlirType(graph.builder.getContext(), better));
  graph.known.setInfo(list, better);
}

/// A list of `reserve` zeros with the extents of `element`.
mlir::Value zeros(Operator &op, mlir::Value reserve, mlir::Value element) {
  mlir::Value shape = op.node.reshape(op.wide(reserve), {Dim(1)});
  if (op.rank(element))
    shape = op.emit("concat", {shape, op.emit("shape", {element})}, {{"axis", 0}});
  mlir::Value list = filled(op, shape, op.typeOf(element), 0);
  setElementDims(op.node.graph, list, op.dims(element));
  return list;
}

mlir::Value readAt(Operator &op, mlir::Value list, mlir::Value index) {
  if (isReserve(op, list))
    op.unsupported("reads a list to which nothing was written");
  return op.emit("gather", {list, op.node.reshape(op.wide(index), {})}, {{"axis", 0}});
}

mlir::Value writtenAt(Operator &op, mlir::Value list, mlir::Value index, mlir::Value element) {
  if (isReserve(op, list))
    list = zeros(op, list, element);
  Dims row = op.dims(element);
  row.insert(row.begin(), Dim(1));
  mlir::Value place = op.node.reshape(op.wide(index), {Dim(1), Dim(1)});
  return op.emit("scatter_nd", {list, place, op.node.reshape(element, row)});
}

/// Appends zeros to the list, so that it holds at least `count` elements. `count` is an i64 scalar.
mlir::Value grown(Operator &op, mlir::Value list, mlir::Value count) {
  Node &node = op.node;
  mlir::Value own = op.emit("shape", {list}, {{"start", 0}, {"end", 1}});
  mlir::Value missing = op.emit("sub", {op.emit("max", {own, node.reshape(count, {Dim(1)})}), own});
  mlir::Value shape = missing;
  if (op.rank(list) > 1)
    shape =
        op.emit("concat", {missing, op.emit("shape", {list}, {{"start", 1}, {"end", op.rank(list)}})}, {{"axis", 0}});
  const Dims dims = op.dims(list);
  mlir::Value more = filled(op, shape, op.typeOf(list), 0);
  setElementDims(node.graph, more, Dims(dims.begin() + 1, dims.end()));
  return op.emit("concat", {list, more}, {{"axis", 0}});
}

/// Like `writtenAt`, but the list grows if needed.
mlir::Value writtenOrGrown(Operator &op, mlir::Value list, mlir::Value index, mlir::Value element) {
  if (isReserve(op, list))
    list = zeros(op, list, element);
  mlir::Value place = op.node.reshape(op.wide(index), {});
  return writtenAt(op, grown(op, list, op.emit("add", {place, op.node.constantInts({}, {1})})), index, element);
}

/// True if `indices` are known to be 0 to `count` - 1: as constants, or as an nn.range from 0 to `count`.
bool countsAll(Operator &op, mlir::Value indices, const Dim &count) {
  auto known = op.node.staticInts(indices);
  mlir::Operation *made = indices.getDefiningOp();
  if (!known && made && made->getName().getStringRef() == "nn.cast")
    made = made->getOperand(0).getDefiningOp();
  if (!known && made && made->getName().getStringRef() == "nn.range") {
    const auto &limit = op.node.info(made->getOperand(1)).contents;
    return op.node.staticInts(made->getOperand(0)) == Ints{0} && op.node.staticInts(made->getOperand(2)) == Ints{1} &&
           limit && limit->size() == 1 && limit->front() == count && !isUnknown(count);
  }
  if (!known || !count.isConstant() || static_cast<int64_t>(known->size()) != count.constant())
    return false;
  for (size_t i = 0; i < known->size(); ++i)
    if ((*known)[i] != static_cast<int64_t>(i))
      return false;
  return true;
}

void ignoreShapes(Operator &op) {
  op.node.ignore({"dtype", "element_dtype", "element_shape", "element_shape_except0", "shape_type", "dynamic_size",
                  "clear_after_read", "identical_element_shapes", "tensor_array_name", "num_elements"});
}

// ---- TensorArray: handle, then the flow, which is the list --------------------------------------------------------

void importArray(Operator &op) {
  ignoreShapes(op);
  bool grows = op.boolAttr("dynamic_size", false);
  mlir::Value count = op.wide(op.scalar(0));
  op.set(grows ? op.node.reshape(count, {Dim(1)}) : count);
  op.node.set(1, count);
}

/// True if the array whose handle is operand `index` grows.
bool arrayGrows(Operator &op, size_t index) { return op.rank(op.in(index)) == 1; }

void importArrayRead(Operator &op) { // handle, index, flow
  ignoreShapes(op);
  op.set(readAt(op, op.in(2), op.in(1)));
}

void importArrayWrite(Operator &op) { // handle, index, element, flow
  ignoreShapes(op);
  op.set((arrayGrows(op, 0) ? writtenOrGrown : writtenAt)(op, op.in(3), op.in(1), op.in(2)));
}

void importArrayScatter(Operator &op) { // handle, indices, elements, flow
  ignoreShapes(op);
  mlir::Value elements = op.in(2), list = op.in(3);
  const Dims dims = op.dims(elements);
  require(!dims.empty(), "its elements are a scalar");
  if (countsAll(op, op.in(1), dims[0])) {
    op.set(elements);
    return;
  }
  if (isReserve(op, list))
    list = zeros(op, list, op.node.reshape(cut(op, elements, 0, 0, 1), Dims(dims.begin() + 1, dims.end())));
  mlir::Value indices = op.wide(1);
  if (arrayGrows(op, 0)) {
    mlir::Value last =
        op.emit("reduce_max", {op.emit("concat", {indices, op.node.constantInts({1}, {-1})}, {{"axis", 0}})},
                {{"axes", Ints{0}}, {"keepdims", false}});
    list = grown(op, list, op.emit("add", {last, op.node.constantInts({}, {1})}));
  }
  mlir::Value places = op.node.reshape(indices, {op.dims(op.in(1)).at(0), Dim(1)});
  op.set(op.emit("scatter_nd", {list, places, elements}));
}

void importArrayGather(Operator &op) { // handle, indices, flow
  ignoreShapes(op);
  mlir::Value list = op.in(2);
  if (isReserve(op, list))
    op.unsupported("reads a list to which nothing was written");
  bool all = countsAll(op, op.in(1), op.dims(list)[0]);
  op.set(all ? list : op.emit("gather", {list, op.wide(1)}, {{"axis", 0}}));
}

/// The number of elements that a list holds, a scalar.
mlir::Value countOf(Operator &op, mlir::Value list) {
  return isReserve(op, list) ? list : op.node.reshape(op.emit("shape", {list}, {{"start", 0}, {"end", 1}}), {});
}

void importArraySize(Operator &op) { // handle, flow
  // An array that is filled at once may start with 0 elements. Otherwise the handle tells the number better than a list
  // that a loop carries.
  auto made = op.node.staticInts(op.in(0));
  bool grows = arrayGrows(op, 0) || (made && made->size() == 1 && made->front() == 0);
  op.set(op.node.cast(grows ? countOf(op, op.in(1)) : op.in(0), ElementType::i32));
}

// ---- TensorList ---------------------------------------------------------------------------------------------------

void importListReserve(Operator &op) { // extents of an element, number of elements
  ignoreShapes(op);
  op.set(op.wide(op.scalar(1)));
}

void importListFromTensor(Operator &op) {
  ignoreShapes(op);
  op.set(op.in(0));
}

void importListGet(Operator &op) { // list, index, extents of an element
  ignoreShapes(op);
  op.set(readAt(op, op.in(0), op.in(1)));
}

void importListSet(Operator &op) { // list, index, element
  ignoreShapes(op);
  bool grows = op.boolAttr("resize_if_index_out_of_bounds", false);
  op.set((grows ? writtenOrGrown : writtenAt)(op, op.in(0), op.in(1), op.in(2)));
}

/// Imports the resizing of a list: it is cut, or extended with zeros.
void importListResize(Operator &op) { // list, number of elements
  mlir::Value list = op.in(0), count = op.wide(op.scalar(1));
  if (isReserve(op, list)) {
    op.set(count);
    return;
  }
  mlir::Value end = op.node.reshape(count, {Dim(1)});
  op.set(op.emit("slice", {grown(op, list, count), op.node.constantInts({1}, {0}), end, {}, {}}));
}

void importListStack(Operator &op) { // list, extents of an element
  ignoreShapes(op);
  if (isReserve(op, op.in(0)))
    op.unsupported("stacks a list to which nothing was written");
  op.set(op.in(0));
}

void importListLength(Operator &op) { op.set(op.node.cast(countOf(op, op.in(0)), ElementType::i32)); }

// ---- Lists that grow and shrink -----------------------------------------------------------------------------------

void importEmptyList(Operator &op) { // extents of an element, most elements
  ignoreShapes(op);
  op.set(op.node.constantInts({}, {0}));
}

/// Makes a list of one element.
mlir::Value asList(Operator &op, mlir::Value element) {
  Dims dims = op.dims(element);
  dims.insert(dims.begin(), Dim(1));
  return op.node.reshape(element, dims);
}

void importListPush(Operator &op) { // list, element
  ignoreShapes(op);
  mlir::Value list = op.in(0), element = op.in(1);
  if (isReserve(op, list)) {
    auto count = op.node.staticInts(list);
    if (count && count->front() == 0) {
      op.set(asList(op, element));
      return;
    }
    list = zeros(op, list, element);
  }
  op.set(op.emit("concat", {list, asList(op, element)}, {{"axis", 0}}));
}

void importListPop(Operator &op) { // list, extents of an element
  ignoreShapes(op);
  mlir::Value list = op.in(0);
  if (isReserve(op, list))
    op.unsupported("takes an element from a list to which nothing was written");
  Fields rest = {{"starts", Ints{0}}, {"ends", Ints{-1}}, {"axes", Ints{0}}};
  op.set(op.emit("slice", {list}, rest));
  op.node.set(1, op.emit("gather", {list, op.node.constantInts({}, {-1})}, {{"axis", 0}}));
}

/// Concatenates all elements along their first axis; the second result is the extent of this axis for each element. All
/// elements of a list have the same extents here.
void setConcatenation(Operator &op, mlir::Value list) {
  if (isReserve(op, list))
    op.unsupported("joins a list to which nothing was written");
  const Dims dims = op.dims(list);
  require(dims.size() >= 2, "its elements are scalars, expected at least one axis");
  Dims joined(dims.begin() + 2, dims.end());
  joined.insert(joined.begin(), dims[0] * dims[1]);
  op.set(op.node.reshape(list, joined));
  mlir::Value extent = op.node.reshape(op.emit("shape", {list}, {{"start", 1}, {"end", 2}}), {});
  op.node.set(1, broadcastTo(op, extent, op.emit("shape", {list}, {{"start", 0}, {"end", 1}})));
}

void importListConcat(Operator &op) { // list; version 2: extents of an element, missing extents
  ignoreShapes(op);
  setConcatenation(op, op.in(0));
}

void importArrayConcat(Operator &op) { // handle, flow
  ignoreShapes(op);
  setConcatenation(op, op.in(1));
}

/// Splits a tensor along axis 0 into pieces, whose extents must be known and equal.
void setPiecesAsList(Operator &op, mlir::Value x, size_t lengths) {
  Ints extents = op.node.requireInts(lengths, "the lengths of the pieces");
  for (int64_t extent : extents)
    if (extent != extents[0] || extent < 1)
      op.unsupported("pieces of different lengths");
  Dims dims = op.dims(x);
  require(!dims.empty() && !extents.empty(), "splits rank {} into {} pieces, expected at least rank 1 and 1 piece",
          dims.size(), extents.size());
  dims[0] = Dim(extents[0]);
  dims.insert(dims.begin(), Dim(static_cast<int64_t>(extents.size())));
  op.set(op.node.reshape(x, dims));
}

void importArraySplit(Operator &op) { // handle, tensor, lengths, flow
  ignoreShapes(op);
  setPiecesAsList(op, op.in(1), 2);
}

void importListSplit(Operator &op) { // tensor, extents of an element, lengths
  ignoreShapes(op);
  setPiecesAsList(op, op.in(0), 2);
}

void importListGather(Operator &op) { // list, indices, extents of an element
  ignoreShapes(op);
  if (isReserve(op, op.in(0)))
    op.unsupported("reads a list to which nothing was written");
  op.set(op.emit("gather", {op.in(0), op.wide(1)}, {{"axis", 0}}));
}

} // namespace

mlir::Value filledReserve(StructureNode &node, mlir::Value reserve, const TensorInfo &made, const Values &carried) {
  Node builder(node.graph, node.record, node.loc, {}, node.name);
  Values extents = {builder.cast(builder.reshape(reserve, {Dim(1)}), ElementType::i64)};
  for (size_t axis = 1; axis < made.dims.size(); ++axis) {
    const Dim &extent = made.dims[axis];
    mlir::Value value;
    if (extent.isConstant())
      value = builder.constantInts({1}, {extent.constant()});
    auto read = [&](const Dim &wanted) {
      for (mlir::Value other : carried) {
        const Dims &dims = node.graph.info(other).dims;
        auto at = static_cast<int64_t>(std::find(dims.begin(), dims.end(), wanted) - dims.begin());
        if (!value && at < static_cast<int64_t>(dims.size()))
          value = builder.emit("shape", {other}, {{"start", at}, {"end", at + 1}});
      }
    };
    read(extent);
    // Extents that broadcast count as equal here, so a carried value with one of these symbols gives the extent.
    std::vector<std::string> symbols;
    extent.collectSymbols(symbols);
    Dim meeting = 1;
    for (const std::string &symbol : symbols)
      meeting = broadcastDim(meeting, Dim::symbol(symbol));
    for (const std::string &symbol : symbols)
      if (extent == meeting)
        read(Dim::symbol(symbol));
    if (!value)
      node.unsupported(fmt::format("extent '{}' of what its iterations write is not known before it", extent.str()));
    extents.push_back(value);
  }
  mlir::Value shape = builder.emit("concat", extents, {{"axis", 0}});
  mlir::Value list = builder.emit("constant_of_shape", {shape}, {{"value", 0.0}, {"type", made.type}});
  setElementDims(node.graph, list, Dims(made.dims.begin() + 1, made.dims.end()));
  return list;
}

void addListImporters(Importers &table) {
  table["TensorArrayV3"] = {importArray, 1};
  table["TensorArrayReadV3"] = {importArrayRead, 3};
  table["TensorArrayWriteV3"] = {importArrayWrite, 4};
  table["TensorArrayScatterV3"] = {importArrayScatter, 4};
  table["TensorArrayGatherV3"] = {importArrayGather, 3};
  table["TensorArraySizeV3"] = {importArraySize, 2};
  table["TensorListReserve"] = {importListReserve, 2};
  table["TensorListFromTensor"] = {importListFromTensor, 2};
  table["TensorListGetItem"] = {importListGet, 3};
  table["TensorListSetItem"] = {importListSet, 3};
  table["TensorListResize"] = {importListResize, 2};
  table["TensorListStack"] = {importListStack, 2};
  table["TensorListLength"] = {importListLength, 1};
  table["TensorArrayConcatV3"] = {importArrayConcat, 2};
  table["TensorArraySplitV3"] = {importArraySplit, 4};
  table["EmptyTensorList"] = {importEmptyList, 2};
  table["TensorListPushBack"] = {importListPush, 2};
  table["TensorListPopBack"] = {importListPop, 2};
  table["TensorListConcat"] = {importListConcat, 1};
  table["TensorListConcatV2"] = {importListConcat, 3};
  table["TensorListSplit"] = {importListSplit, 3};
  table["TensorListGather"] = {importListGather, 3};
}

} // namespace lathe::tensorflow
