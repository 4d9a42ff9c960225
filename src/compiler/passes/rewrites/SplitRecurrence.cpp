#include "ops/recurrent/Recurrent.h"
#include "passes/Passes.h"
#include "passes/Rewrite.h"

namespace lathe {
namespace {

class Splitter {
public:
  explicit Splitter(mlir::Operation *op)
      : op(op), b(op), loc(op->getLoc()), form(recurrentForm(*nn::attrsOf(op))), x(operandOf(op, form.x)),
        w(operandOf(op, form.w)), r(operandOf(op, form.r)) {}

  void run() {
    auto weights = rankedType(w), recurrent = rankedType(r);
    if (!rankedType(x) || !weights || !weights.hasStaticShape() || !recurrent || !recurrent.hasStaticShape())
      return; // the reference runs it
    if (weights.getNumElements() == 0 || recurrent.getNumElements() == 0)
      return; // the reference, too: an extent of 0 in a reshape would copy another one
    hidden = recurrent.getDimSize(2);
    width = form.gates() * hidden;

    // One product for all steps, rows and directions: (T, B, I) x (I, D*G*H).
    int64_t columns = form.directions() * width, extent = weights.getDimSize(2);
    mlir::Value flat = reshape(w, {columns, extent});
    TransposeAttrs swap;
    swap.perm = {1, 0};
    mlir::Value turned = nn::buildValue(b, loc, "transpose", {flat}, std::move(swap));
    mlir::Value gates = nn::buildValue(b, loc, "matmul", {x, turned}, MatMulAttrs());
    mlir::Value hiddenBias;
    if (mlir::Value bias = operandOf(op, form.b))
      gates = nn::buildValue(b, loc, "add", {gates, reshape(joinBiases(bias, hiddenBias), {columns})}, AddAttrs());

    RecurrenceAttrs attrs;
    attrs.cell = form.cell == Cell::lstm ? "lstm" : form.cell == Cell::gru ? "gru" : "rnn";
    attrs.direction = form.direction;
    attrs.clip = form.clip;
    attrs.input_forget = form.inputForget;
    attrs.linear_before_reset = form.linearBeforeReset;
    for (const CellActivation &activation : form.activations) {
      attrs.activations += (attrs.activations.empty() ? "" : ",") + activation.name;
      attrs.activation_alpha.push_back(activation.alpha);
      attrs.activation_beta.push_back(activation.beta);
    }
    mlir::Operation *recurrence = nn::build(
        b, loc, "recurrence",
        {gates, r, hiddenBias, lengths(), nonZero(form.initialH), nonZero(form.initialC), nonZero(form.p)}, attrs);
    for (auto [old, result] : llvm::zip(op->getResults(), recurrence->getResults()))
      old.replaceAllUsesWith(result);
    op->erase();
  }

private:
  mlir::Operation *op;
  mlir::OpBuilder b;
  mlir::Location loc;
  const RecurrentForm form;
  mlir::Value x, w, r;
  int64_t hidden = 0, width = 0; // of one gate, of all gates

  mlir::Value reshape(mlir::Value value, std::vector<int64_t> shape) {
    ReshapeAttrs attrs;
    attrs.shape = std::move(shape);
    return nn::buildValue(b, loc, "reshape", {value}, std::move(attrs));
  }
  mlir::Value columnsOf(mlir::Value bias, int64_t start, int64_t end) {
    SliceAttrs attrs;
    attrs.starts = {start};
    attrs.ends = {end};
    attrs.axes = {1};
    return nn::buildValue(b, loc, "slice", {bias}, std::move(attrs));
  }

  /// D x 2*G*H to D x G*H: adds the two biases of each gate. Where the reset gate scales the product after a bias is
  /// added, that bias stays separate, in `hiddenBias`.
  mlir::Value joinBiases(mlir::Value bias, mlir::Value &hiddenBias) {
    if (form.cell != Cell::gru || !form.linearBeforeReset)
      return nn::buildValue(b, loc, "add", {columnsOf(bias, 0, width), columnsOf(bias, width, 2 * width)}, AddAttrs());
    hiddenBias = columnsOf(bias, 5 * hidden, 6 * hidden);
    mlir::Value both = nn::buildValue(
        b, loc, "add", {columnsOf(bias, 0, 2 * hidden), columnsOf(bias, 3 * hidden, 5 * hidden)}, AddAttrs());
    ConcatAttrs attrs;
    attrs.axis = 1;
    return nn::buildValue(b, loc, "concat", {both, columnsOf(bias, 2 * hidden, 3 * hidden)}, std::move(attrs));
  }

  /// Null for a constant of zeros, which equals an absent operand.
  mlir::Value nonZero(size_t index) {
    mlir::Value value = operandOf(op, index);
    return value && splatValue(value) == 0.0 ? mlir::Value() : value;
  }
  /// Null where every row has all steps.
  mlir::Value lengths() {
    mlir::Value value = operandOf(op, form.lengths);
    return value && splatValue(value) == static_cast<double>(rankedType(x).getDimSize(0)) ? mlir::Value() : value;
  }
};

} // namespace

void splitRecurrence(mlir::ModuleOp module) {
  for (mlir::Operation &op : llvm::make_early_inc_range(mainFunction(module).getBody().front()))
    if (isOp(&op, "lstm") || isOp(&op, "gru") || isOp(&op, "rnn"))
      Splitter(&op).run();
}

} // namespace lathe
