// Operators composed of other operators, in all their forms, with results derived from TensorFlow's definitions.
#include "import/tensorflow/GraphTesting.h"
#include "ir/SymbolicShapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace lathe::tensorflow {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;
using G = TestGraph;
using Names = std::vector<std::string>;

/// Applies the operator to x and the inputs that `more` makes, and returns its first result.
std::vector<Tensor> run(const Extents &dims, const Numbers &x, const std::string &op,
                        const std::vector<Attr> &attrs = {}, const std::function<Names(G &)> &more = {}) {
  G g;
  Names inputs = {g.placeholder("x", dims)};
  for (const std::string &input : more ? more(g) : Names())
    inputs.push_back(input);
  g.op("Identity", {g.op(op, inputs, attrs)}, {}, "y");
  return results(g.bytes(), {floats(dims, x)});
}
Numbers numbersFrom(const Extents &dims, const Numbers &x, const std::string &op, const std::vector<Attr> &attrs = {},
                    const std::function<Names(G &)> &more = {}) {
  return numbersOf(run(dims, x, op, attrs, more).at(0));
}

// ---- FakeQuant ----------------------------------------------------------------------------------------------------

/// TensorFlow's definition for one number.
double fakeQuantised(double x, double least, double most, int bits, bool narrow) {
  double first = narrow ? 1 : 0, last = (1 << bits) - 1, scale = (most - least) / (last - first);
  double zero = std::min(std::max(std::round(first - least / scale), first), last);
  double low = (first - zero) * scale, high = (last - zero) * scale;
  return std::floor((std::min(std::max(x, low), high) - low) / scale + 0.5) * scale + low;
}

/// No number is in the middle between two steps, where the last bit would decide.
TEST(FakeQuant, RangesOfAllKinds) {
  const Numbers x = {-7, -1.29, -0.183, 0, 0.513, 2.143, 2.625, 5.143};
  for (bool narrow : {false, true})
    for (int bits : {2, 5, 8})
      for (auto [least, most] : {std::pair(-1.7f, 2.3f), {0.f, 6.f}, {-4.1f, 0.f}, {0.5f, 3.f}, {-3.1f, -1.f}}) {
        Numbers want;
        for (double each : x)
          want.push_back(fakeQuantised(each, least, most, bits, narrow));
        std::vector<Attr> attrs = {number("num_bits", bits), truth("narrow_range", narrow)};
        auto range = [least = least, most = most](G &g) { return Names{g.real(least), g.real(most)}; };
        SCOPED_TRACE(testing::Message() << least << " to " << most << ", " << bits << " bits, narrow " << narrow);
        EXPECT_THAT(numbersFrom({8}, x, "FakeQuantWithMinMaxVars", attrs, range), Pointwise(DoubleNear(1e-5), want));
        attrs.insert(attrs.end(), {real("min", least), real("max", most)});
        EXPECT_THAT(numbersFrom({8}, x, "FakeQuantWithMinMaxArgs", attrs), Pointwise(DoubleNear(1e-5), want));
      }
}

TEST(FakeQuant, ARangeForEveryChannel) {
  const Numbers x = {-7, -1.285, 0.377, 1.9139, 2.6173, 5.0319};
  for (bool narrow : {false, true}) {
    const std::vector<float> least = {-2.1f, 0, -1}, most = {2, 6, 0};
    Numbers want;
    for (size_t i = 0; i < 6; ++i)
      want.push_back(fakeQuantised(x[i], least[i % 3], most[i % 3], 3, narrow));
    EXPECT_THAT(numbersFrom({2, 3}, x, "FakeQuantWithMinMaxVarsPerChannel",
                            {number("num_bits", 3), truth("narrow_range", narrow)},
                            [&](G &g) { return Names{g.constant<float>({3}, least), g.constant<float>({3}, most)}; }),
                Pointwise(DoubleNear(1e-5), want));
  }
  EXPECT_THAT(
      numbersFrom({2}, {-1, 1}, "FakeQuantWithMinMaxVars", {}, [](G &g) { return Names{g.real(0), g.real(0)}; }),
      ElementsAre(0, 0));
}

