// Operators that read or write at positions in other tensors, and tensors made from numbers.
#include "import/tflite/Tflite.h"

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;

void importGather(Operator &op) {
  const auto &options = op.options<file::GatherOptions>(BuiltinOptions::Gather);
  op.set(gatherAlong(op, op.in(0), op.wide(1), options.axis(), options.batch_dims()));
}

/// Picks rows of the values; quantised rows become floats.
void importEmbedding(Operator &op) {
  mlir::Value rows = op.emit("gather", {op.in(1), op.wide(0)}, {{"axis", 0}});
  if (op.outputType() != op.inputType(1)) {
    auto from = op.inputQuantization(1);
    if (!from || from->perChannel() || op.outputType() != ElementType::f32)
      op.unsupported(fmt::format("values of {} and results of {}", name(op.inputType(1)), name(op.outputType())));
    mlir::Value number = op.node.cast(rows, ElementType::f32);
    number = op.emit("sub", {number, op.node.constantScalar(ElementType::f32, double(from->zeroPoints[0]))});
    rows = op.emit("mul", {number, op.node.constantScalar(ElementType::f32, from->scales[0])});
  }
  op.set(rows);
}

/// Writes the update at a position known at run time, moved so that the update fits into the operand.
void importDynamicUpdateSlice(Operator &op) {
  mlir::Value x = op.in(0), update = op.in(1), starts = op.wide(2);
  const Dims dims = op.dims(x), part = op.dims(update);
  require(dims.size() == part.size() && !dims.empty(), "the operand is {} and the update {}, expected equal ranks",
          str(dims), str(part));
  if (!allConstant(dims) || !allConstant(part))
    op.unsupported(fmt::format("extents {} and {} are not all known; give them with --shape", str(dims), str(part)));
  Values columns;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    auto at = static_cast<int64_t>(axis);
    mlir::Value start = op.emit("slice", {starts}, {{"starts", Ints{at}}, {"ends", Ints{at + 1}}});
    int64_t last = dims[axis].constant() - part[axis].constant();
    require(last >= 0, "the update {} is larger than the operand {}", str(part), str(dims));
    start = op.emit("max", {op.emit("min", {start, op.node.constantInts({}, {last})}), op.node.constantInts({}, {0})});
    mlir::Value index = op.emit("add", {ramp(op, part[axis].constant(), axis, part.size()), start});
    Dims column = part;
    index = op.node.expand(index, part, update);
    column.push_back(Dim(1));
    columns.push_back(op.node.reshape(index, column));
  }
  op.set(op.emit("scatter_nd", {x, op.emit("concat", columns, {{"axis", -1}}), update}));
}

void importBucketize(Operator &op) {
  const auto *boundaries = op.options<file::BucketizeOptions>(BuiltinOptions::Bucketize).boundaries();
  require(boundaries != nullptr, "has no boundaries");
  op.set(bucketize(op, op.in(0), {boundaries->begin(), boundaries->end()}));
}

} // namespace

void addIndexedImporters(Importers &table) {
  table[GATHER] = {importGather, 2, /*moves=*/true};
  table[EMBEDDING_LOOKUP] = {importEmbedding, 2, /*moves=*/true};
  table[DYNAMIC_UPDATE_SLICE] = {importDynamicUpdateSlice, 3, /*moves=*/true};
  table[BUCKETIZE] = {importBucketize, 1};
}

} // namespace lathe::tflite
