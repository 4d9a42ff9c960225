// Compares LSTM, GRU and RNN with values computed by hand, and forms that must agree with each other.
#include "ops/ReferenceTesting.h"
#include "ops/recurrent/Recurrent.h"

#include <random>

namespace lathe {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Recurrent, LstmStepsByHand) {
  // Gates i, o, f, c of one unit, two steps.
  const double w[] = {0.5, -0.25, 0.75, 1}, r[] = {0.1, 0.2, 0.3, 0.4}, p[] = {0.6, -0.7, 0.8};
  const double wb[] = {0.01, 0.02, 0.03, 0.04}, rb[] = {0.1, 0.1, -0.1, 0.2}, x[] = {1, -2};
  double h = 0.3, c = -0.4, y[2];
  for (int t = 0; t < 2; ++t) {
    double gate[4];
    for (int g = 0; g < 4; ++g)
      gate[g] = x[t] * w[g] + h * r[g] + wb[g] + rb[g];
    double i = sigmoid(gate[0] + p[0] * c), f = sigmoid(gate[2] + p[2] * c);
    c = f * c + i * std::tanh(gate[3]);
    h = sigmoid(gate[1] + p[1] * c) * std::tanh(c);
    y[t] = h;
  }
  auto results =
      evaluateAll("lstm", LstmAttrs(),
                  {f64({2, 1, 1}, {1, -2}), f64({1, 4, 1}, {0.5, -0.25, 0.75, 1}), f64({1, 4, 1}, {0.1, 0.2, 0.3, 0.4}),
                   f64({1, 8}, {0.01, 0.02, 0.03, 0.04, 0.1, 0.1, -0.1, 0.2}), Tensor(), f64({1, 1, 1}, {0.3}),
                   f64({1, 1, 1}, {-0.4}), f64({1, 3}, {0.6, -0.7, 0.8})});
  expectTensor(results.at(0), {2, 1, 1, 1}, {y[0], y[1]}, 1e-14);
  expectTensor(results.at(1), {1, 1, 1}, {h}, 1e-14);
  expectTensor(results.at(2), {1, 1, 1}, {c}, 1e-14);
}

TEST(Recurrent, GruBeforeAndAfterTheReset) {
  const double w[] = {0.5, -0.25, 0.75}, r[] = {0.1, 0.2, 0.3}, wb[] = {0.01, 0.02, 0.03}, rb[] = {0.1, 0.1, -0.1};
  for (bool linear : {false, true}) {
    double h = 0.3, x = 1.5;
    double z = sigmoid(x * w[0] + h * r[0] + wb[0] + rb[0]), reset = sigmoid(x * w[1] + h * r[1] + wb[1] + rb[1]);
    double n = linear ? std::tanh(x * w[2] + wb[2] + reset * (h * r[2] + rb[2]))
                      : std::tanh(x * w[2] + wb[2] + reset * h * r[2] + rb[2]);
    GruAttrs a;
    a.linear_before_reset = linear;
    expectTensor(evaluate("gru", a,
                          {f64({1, 1, 1}, {1.5}), f64({1, 3, 1}, {0.5, -0.25, 0.75}), f64({1, 3, 1}, {0.1, 0.2, 0.3}),
                           f64({1, 6}, {0.01, 0.02, 0.03, 0.1, 0.1, -0.1}), Tensor(), f64({1, 1, 1}, {0.3})}),
                 {1, 1, 1, 1}, {(1 - z) * n + z * h}, 1e-14);
  }
}

TEST(Recurrent, RnnLengthsAndDirections) {
  // h' = relu(x + h): sums that show which steps were taken, in which order.
  RnnAttrs a;
  a.direction = "bidirectional";
  a.activations = "relu,affine";
  a.activation_alpha = {0, 2};
  a.activation_beta = {0, 1};
  Tensor ones = f32({2, 1, 1}, {1, 1});
  auto results = evaluateAll("rnn", a,
                             {f32({3, 3, 1}, {1, 10, 5, 2, 20, 5, 3, 30, 5}), ones, ones, Tensor(), i32({3}, {3, 2, 0}),
                              f32({2, 3, 1}, {0, 0, 9, 0, 0, 9})});
  // Forward: 1, 3, 6 and 10, 30; reverse, doubled plus one: 3 -> 7, 2 + 7 -> 19, 1 + 19 -> 41 and 20 -> 41, 10 + 41 ->
  // 103.
  expectTensor(results.at(0), {3, 2, 3, 1}, {1, 10, 0, 41, 103, 0, 3, 30, 0, 19, 41, 0, 6, 0, 0, 7, 0, 0});
  expectTensor(results.at(1), {2, 3, 1}, {6, 30, 0, 41, 103, 0});
  EXPECT_THROW(evaluate("rnn", a, {f32({1, 1, 1}, {1}), ones, ones, Tensor(), i32({1}, {2})}), Error);
}

TEST(Recurrent, ClipAndInputForget) {
  LstmAttrs a;
  a.activations = "affine,affine,affine";
  a.clip = 2;
  a.input_forget = true;
  // i = 2 (clipped), f = -1, g = -2 (clipped): c = -1 * 5 + 2 * -2, o = 1, h = c, which is not clipped.
  auto results = evaluateAll("lstm", a,
                             {f64({1, 1, 1}, {1}), f64({1, 4, 1}, {7, 1, 100, -7}), f64({1, 4, 1}, {0, 0, 0, 0}),
                              Tensor(), Tensor(), Tensor(), f64({1, 1, 1}, {5})});
  expectTensor(results.at(0), {1, 1, 1, 1}, {-9});
}