TEST(FakeQuant, ARangeThatFallsIsAnError) {
  G g;
  g.op("FakeQuantWithMinMaxArgs", {g.placeholder("x", {2})}, {real("min", 2), real("max", 1)}, "quant");
  EXPECT_THAT(importError(g.bytes()), HasSubstr("has the range 2 to 1, expected one that rises"));
}

// ---- CTCGreedyDecoder ---------------------------------------------------------------------------------------------

/// Scores of 5 steps x 2 rows x 3 classes with the best classes `best` (row by row); each row has `lengths` steps.
std::vector<Tensor> decoded(const std::vector<int> &best, const std::vector<int32_t> &lengths,
                            const std::vector<Attr> &attrs) {
  Numbers scores(30, -1);
  for (size_t row = 0; row < 2; ++row)
    for (size_t step = 0; step < 5; ++step)
      scores[(step * 2 + row) * 3 + static_cast<size_t>(best[row * 5 + step])] = 1 + static_cast<double>(step);
  G g;
  g.op("CTCGreedyDecoder", {g.placeholder("x", {5, 2, 3}), g.ints(lengths)}, attrs, "ctc");
  for (const char *result : {"ctc", "ctc:1", "ctc:2", "ctc:3"})
    g.op("Identity", {result});
  return results(g.bytes(), {floats({5, 2, 3}, scores)});
}

TEST(CtcGreedyDecoder, MergesRepetitionsWhereItIsTold) {
  const std::vector<int> best = {0, 0, 2, 0, 1, 1, 1, 1, 2, 2};
  std::vector<Tensor> merged = decoded(best, {5, 3}, {truth("merge_repeated")});
  EXPECT_THAT(numbersOf(merged.at(0)), ElementsAre(0, 0, 0, 1, 0, 2, 1, 0));
  EXPECT_THAT(numbersOf(merged.at(1)), ElementsAre(0, 0, 1, 1)); // the blank, 2, ends a repetition
  EXPECT_THAT(numbersOf(merged.at(2)), ElementsAre(2, 3));
  EXPECT_THAT(numbersOf(merged.at(3)), ElementsAre(-15, -6));
  std::vector<Tensor> all = decoded(best, {5, 3}, {});
  EXPECT_THAT(numbersOf(all.at(1)), ElementsAre(0, 0, 0, 1, 1, 1, 1));
  EXPECT_THAT(numbersOf(all.at(2)), ElementsAre(2, 4));
  std::vector<Tensor> other = decoded(best, {5, 5}, {truth("merge_repeated"), number("blank_index", 0)});
  EXPECT_THAT(numbersOf(other.at(1)), ElementsAre(2, 1, 1, 2));
}

// ---- Colours ------------------------------------------------------------------------------------------------------

TEST(Colour, ToHueAndBack) {
  Numbers rgb = {1, 0, 0, 0.25, 0.5, 0.25, 0.1, 0.2, 0.9, 0.4, 0.4, 0.4, 0.9, 0.1, 0.5, 0, 0, 0};
  Numbers hsv = {0,           1,         1,   1 / 3., 0.5, 0.5, (4 - 0.1 / 0.8) / 6, 0.8 / 0.9, 0.9, 0, 0, 0.4,
                 1 - 0.5 / 6, 0.8 / 0.9, 0.9, 0,      0,   0};
  EXPECT_THAT(numbersFrom({6, 3}, rgb, "RGBToHSV"), Pointwise(DoubleNear(1e-6), hsv));
  EXPECT_THAT(numbersFrom({6, 3}, hsv, "HSVToRGB"), Pointwise(DoubleNear(1e-6), rgb));
}

