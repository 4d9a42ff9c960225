// Recurrent kernels against the references: random cells, extents, directions, options, operands and schedules.
#include "codegen/testing/KernelEmulation.h"
#include "codegen/testing/KernelTesting.h"
#include "codegen/testing/RandomTesting.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

struct Case {
  std::string cell = "lstm", direction = "forward", type = "f32", options;
  int64_t steps = 5, batch = 1, hidden = 16;
  bool symbolic = false, constant = true;
  bool lengths = false, initialH = false, initialC = false, peepholes = false, hiddenBias = false;
  std::vector<int> results = {0, 1, 2};
};

/// The kernel's text; the results in `results` are returned.
std::string textOf(const Case &c) {
  int64_t directions = c.direction == "bidirectional" ? 2 : 1, gates = c.cell == "lstm" ? 4 : c.cell == "gru" ? 3 : 1;
  std::string steps = c.symbolic ? "?" : std::to_string(c.steps), batch = c.symbolic ? "?" : std::to_string(c.batch);
  auto tensor = [&](const std::string &dims, const std::string &type) {
    return fmt::format("tensor<{}x{}>", dims, type);
  };
  std::string arguments, operands, types;
  int segments[7] = {};
  auto add = [&](int position, const std::string &name, const std::string &type, const std::string &attributes) {
    arguments += fmt::format("{}%{}: {}{}", arguments.empty() ? "" : ", ", name, type, attributes);
    operands += fmt::format("{}%{}", operands.empty() ? "" : ", ", name);
    types += (types.empty() ? "" : ", ") + type;
    segments[position] = 1;
  };
  auto dims = [&](std::vector<std::string> extents) {
    if (!c.symbolic)
      return std::string();
    std::string list;
    for (const std::string &extent : extents)
      list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", extent);
    return fmt::format(" {{nn.dims = [{}]}}", list);
  };
  std::string d = std::to_string(directions), h = std::to_string(c.hidden),
              width = std::to_string(directions * gates * c.hidden);
  add(0, "x", tensor(fmt::format("{}x{}x{}", steps, batch, width), c.type), dims({"T", "B", width}));
  add(1, "r", tensor(fmt::format("{}x{}x{}", d, gates * c.hidden, h), c.type), c.constant ? " {nn.constant}" : "");
  std::string state = tensor(fmt::format("{}x{}x{}", d, batch, h), c.type), stateDims = dims({d, "B", h});
  if (c.hiddenBias)
    add(2, "b", tensor(d + "x" + h, c.type), "");
  if (c.lengths)
    add(3, "lengths", tensor(batch, "i32"), dims({"B"}));
  if (c.initialH)
    add(4, "h", state, stateDims);
  if (c.initialC)
    add(5, "c", state, stateDims);
  if (c.peepholes)
    add(6, "p", tensor(fmt::format("{}x{}", d, 3 * c.hidden), c.type), " {nn.constant}");
  std::string y = tensor(fmt::format("{}x{}x{}x{}", steps, d, batch, h), c.type);
  std::vector<std::string> all = {y, state, state};
  if (c.cell != "lstm")
    all.pop_back();
  std::string returned, returnedTypes;
  for (int result : c.results)
    if (result < static_cast<int>(all.size())) {
      returned += fmt::format("{}%y#{}", returned.empty() ? "" : ", ", result);
      returnedTypes += (returnedTypes.empty() ? "" : ", ") + all[result];
    }
  return fmt::format("func.func @k({}) -> ({}) attributes {{nn.family = \"recurrent\"}} {{\n"
                     "  %y:{} = nn.recurrence {} {{cell = \"{}\", direction = \"{}\", operandSegmentSizes = array<i32: "
                     "{}>{}}} : ({}) -> ({})\n"
                     "  return {} : {}\n}}",
                     arguments, returnedTypes, all.size(), operands, c.cell, c.direction, fmt::join(segments, ", "),
                     c.options, types, fmt::join(all, ", "), returned, returnedTypes);
}

class Recurrent : public testing::Test {
protected:
  Target target = testTarget();

