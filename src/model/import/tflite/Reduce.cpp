// Reductions, softmax and normalisation along axes.
#include "import/tflite/Tflite.h"

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;

const char *reductionOf(BuiltinOperator code) {
  switch (code) {
  case MEAN:
    return "reduce_mean";
  case SUM:
    return "reduce_sum";
  case REDUCE_PROD:
    return "reduce_prod";
  case REDUCE_MIN:
  case REDUCE_ALL:
    return "reduce_min";
  default:
    return "reduce_max";
  }
}

bool keepsDims(Operator &op) { return op.options<file::ReducerOptions>(BuiltinOptions::Reducer).keep_dims(); }

void importReduction(Operator &op) {
  op.node.expectInputs(2, 2);
  bool computed = !op.node.staticInts(op.in(1));
  Reduction reduction = computed ? Reduction() : readReduction(op);
  mlir::Value x = op.in(0);
  bool logical = op.code() == REDUCE_ALL || op.code() == REDUCE_ANY;
  if (!computed && reduction.axes.empty()) {
    op.set(x);
    return;
  }
  if (logical)
    x = op.node.cast(x, ElementType::u8);
  Values operands = {x};
  Fields fields = {{"axes", reduction.axes}, {"keepdims", keepsDims(op)}};
  if (computed) {
    operands.push_back(op.wide(1));
    fields.emplace_back("noop_with_empty_axes", true);
  }
  mlir::Value y = op.emit(reductionOf(op.code()), operands, fields);
  op.set(logical ? op.node.cast(y, ElementType::boolean) : y);
}

void importArgExtreme(Operator &op) {
  op.node.expectInputs(2, 2);
  int64_t axis = axisOperand(op, 1, op.rank(op.in(0)));
  mlir::Value y =
      op.emit(op.code() == ARG_MAX ? "arg_max" : "arg_min", {op.in(0)}, {{"axis", axis}, {"keepdims", false}});
  op.set(op.node.cast(y, op.outputType()));
}

void importSoftmax(Operator &op) {
  op.node.expectInputs(1, 1);
  mlir::Value x = op.in(0);
  if (op.code() == SOFTMAX) {
    float beta = op.options<file::SoftmaxOptions>(BuiltinOptions::Softmax).beta();
    if (beta != 1)
      x = op.emit("mul", {x, op.node.constantScalar(op.node.info(x).type, beta)});
  }
  op.set(op.emit(op.code() == SOFTMAX ? "softmax" : "log_softmax", {x}, {{"axis", -1}}));
}

/// Squares that add up to less than 1e-6 count as that.
void importL2Normalization(Operator &op) {
  op.node.expectInputs(1, 1);
  op.set(op.emit("lp_normalize", {op.in(0)}, {{"axis", -1}, {"p", 2}, {"epsilon", 1e-3}}));
}

/// nn divides alpha by the number of channels, TFLite does not.
void importLocalResponse(Operator &op) {
  op.node.expectInputs(1, 1);
  const auto &options = op.options<file::LocalResponseNormalizationOptions>(BuiltinOptions::LocalResponseNormalization);
  require(options.radius() >= 0 && options.radius() < (1 << 20), "radius is {}, expected a small positive number",
          options.radius());
  int64_t size = 2 * int64_t(options.radius()) + 1;
  mlir::Value y = op.emit("lrn", {channelsFirst(op.node, op.in(0))},
                          {{"size", size},
                           {"alpha", shortestDouble(options.alpha()) * static_cast<double>(size)},
                           {"beta", shortestDouble(options.beta())},
                           {"bias", shortestDouble(options.bias())}});
  op.set(channelsLast(op.node, y));
}

void importCumSum(Operator &op) {
  op.node.expectInputs(2, 2);
  const auto &options = op.options<file::CumsumOptions>(BuiltinOptions::Cumsum);
  int64_t axis = axisOperand(op, 1, op.rank(op.in(0)));
  op.set(op.emit("cum_sum", {op.in(0)},
                 {{"axis", axis}, {"exclusive", options.exclusive()}, {"reverse", options.reverse()}}));
}

} // namespace

Reduction readReduction(Operator &op) {
  Reduction reduction;
  reduction.axes = normalizeAxes(op.node.requireInts(1, "the axes"), op.rank(op.in(0)), "an axis");
  reduction.keepDims = keepsDims(op);
  return reduction;
}

void addReduceImporters(Importers &table) {
  for (BuiltinOperator code : {MEAN, SUM, REDUCE_PROD, REDUCE_MIN, REDUCE_MAX, REDUCE_ALL, REDUCE_ANY})
    table[code] = {importReduction};
  table[REDUCE_MAX].moves = table[REDUCE_MIN].moves = true; // the order of quantised elements is that of the numbers
  table[ARG_MAX] = {importArgExtreme, /*moves=*/true};
  table[ARG_MIN] = {importArgExtreme, /*moves=*/true};
  table[SOFTMAX] = {importSoftmax};
  table[LOG_SOFTMAX] = {importSoftmax};
  table[L2_NORMALIZATION] = {importL2Normalization};
  table[LOCAL_RESPONSE_NORMALIZATION] = {importLocalResponse};
  table[CUMSUM] = {importCumSum};
}

} // namespace lathe::tflite
