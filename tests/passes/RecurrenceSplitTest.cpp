// Recurrences whose slots share the columns of every step against the same ones that give a slot whole rows: results
// are equal bit by bit, for any number of threads.
#include "compile/Compile.h"
#include "ir/Context.h"
#include "passes/Rewrite.h"
#include "passes/Twin.h"
#include "runtime/Context.h"
#include "runtime/References.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>

namespace lathe {
namespace {

struct Recurrence {
  std::string cell, direction, options, type;
  int64_t steps, batch, hidden;
  bool lengths, initial;

  explicit Recurrence(uint64_t seed) {
    std::mt19937_64 random(seed);
    auto in = [&](int64_t low, int64_t high) { return low + int64_t(random() % uint64_t(high - low + 1)); };
    cell = std::array{"lstm", "gru", "rnn"}[seed % 3];
    direction = std::array{"forward", "reverse", "bidirectional"}[size_t(in(0, 2))];
    options = cell == "gru" && in(0, 1) ? ", linear_before_reset = true" : "";
    type = in(0, 3) ? "f32" : "f64";
    steps = in(1, 9);
    batch = in(0, 1) ? in(1, 3) : in(4, 13);
    hidden = in(0, 1) ? in(1, 90) : 16 * in(1, 8);
    lengths = in(0, 1);
    initial = in(0, 1);
  }

  /// @main with the operator alone; its weights are ones.
  std::string text() const {
    int64_t directions = direction == "bidirectional" ? 2 : 1, gates = cell == "lstm" ? 4 : cell == "gru" ? 3 : 1;
    std::string x = fmt::format("tensor<{}x{}x{}x{}>", steps, batch, directions * gates * hidden, type),
                r = fmt::format("tensor<{}x{}x{}x{}>", directions, gates * hidden, hidden, type),
                l = fmt::format("tensor<{}xi32>", batch),
                h = fmt::format("tensor<{}x{}x{}x{}>", directions, batch, hidden, type),
                y = fmt::format("tensor<{}x{}x{}x{}x{}>", steps, directions, batch, hidden, type);
    std::string results = cell == "lstm" ? fmt::format("{}, {}, {}", y, h, h) : fmt::format("{}, {}", y, h);
    return fmt::format(
        "func.func @main(%x: {0}{1}{2}) -> ({3}) {{\n%r = nn.constant {{value = dense<1.0> : {4}}} : {4}\n"
        "%y:{5} = nn.recurrence %x, %r{6}{7} {{cell = \"{8}\", direction = \"{9}\", operandSegmentSizes = array<i32: "
        "1, 1, 0, {10}, {11}, 0, 0>{12}}} : ({0}, {4}{13}{14}) -> ({3}) loc(\"r\")\nreturn {15} : {3}\n}}",
        x, lengths ? ", %l: " + l : "", initial ? ", %h: " + h : "", results, r, cell == "lstm" ? 3 : 2,
        lengths ? ", %l" : "", initial ? ", %h" : "", cell, direction, int(lengths), int(initial), options,
        lengths ? ", " + l : "", initial ? ", " + h : "", cell == "lstm" ? "%y#0, %y#1, %y#2" : "%y#0, %y#1");
  }

  /// With weights whose sums stay near one.
  mlir::OwningOpRef<mlir::ModuleOp> module(mlir::MLIRContext &context, uint64_t seed) const {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text(), &context);
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal(0, 1 / std::sqrt(double(hidden)));
    nn::ConstantOp weights;
    module->walk([&](nn::ConstantOp constant) { weights = constant; });
    auto shaped = llvm::cast<mlir::ShapedType>(weights.getType());
    std::vector<double> values(static_cast<size_t>(shaped.getNumElements()));
    for (double &value : values)
      value = normal(random);
    mlir::OpBuilder b(weights);
    weights.replaceAllUsesWith(makeConstant(b, weights.getLoc(), nn::toElementType(shaped.getElementType()),
                                            shaped.getShape().vec(), values, "weights"));
    weights.erase();
    return module;
  }

  std::vector<Value> inputs(uint64_t seed) const {
    auto context = makeContext();
    std::vector<Value> values = randomInputs(*module(*context, seed), seed, {});
    std::mt19937_64 random(seed);
    for (Value &value : values)
      if (value.tensor().type() == ElementType::i32) {
        Tensor counts(ElementType::i32, {batch});
        for (int64_t i = 0; i < batch; ++i)
          counts.as<int32_t>()[i] = int32_t(random() % uint64_t(steps + 1));
        value = Value(counts);
      }
    return values;
  }
};

/// A package whose recurrent kernel has `schedule`.
std::shared_ptr<const runtime::Model> compiled(const Recurrence &recurrence, uint64_t seed,
                                               const std::string &schedule) {
  CompileOptions options;
  options.schedule.text = "r: " + schedule;
  auto context = makeContext();
  std::string chosen = emitLevel(*recurrence.module(*context, seed), options, Level::schedule);
  bool split = schedule.ends_with("stages=1"); // 0 is the default, which texts leave out
  EXPECT_EQ(chosen.find("stages=1") != std::string::npos, split) << chosen;
  std::vector<char> bytes;
  compileToBytes(*recurrence.module(*context, seed), options, bytes);
  return runtime::Model::fromBytes(bytes, "recurrence.lathe");
}

TEST(RecurrenceSplit, hasTheBitsOfWholeRows) {
  runtime::registerReferences();
  uint64_t first = std::getenv("LATHE_TEST_SEED")
                       ? std::strtoull(std::getenv("LATHE_TEST_SEED"), nullptr, 10)
                       : static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count() % 1000000);
  std::cout << "first seed " << first << " (LATHE_TEST_SEED repeats it)\n";
  for (uint64_t seed = first; seed < first + 18; ++seed) {
    Recurrence recurrence(seed);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, recurrence.text()));
    // Of few registers, so that every target has enough.
    std::string rows = fmt::format("recurrent/2 mr={} vectors=1 unroll={}", 1 + seed % 2, 1 + seed % 5);
    auto whole = compiled(recurrence, seed, rows + " stages=0"), split = compiled(recurrence, seed, rows + " stages=1");
    std::vector<Value> inputs = recurrence.inputs(seed);
    runtime::Context expecting(whole, {.threads = 1});
    std::vector<Value> expected = expecting.run(inputs);
    for (int threads : {1, 2, 3, 5})
      for (auto &model : {whole, split}) {
        runtime::Context running(model, {.threads = threads});
        running.run(inputs); // what a second run finds in the scratch must not matter
        std::vector<Value> got = running.run(inputs);
        ASSERT_EQ(got.size(), expected.size());
        for (size_t i = 0; i < got.size(); ++i) {
          const Tensor &a = got[i].tensor(), &b = expected[i].tensor();
          ASSERT_EQ(a.dims(), b.dims());
          ASSERT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())), 0)
              << (model == split ? "split, " : "whole, ") << threads << " threads, result " << i;
        }
      }
  }
}

} // namespace
} // namespace lathe