  /// "" or the first error.
  std::string check(const Case &c, uint64_t seed, const std::string &schedule = "", int threads = 1) {
    std::string text = textOf(c);
    try {
      KernelUnderTest kernel(text, target, seed, threads);
      std::vector<Tensor> inputs = kernel.randomInputs(-1, 1, {{"T", c.steps}, {"B", c.batch}});
      // Lengths from 0 to all steps.
      std::mt19937_64 random(seed);
      for (Tensor &input : inputs)
        if (input.type() == ElementType::i32)
          for (int64_t i = 0; i < input.elements(); ++i)
            input.as<int32_t>()[i] = static_cast<int32_t>(random() % static_cast<uint64_t>(c.steps + 1));
      // Weights that keep the sums of products near one.
      for (int64_t i = 0; i < inputs[1].elements(); ++i)
        if (c.type == "f32")
          inputs[1].as<float>()[i] *= 1.5f / std::sqrt(static_cast<float>(c.hidden));
        else
          inputs[1].as<double>()[i] *= 1.5 / std::sqrt(static_cast<double>(c.hidden));
      std::vector<Tensor> judged;
      for (const Tensor &input : inputs)
        judged.push_back(isFloat(input.type()) ? input.convertedTo(ElementType::f64) : input);
      Case wide = c;
      wide.type = "f64";
      std::vector<Tensor> expected = KernelUnderTest(textOf(wide), target, seed).expected(judged),
                          got = kernel.run(inputs, schedule);
      for (size_t i = 0; i < expected.size(); ++i)
        if (std::string what =
                difference(got[i].convertedTo(ElementType::f64), expected[i], c.type == "f32" ? 3e-6 : 1e-13);
            !what.empty())
          return fmt::format("result {}: {}\n{}", i, what, text);
      return "";
    } catch (const std::exception &error) {
      return fmt::format("{}\n{}", error.what(), text);
    }
  }
};

