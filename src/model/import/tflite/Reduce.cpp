// Reductions, softmax and normalisation along axes.
#include "import/tflite/Tflite.h"

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;

void importSoftmax(Operator &op) {
  mlir::Value x = op.in(0);
  float beta = op.options<file::SoftmaxOptions>(BuiltinOptions::Softmax).beta();
  if (beta != 1)
    x = op.emit("mul", {x, op.number(op.typeOf(x), beta)});
  op.set(op.emit("softmax", {x}, {{"axis", -1}}));
}

/// Sums of squares below 1e-6 count as 1e-6.
void importL2Normalization(Operator &op) {
  op.set(op.emit("lp_normalize", {op.in(0)}, {{"axis", -1}, {"p", 2}, {"epsilon", 1e-3}}));
}

/// nn divides alpha by the number of channels, TFLite does not.
void importLocalResponse(Operator &op) {
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

} // namespace

Reduction readReduction(Operator &op) {
  Reduction reduction;
  reduction.axes = normalizeAxes(op.node.requireInts(1, "the axes"), op.rank(op.in(0)), "an axis");
  reduction.keepDims = op.options<file::ReducerOptions>(BuiltinOptions::Reducer).keep_dims();
  return reduction;
}

void addReduceImporters(Importers &table) {
  table[SOFTMAX] = {importSoftmax, 1};
  table[L2_NORMALIZATION] = {importL2Normalization, 1};
  table[LOCAL_RESPONSE_NORMALIZATION] = {importLocalResponse, 1};
}

} // namespace lathe::tflite