TEST(Recurrent, EveryActivation) {
  const std::pair<const char *, double> expected[] = {{"sigmoid", sigmoid(-0.5)},
                                                      {"tanh", std::tanh(-0.5)},
                                                      {"relu", 0},
                                                      {"affine", -0.5},
                                                      {"leaky_relu", -0.005},
                                                      {"thresholded_relu", 0},
                                                      {"scaled_tanh", std::tanh(-0.5)},
                                                      {"hard_sigmoid", 0.4},
                                                      {"elu", std::expm1(-0.5)},
                                                      {"softsign", -1.0 / 3},
                                                      {"softplus", std::log1p(std::exp(-0.5))}};
  for (auto [name, value] : expected) {
    RnnAttrs a;
    a.activations = name;
    Tensor zero = f64({1, 1, 1}, {0});
    expectTensor(evaluate("rnn", a, {f64({1, 1, 1}, {-0.5}), f64({1, 1, 1}, {1}), zero}), {1, 1, 1, 1}, {value}, 1e-14);
  }
}

TEST(Recurrent, RecurrenceGivenTheInputsShare) {
  std::mt19937_64 random(5);
  auto noise = [&](Shape dims) {
    Tensor t(ElementType::f64, std::move(dims));
    for (int64_t i = 0; i < t.elements(); ++i)
      t.as<double>()[i] = std::uniform_real_distribution<double>(-1, 1)(random);
    return t;
  };
  int64_t steps = 4, rows = 2, hidden = 3;
  // Unit weights pass the input through: 3 * 3 input features.
  Tensor x = noise({steps, rows, 3 * hidden}), r = noise({1, 3 * hidden, hidden}), bias = noise({1, hidden});
  Tensor w(ElementType::f64, {1, 3 * hidden, 3 * hidden}), b(ElementType::f64, {1, 6 * hidden});
  std::fill_n(w.as<double>(), w.elements(), 0.0);
  std::fill_n(b.as<double>(), b.elements(), 0.0);
  for (int64_t i = 0; i < 3 * hidden; ++i)
    w.as<double>()[i * 3 * hidden + i] = 1;
  std::copy_n(bias.as<double>(), hidden, b.as<double>() + 5 * hidden);
  GruAttrs whole;
  whole.linear_before_reset = true;
  whole.direction = "reverse";
  RecurrenceAttrs part;
  part.cell = "gru";
  part.linear_before_reset = true;
  part.direction = "reverse";
  auto expected = evaluateAll("gru", whole, {x, w, r, b});
  auto got = evaluateAll("recurrence", part, {x, r, bias});
  for (size_t i = 0; i < 2; ++i)
    expectTensor(got.at(i), expected.at(i).dims(),
                 std::vector<double>(expected[i].as<double>(), expected[i].as<double>() + expected[i].elements()),
                 1e-14);
}

/// The number of the violated constraint.
std::string violation(const char *op, Attrs &&attrs, const std::vector<Tensor> &operands) {
  try {
    evaluateAll(op, attrs, operands);
    return "";
  } catch (const Error &error) {
    std::string text = error.what();
    return text.substr(0, text.find(':'));
  }
}

TEST(Recurrent, Constraints) {
  Tensor x = counting({2, 3, 4}), w = counting({1, 20, 4}), r = counting({1, 20, 5}), none;
  auto with = [](auto change) {
    LstmAttrs a;
    change(a);
    return a;
  };
  EXPECT_EQ(violation("lstm", LstmAttrs(), {x, w, r}), "");
  EXPECT_EQ(violation("lstm", LstmAttrs(), {counting({2, 3}), w, r}), "lstm_c1");
  EXPECT_EQ(violation("lstm", with([](auto &a) { a.direction = "sideways"; }), {x, w, r}), "lstm_c2");
  EXPECT_EQ(violation("lstm", with([](auto &a) { a.direction = "bidirectional"; }), {x, w, r}), "lstm_c2");
  EXPECT_EQ(violation("lstm", LstmAttrs(), {x, counting({1, 20, 3}), r}), "lstm_c3");
  EXPECT_EQ(violation("lstm", LstmAttrs(), {x, w, r, counting({1, 20})}), "lstm_c3");
  EXPECT_EQ(violation("lstm", LstmAttrs(), {x, w, r, none, none, counting({1, 2, 5})}), "lstm_c3");
  EXPECT_EQ(violation("lstm", LstmAttrs(), {x, w, r.convertedTo(ElementType::f64)}), "lstm_c4");
  EXPECT_EQ(violation("lstm", LstmAttrs(), {x, w, r, none, i64({3}, {1, 1, 1})}), "lstm_c5");
  EXPECT_EQ(violation("lstm", LstmAttrs(), {x, w, r, none, i32({3}, {1, 3, 1})}), "lstm_c5");
  EXPECT_EQ(violation("lstm", with([](auto &a) { a.activations = "tanh"; }), {x, w, r}), "lstm_c6");
  EXPECT_EQ(violation("lstm", with([](auto &a) { a.activations = "tanh,tanh,sine"; }), {x, w, r}), "lstm_c6");
  EXPECT_EQ(violation("lstm", with([](auto &a) { a.activation_beta = {1}; }), {x, w, r}), "lstm_c6");
  EXPECT_EQ(violation("lstm", with([](auto &a) { a.clip = -1; }), {x, w, r}), "lstm_c7");
  RecurrenceAttrs cell;
  cell.cell = "brain";
  EXPECT_EQ(violation("recurrence", std::move(cell), {counting({2, 3, 20}), r}), "recurrence_c8");
}

} // namespace
} // namespace lathe