TEST_F(Recurrent, randomCells) {
  const char *functions[] = {"sigmoid", "tanh", "sigmoid", "tanh",       "hard_sigmoid",     "softsign", "scaled_tanh",
                             "affine",  "relu", "elu",     "leaky_relu", "thresholded_relu", "softplus"};
  for (uint64_t seed : randomSeeds(150)) {
    std::mt19937_64 random(seed);
    auto upTo = [&](int64_t n) { return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    auto oneIn = [&](uint64_t n) { return random() % n == 0; };
    Case c;
    c.cell = std::vector<std::string>{"lstm", "gru", "rnn"}[seed % 3];
    c.direction = std::vector<std::string>{"forward", "reverse", "bidirectional"}[random() % 3];
    c.type = oneIn(4) ? "f64" : "f32";
    c.steps = upTo(9);
    c.batch = upTo(oneIn(3) ? 17 : 4);
    c.hidden = oneIn(2) ? upTo(70) : 16 * upTo(6);
    c.symbolic = oneIn(2);
    c.constant = !oneIn(4);
    c.lengths = oneIn(2);
    c.initialH = oneIn(2);
    if (c.cell == "lstm") {
      c.initialC = oneIn(2);
      c.peepholes = oneIn(2);
      if (oneIn(3))
        c.options += ", input_forget = true";
    }
    if (c.cell == "gru" && oneIn(2)) {
      c.options += ", linear_before_reset = true";
      c.hiddenBias = oneIn(2);
    }
    if (oneIn(4))
      c.options += ", clip = 0.75";
    if (oneIn(2)) {
      int64_t count = (c.cell == "lstm" ? 3 : c.cell == "gru" ? 2 : 1) * (c.direction == "bidirectional" ? 2 : 1);
      std::string list, alphas, betas;
      for (int64_t i = 0; i < count; ++i) {
        // Gates must stay between 0 and 1: otherwise states and errors grow beyond any tolerance.
        bool gate = c.cell != "rnn" && i % (c.cell == "lstm" ? 3 : 2) == 0;
        list += fmt::format("{}{}", i ? "," : "",
                            gate ? functions[2 * (random() % 3)] : functions[random() % std::size(functions)]);
        alphas += fmt::format("{}{:e}", i ? ", " : "", 0.1 * static_cast<double>(upTo(5)));
        betas += fmt::format("{}{:e}", i ? ", " : "", 0.1 * static_cast<double>(upTo(5)));
      }
      c.options +=
          fmt::format(", activations = \"{}\", activation_alpha = array<f64: {}>, activation_beta = array<f64: {}>",
                      list, alphas, betas);
    }
    c.results = std::vector<std::vector<int>>{{0, 1, 2}, {0}, {1}, {1, 0}}[random() % 4];
    std::string schedule =
        oneIn(2) ? "" : fmt::format("recurrent/2 mr={} vectors={} unroll={}", upTo(3), upTo(2), upTo(6));
    if (!schedule.empty() && c.constant && oneIn(2))
      schedule += " stages=1";
    if (target.vectorRegisters < 32) // too many sums for sixteen registers
      schedule = "";
    EXPECT_EQ(check(c, seed, schedule, static_cast<int>(upTo(3))), "") << "seed " << seed;
  }
}

TEST_F(Recurrent, manyStepsOfAWideLstm) {
  Case c;
  c.steps = 64;
  c.hidden = 256;
  EXPECT_EQ(check(c, 1), "");
  EXPECT_EQ(check(c, 1, "", 2), ""); // the slots share the columns of a step
  EXPECT_EQ(check(c, 1, "", 3), "");
  c.batch = 7;
  c.direction = "bidirectional";
  c.steps = 20;
  EXPECT_EQ(check(c, 2), "");
  c.symbolic = true; // one kernel for all batches: blocks of even size
  for (int64_t batch : {1, 2, 3, 6, 7, 13, 17}) {
    c.batch = batch;
    c.steps = 1 + batch % 3;
    EXPECT_EQ(check(c, 2, "", 1 + static_cast<int>(batch % 2)), "") << batch;
  }
}

/// With weights in [-1, 1] a state depends so strongly on the previous state that rounding errors grow from step to
/// step, and the last step cannot be judged. So each step is judged from the kernel's own previous state.
TEST_F(Recurrent, everyStepFollowsFromTheStateBefore) {
  Case c, one;
  c.cell = one.cell = "gru";
  c.hidden = one.hidden = 128;
  c.batch = one.batch = 4;
  c.steps = 16;
  one.steps = 1;
  one.initialH = true;
  one.type = "f64";
  c.results = one.results = {0};
  KernelUnderTest kernel(textOf(c), target, 1), step(textOf(one), target);
  std::vector<Tensor> inputs = kernel.randomInputs(-1, 1);
  Tensor x = inputs[0].convertedTo(ElementType::f64), r = inputs[1].convertedTo(ElementType::f64);
  for (const char *schedule :
       {"recurrent/2 mr=1 vectors=1 unroll=1", "recurrent/2 mr=2 vectors=2 unroll=4", "recurrent/2 mr=2 unroll=16",
        "recurrent/2 mr=1 vectors=2 unroll=8", "recurrent/2 mr=2 vectors=1 unroll=2 stages=1"}) {
    if (!kernel.declined(schedule).empty()) // too few registers
      continue;
    Tensor y = kernel.run(inputs, schedule)[0].convertedTo(ElementType::f64);
    int64_t state = c.batch * c.hidden;
    Tensor before(ElementType::f64, {1, c.batch, c.hidden}), input(ElementType::f64, {1, c.batch, 3 * c.hidden}),
        got(ElementType::f64, {1, 1, c.batch, c.hidden});
    std::fill_n(before.as<double>(), state, 0.0);
    for (int64_t t = 0; t < c.steps; ++t) {
      std::copy_n(x.as<double>() + t * 3 * state, 3 * state, input.as<double>());
      std::copy_n(y.as<double>() + t * state, state, got.as<double>());
      EXPECT_EQ(difference(got, step.expected(std::vector<Tensor>{input, r, before})[0], 3e-6), "")
          << schedule << ", step " << t;
      std::copy_n(got.as<double>(), state, before.as<double>());
    }
  }
}

TEST_F(Recurrent, columnsAreSharedWhereSlotsAreMoreThanBlocks) {
  auto split = [&](const Case &c, int threads) {
    KernelUnderTest kernel(textOf(c), target, 1, threads);
    Outcome<Schedule> schedule = priorSchedule(kernel.problem());
    return schedule->numbers.contains("stages");
  };
  Case c;
  c.hidden = 256;
  EXPECT_FALSE(split(c, 1));
  EXPECT_TRUE(split(c, 2));
  c.symbolic = true; // the batch may be 1, with any number of threads
  EXPECT_TRUE(split(c, 1));
  c.hidden = 16;
  EXPECT_FALSE(split(c, 2));
  c.hidden = 256;
  c.symbolic = false;
  c.constant = false;
  EXPECT_FALSE(split(c, 2));
  c.constant = true;
  c.direction = "bidirectional";
  EXPECT_FALSE(split(c, 2)); // one direction for each thread
  EXPECT_TRUE(split(c, 4));
  c.hidden = 16; // takes less time than synchronising the slots
  EXPECT_FALSE(split(c, 4));
}

TEST_F(Recurrent, declinesWithAReason) {
  Case half;
  half.type = "f16";
  EXPECT_EQ(KernelUnderTest(textOf(half), target).declined(), "a recurrence of elements of type f16");
  std::string fits = target.vectorRegisters < 32 ? "" : "recurrent/2 mr=1 vectors=16 unroll=4";
  EXPECT_EQ(KernelUnderTest(textOf(Case()), target).declined(fits), "");
  Case wide;
  wide.hidden = 512;
  EXPECT_NE(KernelUnderTest(textOf(wide), target).declined("recurrent/2 mr=1 vectors=16"), "");
  EXPECT_NE(KernelUnderTest(textOf(Case()), target).declined("direct/1 px=2"), "");
  Case any;
  any.symbolic = true;
  EXPECT_EQ(KernelUnderTest(textOf(any), target).declined("recurrent/2 mr=1 stages=1"), "");
  any.symbolic = false;
  any.constant = false;
  EXPECT_EQ(KernelUnderTest(textOf(any), target).declined("recurrent/2 stages=1"),
            "stages=1 with recurrent weights that are not constant");
}

} // namespace
} // namespace lathe
