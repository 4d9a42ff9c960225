// Reductions along axes, and what runs along one axis.
#include "import/tensorflow/TensorFlow.h"

namespace lathe::tensorflow {
namespace {

struct Reduction {
  const char *op, *mnemonic;
};
constexpr Reduction reductions[] = {{"All", "reduce_min"},   {"Any", "reduce_max"},   {"EuclideanNorm", "reduce_l2"},
                                    {"Max", "reduce_max"},   {"Mean", "reduce_mean"}, {"Min", "reduce_min"},
                                    {"Prod", "reduce_prod"}, {"Sum", "reduce_sum"}};

void importReduction(Operator &op) {
  op.node.expectInputs(2, 2);
  const char *mnemonic = nullptr;
  for (const Reduction &row : reductions)
    if (op.code() == row.op)
      mnemonic = row.mnemonic;
  mlir::Value x = op.in(0);
  auto given = op.node.staticInts(op.in(1)); // nothing where the axes are computed at run time
  Ints axes = normalizeAxes(given.value_or(Ints()), op.rank(x), "an axis");
  bool keep = op.boolAttr("keep_dims", false), logical = op.typeOf(x) == ElementType::boolean;
  if (given && axes.empty()) {
    op.set(op.code() == "EuclideanNorm" ? op.emit("abs", {x}) : x);
    return;
  }
  if (logical)
    x = op.node.cast(x, ElementType::u8);
  mlir::Value y = given ? op.emit(mnemonic, {x}, {{"axes", axes}, {"keepdims", keep}})
                        : op.emit(mnemonic, {x, op.wide(1)}, {{"keepdims", keep}, {"noop_with_empty_axes", true}});
  op.set(logical ? op.node.cast(y, ElementType::boolean) : y);
}

void importArgExtreme(Operator &op) {
  op.node.expectInputs(2, 2);
  int64_t axis = axisOperand(op, 1, op.rank(op.in(0)));
  mlir::Value y =
      op.emit(op.code() == "ArgMax" ? "arg_max" : "arg_min", {op.in(0)}, {{"axis", axis}, {"keepdims", false}});
  op.set(op.node.cast(y, op.typeAttr("output_type", ElementType::i64)));
}

void importSoftmax(Operator &op) {
  op.node.expectInputs(1, 1);
  op.set(op.emit(op.code() == "Softmax" ? "softmax" : "log_softmax", {op.in(0)}, {{"axis", -1}}));
}

void importCumulative(Operator &op) {
  op.node.expectInputs(2, 2);
  int64_t axis = axisOperand(op, 1, op.rank(op.in(0)));
  op.set(op.emit(
      op.code() == "Cumsum" ? "cum_sum" : "cum_prod", {op.in(0)},
      {{"axis", axis}, {"exclusive", op.boolAttr("exclusive", false)}, {"reverse", op.boolAttr("reverse", false)}}));
}

} // namespace

void addReduceImporters(Importers &table) {
  for (const Reduction &row : reductions)
    table[row.op] = {importReduction};
  table["ArgMax"] = table["ArgMin"] = {importArgExtreme};
  table["Softmax"] = table["LogSoftmax"] = {importSoftmax};
  table["Cumsum"] = table["Cumprod"] = {importCumulative};
}

} // namespace lathe::tensorflow
