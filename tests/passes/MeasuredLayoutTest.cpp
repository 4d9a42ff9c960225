// Layouts by measured times, with predictions and times that are made up.
#include "ir/Context.h"
#include "passes/Pipeline.h"
#include "passes/Rewrite.h"

#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <random>
#include <set>

namespace lathe {
namespace {

using Costs = std::map<std::string, double>; // by form

/// "c1 rb": the convolution c1 with a row-major operand and a blocked result; "to b", "to r": a conversion.
std::string formOf(mlir::Operation *op) {
  auto letter = [](mlir::Value value) { return nn::layoutOf(value) ? "b" : "r"; };
  if (llvm::isa<nn::ConvertLayoutOp>(op))
    return std::string("to ") + letter(op->getResult(0));
  return nn::nodeNames(op->getLoc()).back() + " " + letter(op->getOperand(0)) + letter(op->getResult(0));
}

std::string formOf(mlir::func::FuncOp kernel) {
  for (mlir::Operation &op : kernel.getBody().front())
    if (isOp(&op, "conv") || llvm::isa<nn::ConvertLayoutOp>(op))
      return formOf(&op);
  ADD_FAILURE() << "a kernel of another operator";
  return "";
}

/// A network of convolutions of 16 channels; convolution i reads the result of convolution reads[i], -1: the input. All
/// results that nothing reads are results of @main.
mlir::OwningOpRef<mlir::ModuleOp> network(mlir::MLIRContext &context, const std::vector<int> &reads) {
  const std::string tensor = "tensor<1x16x8x8xf32>", weights = "tensor<16x16x3x3xf32>";
  std::string body, returned, types;
  std::set<int> read(reads.begin(), reads.end());
  for (int i = 0; i < int(reads.size()); ++i) {
    std::string name = fmt::format("c{}", i + 1),
                from = reads[size_t(i)] < 0 ? "x" : fmt::format("c{}", reads[size_t(i)] + 1);
    body +=
        fmt::format("%w{0} = nn.constant {{value = dense<0.{0}> : {1}}} : {1}\n%{2} = nn.conv %{3}, %w{0} {{strides = "
                    "array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>}} : ({4}, {1}) -> "
                    "{4} loc(\"{2}\")\n",
                    i + 1, weights, name, from, tensor);
    if (!read.contains(i)) {
      returned += (returned.empty() ? "%" : ", %") + name;
      types += (types.empty() ? "" : ", ") + tensor;
    }
  }
  std::string text =
      fmt::format("func.func @main(%x: {0}) -> ({1}) {{\n{2}return {3} : {1}\n}}", tensor, types, body, returned);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  return module;
}

struct Chosen {
  std::multiset<std::string> forms; // of all kernels of @main
  std::set<std::string> asked;      // whose time was asked for
  int choices = 0;

