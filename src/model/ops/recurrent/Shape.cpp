#include "ops/ElementBounds.h"
#include "ops/Registry.h"
#include "ops/recurrent/Recurrent.h"

#include <algorithm>
#include <sstream>

namespace lathe {
namespace {

constexpr CellActivationKind kinds[] = {
    {"sigmoid", "Sigmoid", false, false, 0, 0},
    {"tanh", "Tanh", false, false, 0, 0},
    {"relu", "Relu", false, false, 0, 0},
    {"affine", "Affine", true, true, 1, 0},
    {"leaky_relu", "LeakyRelu", true, false, 0.01, 0},
    {"thresholded_relu", "ThresholdedRelu", true, false, 1, 0},
    {"scaled_tanh", "ScaledTanh", true, true, 1, 1},
    {"hard_sigmoid", "HardSigmoid", true, true, 0.2, 0.5},
    {"elu", "Elu", true, false, 1, 0},
    {"softsign", "Softsign", false, false, 0, 0},
    {"softplus", "Softplus", false, false, 0, 0},
};

bool sameLetters(const std::string &a, const char *b) {
  auto lower = [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); };
  return std::equal(a.begin(), a.end(), b, b + std::char_traits<char>::length(b),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

/// Fields that all four structs have.
template <class T> RecurrentForm common(const char *op, Cell cell, const T &a) {
  RecurrentForm form{};
  form.op = op;
  form.cell = cell;
  form.direction = a.direction;
  form.clip = a.clip;
  require(a.direction == "forward" || a.direction == "reverse" || a.direction == "bidirectional",
          "{}_c2: direction is '{}', expected forward, reverse or bidirectional", op, a.direction);
  require(a.clip > 0, "{}_c7: clip is {}, expected a positive number", op, a.clip);

  std::vector<std::string> names;
  std::stringstream list(a.activations.empty() ? defaultActivations(cell, form.directions()) : a.activations);
  for (std::string name; std::getline(list, name, ',');)
    names.push_back(name);
  size_t wanted = static_cast<size_t>(form.directions() * form.functions());
  require(names.size() == wanted, "{}_c6: there are {} activations, expected {}", op, names.size(), wanted);
  for (const std::vector<double> *values : {&a.activation_alpha, &a.activation_beta})
    require(values->empty() || values->size() == wanted, "{}_c6: there are {} alphas or betas, expected {} or none", op,
            values->size(), wanted);
  for (size_t i = 0; i < wanted; ++i) {
    const CellActivationKind *kind = cellActivationKind(names[i]);
    require(kind != nullptr, "{}_c6: activation '{}' is not known", op, names[i]);
    form.activations.push_back({names[i], a.activation_alpha.empty() ? kind->alpha : a.activation_alpha[i],
                                a.activation_beta.empty() ? kind->beta : a.activation_beta[i]});
  }
  return form;
}

} // namespace

const CellActivationKind *cellActivationKind(const std::string &name) {
  auto found = std::find_if(std::begin(kinds), std::end(kinds), [&](auto &kind) { return name == kind.name; });
  return found == std::end(kinds) ? nullptr : found;
}

const CellActivationKind *cellActivationKindByOnnxName(const std::string &name) {
  auto found =
      std::find_if(std::begin(kinds), std::end(kinds), [&](auto &kind) { return sameLetters(name, kind.onnxName); });
  return found == std::end(kinds) ? nullptr : found;
}

std::string defaultActivations(Cell cell, int64_t directions) {
  std::string one = cell == Cell::lstm ? "sigmoid,tanh,tanh" : cell == Cell::gru ? "sigmoid,tanh" : "tanh";
  return directions == 2 ? one + "," + one : one;
}

RecurrentForm recurrentForm(const Attrs &attrs) {
  auto whole = [](RecurrentForm form) {
    form.w = 1;
    form.r = 2;
    form.b = 3;
    form.lengths = 4;
    form.initialH = 5;
    return form;
  };
  if (auto *a = dynamic_cast<const LstmAttrs *>(&attrs)) {
    RecurrentForm form = whole(common("lstm", Cell::lstm, *a));
    form.inputForget = a->input_forget;
    form.initialC = 6;
    form.p = 7;
    return form;
  }
  if (auto *a = dynamic_cast<const GruAttrs *>(&attrs)) {
    RecurrentForm form = whole(common("gru", Cell::gru, *a));
    form.linearBeforeReset = a->linear_before_reset;
    return form;
  }
  if (auto *a = dynamic_cast<const RnnAttrs *>(&attrs))
    return whole(common("rnn", Cell::rnn, *a));
  auto &a = dynamic_cast<const RecurrenceAttrs &>(attrs);
  require(a.cell == "lstm" || a.cell == "gru" || a.cell == "rnn", "{}_c8: cell is '{}', expected lstm, gru or rnn",
          "recurrence", a.cell);
  RecurrentForm form = common("recurrence", a.cell == "lstm" ? Cell::lstm : a.cell == "gru" ? Cell::gru : Cell::rnn, a);
  form.inputForget = a.input_forget;
  form.linearBeforeReset = a.linear_before_reset;
  form.r = 1;
  form.hiddenBias = 2;
  form.lengths = 3;
  form.initialH = 4;
  form.initialC = 5;
  form.p = 6;
  return form;
}

InferResult inferRecurrent(const Attrs &attrs, const InferInputs &in) {
  RecurrentForm form = recurrentForm(attrs);
  const TensorInfo &x = *in[form.x], &r = *in[form.r];
  const TensorInfo *w = operand(in, form.w);
  std::string prefix = form.op;
  for (const TensorInfo *info : {&x, &r, w ? w : &x})
    require(info->rank() == 3, "{}_c1: an operand of extents {} has rank {}, expected 3", prefix, str(info->dims),
            info->rank());
  const Dim &steps = x.dims[0], &rows = x.dims[1], &hidden = r.dims[2];
  Dim directions = form.directions(), gates = form.gates();
  require(mayAgree(r.dims[0], directions), "{}_c2: r has {} directions, expected {} as {}", prefix, r.dims[0].str(),
          directions.str(), form.direction);

  requireFloat(x.type, (prefix + "_c4").c_str());
  auto check = [&](size_t index, const char *name, const Dims &expected) {
    const TensorInfo *info = operand(in, index);
    if (!info)
      return;
    require(info->type == x.type, "{}_c4: {} is {}, x is {}, expected the same type", prefix, name,
            lathe::name(info->type), lathe::name(x.type));
    bool agrees = info->rank() == expected.size();
    for (size_t i = 0; agrees && i < expected.size(); ++i)
      agrees = mayAgree(info->dims[i], expected[i]);
    require(agrees, "{}_c3: {} is {}, expected {}", prefix, name, str(info->dims), str(expected));
  };
  check(form.r, "r", {directions, gates * hidden, hidden});
  if (w)
    check(form.w, "w", {directions, gates * hidden, x.dims[2]});
  else
    check(form.x, "x", {steps, rows, directions * gates * hidden});
  check(form.b, "b", {directions, gates * hidden * 2});
  require(!operand(in, form.hiddenBias) || (form.cell == Cell::gru && form.linearBeforeReset),
          "{}_c3: hidden_bias is given, expected only for a gru with linear_before_reset", prefix);
  check(form.hiddenBias, "hidden_bias", {directions, hidden});
  check(form.initialH, "initial_h", {directions, rows, hidden});
  require(form.cell == Cell::lstm || (!operand(in, form.initialC) && !operand(in, form.p)),
          "{}_c3: initial_c or p is given, expected only for an lstm", prefix);
  check(form.initialC, "initial_c", {directions, rows, hidden});
  check(form.p, "p", {directions, hidden * 3});
  if (const TensorInfo *lengths = operand(in, form.lengths)) {
    require(lengths->type == ElementType::i32 && lengths->rank() == 1 && mayAgree(lengths->dims[0], rows),
            "{}_c5: sequence_lens is {} {}, expected i32 {}", prefix, name(lengths->type), str(lengths->dims),
            rows.str());
    boundElements(form.lengths, {0}, {steps});
  }

  TensorInfo state{x.type, {directions, rows, hidden}, std::nullopt};
  InferResult results{TensorInfo{x.type, {steps, directions, rows, hidden}, std::nullopt}, state};
  if (form.cell == Cell::lstm)
    results.push_back(state);
  return results;
}

} // namespace lathe