TEST(Colour, Adjusted) {
  Numbers rgb = {0.25, 0.5, 0.25, 0.1, 0.2, 0.9};
  // Half of the saturation: halves the distance of every channel from the greatest channel.
  EXPECT_THAT(numbersFrom({1, 2, 3}, rgb, "AdjustSaturation", {}, [](G &g) { return Names{g.real(0.5f)}; }),
              Pointwise(DoubleNear(1e-6), Numbers{0.375, 0.5, 0.375, 0.5, 0.55, 0.9}));
  // A third of the hue circle permutes the channels.
  EXPECT_THAT(numbersFrom({1, 2, 3}, rgb, "AdjustHue", {}, [](G &g) { return Names{g.real(1 / 3.f)}; }),
              Pointwise(DoubleNear(1e-6), Numbers{0.25, 0.25, 0.5, 0.9, 0.1, 0.2}));
  EXPECT_THAT(numbersFrom({1, 2, 1}, {1, 3}, "AdjustContrastv2", {}, [](G &g) { return Names{g.real(3)}; }),
              Pointwise(DoubleNear(1e-6), Numbers{-1, 5}));
}

// ---- Counts and formats -------------------------------------------------------------------------------------------

Numbers counted(const std::vector<int32_t> &values, const std::vector<float> &weights, bool binary) {
  G g;
  std::string x = g.constant<int32_t>({2, 3}, values);
  Extents form = weights.empty() ? Extents{0} : Extents{2, 3};
  std::string y =
      g.op("DenseBincount", {x, g.scalar(4), g.constant<float>(form, weights)}, {truth("binary_output", binary)});
  g.op("AddV2", {y, g.placeholder("zero", {})}, {}, "y");
  return numbersOf(results(g.bytes(), {floats({}, {0})}).at(0));
}

TEST(Count, OfNumbersInRows) {
  EXPECT_THAT(counted({0, 2, 2, 3, 3, 3}, {}, false), ElementsAre(1, 0, 2, 0, 0, 0, 0, 3));
  EXPECT_THAT(counted({0, 2, 2, 3, 3, 3}, {}, true), ElementsAre(1, 0, 1, 0, 0, 0, 0, 1));
  EXPECT_THAT(counted({0, 2, 2, 3, 3, 3}, {1, 2, 3, 4, 5, 6}, false), ElementsAre(1, 0, 5, 0, 0, 0, 0, 15));
}

TEST(Count, AmongTheGreatest) {
  for (int32_t k : {1, 2, 3}) {
    G g;
    std::string x = g.placeholder("x", {4, 3});
    std::string y = g.op("InTopKV2", {x, g.ints({1, 1, 1, 7}), g.scalar(k)}, {});
    g.op("Cast", {y}, {type("DstT", 1)}, "y");
    // Rows: second; first, tied with another class; first, but with an infinite number; no valid class.
    Numbers got = numbersOf(results(g.bytes(), {floats({4, 3}, {1, 2, 3, 5, 5, 0, 0, 9, -INFINITY, 1, 2, 3})}).at(0));
    EXPECT_THAT(got, ElementsAre(k >= 2, 1, 0, 0)) << k;
  }
}

TEST(Format, OfAxes) {
  EXPECT_THAT(
      numbersFrom({4}, {1, 5, 6, 3}, "DataFormatVecPermute", {text("src_format", "NHWC"), text("dst_format", "NCHW")}),
      ElementsAre(1, 3, 5, 6));
  EXPECT_THAT(numbersFrom({2}, {5, 6}, "DataFormatVecPermute", {}), ElementsAre(5, 6));
  G g;
  std::string axes =
      g.op("DataFormatDimMap", {g.ints({1, 3, -1})}, {text("src_format", "NHWC"), text("dst_format", "NCHW")});
  g.op("AddV2", {axes, g.placeholder("zero", {}, 3)}, {}, "y");
  EXPECT_THAT(numbersOf(results(g.bytes(), {tensorOf(ElementType::i32, {}, {0})}).at(0)), ElementsAre(2, 1, 1));
}

// ---- Extents that must be equal -----------------------------------------------------------------------------------

