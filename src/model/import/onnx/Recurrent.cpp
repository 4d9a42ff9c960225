// LSTM, GRU and RNN: activations in the record's form, layout 1 as transposes around the operator.
#include "ops/recurrent/Recurrent.h"
#include "import/onnx/Onnx.h"

namespace lathe::onnx {
namespace {

/// Reads the activations and their parameters, in the order of ONNX, into `fields`; adds nothing for the default
/// activations.
void readActivations(Node &node, Fields &fields, const std::string &usual) {
  std::vector<std::string> names = node.stringsAttr("activations");
  std::vector<double> given[] = {node.floatsAttr("activation_alpha"), node.floatsAttr("activation_beta")};
  if (names.empty()) {
    require(given[0].empty() && given[1].empty(), "has alphas or betas but no activations");
    return;
  }
  std::string list;
  std::vector<double> alphas, betas;
  size_t nextAlpha = 0, nextBeta = 0;
  for (const std::string &name : names) {
    const CellActivationKind *kind = cellActivationKindByOnnxName(name);
    if (!kind)
      node.unsupported(fmt::format("activation '{}' is not known", name));
    list += (list.empty() ? "" : ",") + std::string(kind->name);
    alphas.push_back(kind->hasAlpha && nextAlpha < given[0].size() ? given[0][nextAlpha++] : kind->alpha);
    betas.push_back(kind->hasBeta && nextBeta < given[1].size() ? given[1][nextBeta++] : kind->beta);
  }
  if (list == usual)
    return;
  fields.emplace_back("activations", list);
  fields.emplace_back("activation_alpha", alphas);
  fields.emplace_back("activation_beta", betas);
}

/// rows x directions x hidden to directions x rows x hidden, or back.
mlir::Value swapOuter(Node &node, mlir::Value value) {
  if (!value)
    return value;
  require(node.rank(value) == 3, "an operand has rank {}, expected 3", node.rank(value));
  return node.emit("transpose", {value}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
}

void importRecurrent(Node &node) {
  const std::string &op = node.record.op;
  require(node.version() >= 7, "opset {} of {} is not known, expected at least 7", node.version(), op);
  node.expectInputs(3, op == "LSTM" ? 8 : 6);
  const TensorInfo r = node.info(node.in(2));
  int64_t hidden = node.intAttr("hidden_size", 0);
  if (hidden != 0 && r.rank() == 3)
    require(mayAgree(r.dims[2], hidden), "hidden_size is {}, expected {} as r has it", hidden, r.dims[2].str());

  std::string direction = node.stringAttr("direction", "forward");
  Fields fields = {{"direction", direction}};
  Cell cell = op == "LSTM" ? Cell::lstm : op == "GRU" ? Cell::gru : Cell::rnn;
  readActivations(node, fields, defaultActivations(cell, direction == "bidirectional" ? 2 : 1));
  if (node.hasAttr("clip")) {
    double clip = node.floatAttr("clip", 0);
    require(clip >= 0, "clip is {}, expected a positive number", clip);
    if (clip > 0)
      fields.emplace_back("clip", clip);
  }
  if (op == "LSTM")
    fields.emplace_back("input_forget", node.intAttr("input_forget", 0) != 0);
  if (op == "GRU")
    fields.emplace_back("linear_before_reset", node.intAttr("linear_before_reset", 0) != 0);
  bool batchFirst = node.intAttr("layout", 0) != 0;
  require(!batchFirst || node.version() >= 14, "attribute 'layout' is not one of {} at opset {}", op, node.version());

  Values operands;
  for (size_t i = 0; i < (op == "LSTM" ? 8u : 6u); ++i) {
    mlir::Value value = node.inOrNull(i);
    operands.push_back(batchFirst && (i == 0 || i == 5 || i == 6) ? swapOuter(node, value) : value);
  }
  const char *mnemonic = op == "LSTM" ? "lstm" : op == "GRU" ? "gru" : "rnn";
  mlir::Operation *recurrent = node.emitOp(mnemonic, operands, fields);
  for (unsigned i = 0; i < recurrent->getNumResults(); ++i) {
    if (!node.wants(i))
      continue;
    mlir::Value result = recurrent->getResult(i);
    if (batchFirst)
      result = i == 0 ? node.emit("transpose", {result}, {{"perm", std::vector<int64_t>{2, 0, 1, 3}}})
                      : swapOuter(node, result);
    node.set(i, result);
  }
}

} // namespace

void addRecurrentHandlers(Handlers &table) {
  table["LSTM"] = importRecurrent;
  table["GRU"] = importRecurrent;
  table["RNN"] = importRecurrent;
}

} // namespace lathe::onnx