  double cost(const Costs &costs) const {
    double sum = 0;
    for (const std::string &form : forms)
      sum += costs.at(form);
    return sum;
  }
};

/// `times`: null: without measured times.
Chosen choose(const std::vector<int> &reads, const Costs &predicted, const Costs *times) {
  auto context = makeContext();
  auto module = network(*context, reads);
  Chosen chosen;
  PipelineOptions options;
  options.channelBlocks.sizes[ElementType::f32] = 8;
  options.predictCycles = [&](mlir::func::FuncOp kernel) -> Outcome<double> { return predicted.at(formOf(kernel)); };
  if (times)
    options.measuredSeconds = [&](mlir::func::FuncOp kernel) -> Outcome<double> {
      std::string form = formOf(kernel);
      chosen.asked.insert(form);
      auto found = times->find(form);
      return found == times->end() ? Outcome<double>(NotApplicable{"not measured"})
                                   : Outcome<double>(1e-6 * found->second);
    };
  chosen.choices = optimizeGraph(*module, options).measuredChoices;
  for (mlir::Operation &op : mainFunction(*module).getBody().front())
    if (isOp(&op, "conv") || llvm::isa<nn::ConvertLayoutOp>(op))
      chosen.forms.insert(formOf(&op));
  return chosen;
}

using testing::ElementsAre;
using testing::UnorderedElementsAre;

/// Two convolutions between row-major edges: predicted to be faster with a blocked value between them.
const std::vector<int> chain = {-1, 0};
const Costs predictions = {{"c1 rr", 100}, {"c1 rb", 95}, {"c1 br", 300}, {"c1 bb", 300}, {"c2 rr", 100},
                           {"c2 rb", 300}, {"c2 br", 95}, {"c2 bb", 300}, {"to b", 40},   {"to r", 40}};
const Costs bothRow = {{"c1 rr", 5}, {"c1 rb", 10}, {"c2 rr", 5}, {"c2 br", 10}};

TEST(MeasuredLayout, timesDecideBetweenFormsThatWereMeasured) {
  EXPECT_THAT(choose(chain, predictions, nullptr).forms, UnorderedElementsAre("c1 rb", "c2 br"));
  Chosen chosen = choose(chain, predictions, &bothRow);
  EXPECT_THAT(chosen.forms, UnorderedElementsAre("c1 rr", "c2 rr"));
  EXPECT_EQ(chosen.choices, 2);
  EXPECT_THAT(chosen.asked, ElementsAre("c1 rb", "c1 rr", "c2 br", "c2 rr", "to b", "to r"));
}

TEST(MeasuredLayout, whatWasNotMeasuredStays) {
  const Costs none;
  for (const Costs &times : {none, Costs{{"c1 rr", 5}, {"c1 rb", 10}}, Costs{{"c1 rr", 5}, {"c2 rr", 5}, {"to b", 1}},
                             Costs{{"c1 rr", 5}, {"c1 rb", 10}, {"c2 rr", 5}}}) {
    Chosen chosen = choose(chain, predictions, &times);
    EXPECT_THAT(chosen.forms, UnorderedElementsAre("c1 rb", "c2 br"));
    EXPECT_EQ(chosen.choices, 0);
  }
  // The second convolution stays as it is, and the conversion that it then needs was measured.
  const Costs withConversion = {{"c1 rr", 5}, {"c1 rb", 10}, {"c2 rr", 5}, {"to b", 1}};
  EXPECT_THAT(choose(chain, predictions, &withConversion).forms, UnorderedElementsAre("c1 rr", "c2 br", "to b"));
}

TEST(MeasuredLayout, smallGainsAreDoubtful) {
  Costs times = bothRow;
  times["c1 rr"] = times["c2 rr"] = 9.6;
  EXPECT_EQ(choose(chain, predictions, &times).choices, 0);
  times["c1 rr"] = times["c2 rr"] = 9.4;
  EXPECT_EQ(choose(chain, predictions, &times).choices, 2);
}

TEST(MeasuredLayout, asksOnlyWherePredictionsLeaveADoubt) {
  Costs sure = predictions;
  sure["c1 rr"] = sure["c2 rr"] = 120;
  Chosen chosen = choose(chain, sure, &bothRow);
  EXPECT_THAT(chosen.asked, testing::IsEmpty());
  EXPECT_THAT(chosen.forms, UnorderedElementsAre("c1 rb", "c2 br"));
}

/// Whatever was measured, the network with the layouts that times choose takes no longer than with the default ones, by
/// the true costs of all kernels, also of those that were not measured.
TEST(MeasuredLayout, neverCostsMoreThanWithoutTimes) {
  uint64_t first = std::getenv("LATHE_TEST_SEED")
                       ? std::strtoull(std::getenv("LATHE_TEST_SEED"), nullptr, 10)
                       : static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count() % 1000000);
  std::cout << "first seed " << first << " (LATHE_TEST_SEED repeats it)\n";
  int changed = 0;
  for (uint64_t seed = first; seed < first + 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    auto within = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
    std::vector<int> reads;
    for (int i = 0, count = 2 + int(random() % 7); i < count; ++i)
      reads.push_back(int(random() % uint64_t(i + 1)) - 1);
    Costs truth, predicted, times;
    auto add = [&](const std::string &form, double cost) {
      truth[form] = cost;
      predicted[form] = 1000 * cost * within(0.8, 1.25); // of another unit
      if (random() % 8)
        times[form] = cost;
    };
    for (size_t i = 0; i < reads.size(); ++i)
      for (const char *layouts : {"rr", "rb", "br", "bb"})
        add(fmt::format("c{} {}", i + 1, layouts), within(8, 12));
    add("to b", within(0.1, 3));
    add("to r", within(0.1, 3));
    Chosen standard = choose(reads, predicted, nullptr), chosen = choose(reads, predicted, &times);
    EXPECT_LE(chosen.cost(truth), standard.cost(truth) * (1 + 1e-9));
    if (chosen.forms != standard.forms) {
      EXPECT_LT(chosen.cost(truth), standard.cost(truth));
      EXPECT_GT(chosen.choices, 0);
      ++changed;
    }
  }
  EXPECT_GT(changed, 30);
}

} // namespace
} // namespace lathe