/// The symbols of the inputs.
std::vector<std::string> symbolsOf(const std::string &bytes, const ImportOptions &options = {}) {
  auto context = makeContext();
  auto module = importModelOf(format(), *context, bytes, "m.pb", {}, options);
  auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
  EXPECT_FALSE(main->hasAttr("nn.equal_extents"));
  std::vector<std::string> texts;
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    texts.push_back(str(nn::argumentDims(main, i)));
  return texts;
}

TEST(EqualExtents, OfABatchAndItsLengths) {
  G g;
  g.op("ReverseSequence", {g.placeholder("x", {-1, 3}), g.placeholder("n", {-1}, 3)},
       {number("seq_dim", 1), number("batch_dim", 0)}, "y");
  EXPECT_THAT(symbolsOf(g.bytes()), ElementsAre("x_0x3", "x_0"));
  EXPECT_THAT(symbolsOf(g.bytes(), {.shapes = {{"x", {5, 3}}}}), ElementsAre("5x3", "5"));
  EXPECT_THAT(symbolsOf(g.bytes(), {.shapes = {{"n", {4}}}}), ElementsAre("4x3", "4"));
}

TEST(EqualExtents, ThatFollowFromOthers) {
  G g; // a and b have equal first axes, b and c equal second ones, and so have both concatenations
  std::string a = g.placeholder("a", {-1, -1}), b = g.placeholder("b", {-1, -1}), c = g.placeholder("c", {-1, -1});
  g.op("ConcatV2", {a, b, g.scalar(1)}, {}, "columns");
  g.op("ConcatV2", {b, c, g.scalar(0)}, {}, "rows");
  EXPECT_THAT(symbolsOf(g.bytes()), ElementsAre("a_0xa_1", "a_0xb_1", "c_0xb_1"));
}

TEST(EqualExtents, ThatMayBroadcastAreLeftAlone) {
  G g;
  g.op("AddV2", {g.placeholder("a", {-1}), g.placeholder("b", {-1})}, {}, "y");
  EXPECT_THAT(symbolsOf(g.bytes()), ElementsAre("a_0", "b_0"));
}

TEST(EqualExtents, ThatAnAssertionDemands) {
  for (bool asserts : {true, false}) {
    G g;
    std::string a = g.placeholder("a", {-1}), b = g.placeholder("b", {-1});
    std::string equal = g.op("Equal", {g.op("Shape", {a}), g.op("Shape", {b})});
    std::string check = g.op("Assert", {g.op("All", {equal, g.ints({0})}), a});
    std::string checked = g.op("Identity", asserts ? Names{a, "^" + check} : Names{a});
    g.op("AddV2", {checked, b}, {}, "y");
    EXPECT_THAT(symbolsOf(g.bytes()), asserts ? ElementsAre("a_0", "a_0") : ElementsAre("a_0", "b_0"));
    EXPECT_THAT(numbersOf(results(g.bytes(), {floats({2}, {1, 2}), floats({2}, {10, 20})}).at(0)), ElementsAre(11, 22));
  }
}

TEST(EqualExtents, InsideOfABranchDemandNothing) {
  G g;
  file::FunctionDef &join = g.function("join", {{"a", 1}, {"b", 1}}, {{"y", "sum:z:0"}});
  setConstant<int32_t>(*join.add_node_def(), "axis", {}, {0});
  setNode(*join.add_node_def(), "pack", "Pack", {"a", "b"}, {number("N", 2), number("axis", 0)});
  setNode(*join.add_node_def(), "sum", "Sum", {"pack:output:0", "axis:output:0"}, {});
  file::FunctionDef &first = g.function("first", {{"a", 1}, {"b", 1}}, {{"y", "same:output:0"}});
  setNode(*first.add_node_def(), "same", "Identity", {"a"}, {});
  g.op("If", {g.placeholder("c", {}, 10), g.placeholder("a", {-1}), g.placeholder("b", {-1})},
       {function("then_branch", "join"), function("else_branch", "first"), types("Tin", {1, 1}), types("Tout", {1})},
       "y");
  EXPECT_THAT(symbolsOf(g.bytes()), ElementsAre("scalar", "a_0", "b_0"));
}

} // namespace
} // namespace lathe::tensorflow
