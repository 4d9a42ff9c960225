#include "import/tensorflow/TensorFlow.h"

#include "import/parts/Common.h"

namespace lathe::tensorflow {
namespace {

Importers makeImporters() {
  Importers table;
  for (const MappedOp &mapped : mappings("tensorflow"))
    table[mapped.mapping->op] = {[](Operator &op) { importDirectly(op.node); }};
  for (const CommonOperator &common : commonOperators())
    if (*common.tensorflow)
      table[common.tensorflow] = {common.run, common.operands};
  addElementwiseImporters(table);
  addWindowImporters(table);
  addNormalizeImporters(table);
  addProductImporters(table);
  addViewImporters(table);
  addMovementImporters(table);
  addIndexedImporters(table);
  addImageImporters(table);
  addColourImporters(table);
  addComposedImporters(table);
  addRecurrentImporters(table);
  addListImporters(table);
  addValueImporters(table);
  return table;
}

void importOperator(Node &node) {
  // Attributes that name the types of operands, or concern training, threads and random numbers.
  node.ignore({"T",
               "T1",
               "T2",
               "Tidx",
               "Tindices",
               "Tshape",
               "Tlen",
               "Tpaddings",
               "Tperm",
               "Tdim",
               "Tmultiples",
               "Tblock_shape",
               "Tcrops",
               "Taxis",
               "Tparams",
               "TI",
               "Tin",
               "Tout",
               "Index",
               "N",
               "U",
               "SrcT",
               "index_type",
               "dtype_hint",
               "Tnumsegments",
               "Tboxes",
               "T_threshold",
               "Tk",
               "Tdtype",
               "Ta",
               "Tb",
               "Tcond",
               "Targmax",
               "Tweights",
               "Tlabels",
               "use_cudnn_on_gpu",
               "validate_indices",
               "validate_shape",
               "incompatible_shape_error",
               "seed",
               "seed2",
               "grad_x",
               "grad_y",
               "container",
               "shared_name",
               "allowed_devices",
               "parallel_iterations",
               "swap_memory",
               "Tshift",
               "grad_a",
               "grad_b"});
  Operator op(node);
  const Row &row = importers().at(node.record.op);
  if (!row.run)
    op.unsupported(row.reason);
  node.expectInputs(row.operands.least, row.operands.most);
  row.run(op);
}

Handlers makeHandlers() {
  Handlers result;
  for (const auto &[name, row] : importers())
    result[name] = importOperator;
  return result;
}

bool passesOn(const NodeRecord &node) {
  return node.op == "Identity" || node.op == "Assert+Identity" || node.op == "StopGradient" ||
         node.op == "ReadVariableOp";
}

} // namespace

const Importers &importers() {
  static const Importers table = makeImporters();
  return table;
}

const Format &format() {
  static const Format table = {.name = "TensorFlow",
                               .versionWord = "producer",
                               .read = readModel,
                               .mappings = mappings("tensorflow"),
                               .handlers = makeHandlers(),
                               .structure = structureHandler,
                               .typeOf = elementType,
                               .typeName = typeName,
                               .unknownWithin = unknownWithin,
                               .passesOn = passesOn};
  return table;
}

} // namespace lathe::tensorflow
