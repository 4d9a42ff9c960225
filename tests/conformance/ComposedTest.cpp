// Operators of ONNX that become several others (signal processing, attention with state, n-grams, deformable convolution),
// on references and compiled, beside their definitions in plain loops: forms that no case of the ONNX project has.
#include "compile/Compile.h"
#include "import/Import.h"
#include "import/onnx/TestModel.h"
#include "ir/Context.h"
#include "passes/interpret/Evaluate.h"
#include "runtime/Context.h"
#include "runtime/References.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>

namespace lathe {
namespace {

using onnx::TensorProto, onnx::TestModel;
using Complex = std::complex<double>;

class Composed : public testing::Test {
protected:
  void SetUp() override { runtime::registerReferences(); }
  std::mt19937_64 random{1};

  Tensor reals(std::vector<int64_t> dims, double low = -1, double high = 1) {
    Tensor tensor(ElementType::f32, std::move(dims));
    std::uniform_real_distribution<float> uniform(static_cast<float>(low), static_cast<float>(high));
    for (int64_t i = 0; i < tensor.elements(); ++i)
      tensor.as<float>()[i] = uniform(random);
    return tensor;
  }
  static Tensor integer(int64_t value) { return Tensor::of<int64_t>({}, {value}); }
  static Complex at(const Tensor &x, int64_t i) { return {x.asDouble(2 * i), x.asDouble(2 * i + 1)}; }

  /// The results on references; the compiled program has to give the same.
  static std::vector<Value> run(const TestModel &model, const std::vector<Value> &inputs) {
    auto context = makeContext();
    auto module = importOnnxBytes(*context, model.bytes(), "composed.onnx");
    std::vector<Value> expected = evaluate(*module, inputs);
    std::vector<char> package;
    compileToBytes(*module, {}, package);
    runtime::Context running(runtime::Model::fromBytes(package, "composed.lathe"), {2});
    std::vector<Value> results = running.run(inputs);
    for (size_t i = 0; i < expected.size(); ++i)
      expectNear(results[i].tensor(), expected[i].tensor(), 1e-5);
    return expected;
  }
  static void expectNear(const Tensor &got, const Tensor &expected, double tolerance) {
    ASSERT_EQ(got.dims(), expected.dims());
    double largest = 1;
    for (int64_t i = 0; i < expected.elements(); ++i)
      largest = std::max(largest, std::abs(expected.asDouble(i)));
    for (int64_t i = 0; i < expected.elements(); ++i)
      ASSERT_NEAR(got.asDouble(i), expected.asDouble(i), tolerance * largest) << "element " << i;
  }
};

/// The sum over n of x[n] exp(sign 2 pi i n k / length), zero beyond the end of x.
std::vector<Complex> transform(const std::vector<Complex> &x, int64_t length, double sign) {
  std::vector<Complex> y(static_cast<size_t>(length));
  for (int64_t k = 0; k < length; ++k)
    for (int64_t n = 0; n < std::min<int64_t>(length, int64_t(x.size())); ++n)
      y[size_t(k)] +=
          x[size_t(n)] * std::polar(1.0, sign * 2 * std::numbers::pi * double(n * k % length) / double(length));
  return y;
}

TEST_F(Composed, windowsOfComputedSizes) {
  for (const char *op : {"HannWindow", "HammingWindow", "BlackmanWindow"})
    for (int64_t periodic : {0, 1}) {
      TestModel m(17);
      m.input("size", {}, TensorProto::INT64).output("y");
      m.node(op, {"size"}, {"y"}).attr("periodic", periodic);
      for (int64_t size : {1, 2, 9, 40}) {
        SCOPED_TRACE(fmt::format("{} of {}, {}", op, size, periodic));
        Tensor y = run(m, {integer(size)})[0].tensor(), expected(ElementType::f32, {size});
        double n = static_cast<double>(std::max<int64_t>(size - 1 + periodic, 1)), a0 = *op == 'B' ? 0.42 : 0.5;
        if (std::string_view(op) == "HammingWindow")
          a0 = 25.0 / 46;
        double a2 = *op == 'B' ? 0.08 : 0, a1 = *op == 'B' ? 0.5 : 1 - a0;
        for (int64_t i = 0; i < size; ++i) {
          double angle = 2 * std::numbers::pi * double(i) / n;
          expected.as<float>()[i] = static_cast<float>(a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle));
        }
        expectNear(y, expected, 1e-6);
      }
    }
}

/// Extents 3 x N x 5, along N: any N, lengths above and below it, in both directions.
TEST_F(Composed, fourierTransformOfAnyLength) {
  for (bool complex : {false, true})
    for (bool inverse : {false, true})
      for (bool stated : {false, true}) {
        TestModel m(20);
        m.input("x", {3, "N", 5, complex ? 2 : 1}).ints("axis", {}, {1}).output("y");
        if (stated)
          m.input("length", {}, TensorProto::INT64);
        m.node("DFT", {"x", stated ? "length" : "", "axis"}, {"y"}).attr("inverse", inverse ? 1 : 0);
        for (auto [extent, length] : {std::pair<int64_t, int64_t>{7, 7}, {8, 5}, {6, 11}}) {
          SCOPED_TRACE(fmt::format("{} of {}, complex {}, inverse {}", length, extent, complex, inverse));
          if (!stated)
            length = extent;
          Tensor x = reals({3, extent, 5, complex ? 2 : 1}), expected(ElementType::f32, {3, length, 5, 2});
          std::vector<Value> inputs{x};
          if (stated)
            inputs.emplace_back(integer(length));
          for (int64_t a = 0; a < 3; ++a)
            for (int64_t b = 0; b < 5; ++b) {
              std::vector<Complex> line;
              for (int64_t n = 0; n < extent; ++n) {
                int64_t i = (a * extent + n) * 5 + b;
                line.push_back(complex ? at(x, i) : Complex(x.asDouble(i)));
              }
              std::vector<Complex> y = transform(line, length, inverse ? 1 : -1);
              for (int64_t k = 0; k < length; ++k) {
                Complex value = y[size_t(k)] / (inverse ? double(length) : 1.0);
                int64_t i = (a * length + k) * 5 + b;
                expected.as<float>()[2 * i] = static_cast<float>(value.real());
                expected.as<float>()[2 * i + 1] = static_cast<float>(value.imag());
              }
            }
          expectNear(run(m, inputs)[0].tensor(), expected, 1e-6);
        }
      }
}

/// The inverse of a one-sided spectrum gives the signal back.
TEST_F(Composed, oneSidedSpectrumAndBack) {
  for (int64_t length : {1, 2, 9, 16}) {
    SCOPED_TRACE(length);
    TestModel m(20);
    m.input("x", {2, "N", 1}).input("length", {}, TensorProto::INT64).ints("axis", {}, {1}).output("y");
    m.node("DFT", {"x", "length", "axis"}, {"s"}).attr("onesided", 1);
    m.node("DFT", {"s", "length", "axis"}, {"y"}).attr("onesided", 1).attr("inverse", 1);
    Tensor x = reals({2, length, 1});
    expectNear(run(m, {x, integer(length)})[0].tensor(), x, 1e-6);
  }
}

TEST_F(Composed, framesOfASignalOfAnyLength) {
  TestModel m(17);
  m.input("x", {2, "N", 1}).input("step", {}, TensorProto::INT64).input("window", {"W"}).output("y");
  m.node("STFT", {"x", "step", "window"}, {"y"}).attr("onesided", 0);
  for (auto [extent, step, width] : {std::array<int64_t, 3>{20, 3, 8}, {9, 4, 9}, {31, 5, 7}}) {
    Tensor x = reals({2, extent, 1}), window = reals({width}, 0, 1);
    int64_t frames = (extent - width) / step + 1;
    Tensor expected(ElementType::f32, {2, frames, width, 2});
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t f = 0; f < frames; ++f) {
        std::vector<Complex> line;
        for (int64_t n = 0; n < width; ++n)
          line.emplace_back(x.asDouble(b * extent + f * step + n) * window.asDouble(n));
        std::vector<Complex> y = transform(line, width, -1);
        for (int64_t k = 0; k < width; ++k) {
          int64_t i = (b * frames + f) * width + k;
          expected.as<float>()[2 * i] = static_cast<float>(y[size_t(k)].real());
          expected.as<float>()[2 * i + 1] = static_cast<float>(y[size_t(k)].imag());
        }
      }
    expectNear(run(m, {x, integer(step), window})[0].tensor(), expected, 1e-6);
  }
}

TEST_F(Composed, tensorScatterGoesOnAtTheBegin) {
  TestModel m(24);
  m.input("cache", {"B", 2, 5, 3}).input("update", {"B", 2, "L", 3}).input("at", {"B"}, TensorProto::INT64).output("y");
  m.node("TensorScatter", {"cache", "update", "at"}, {"y"}).attr("mode", "circular").attr("axis", 2);
  Tensor cache = reals({2, 2, 5, 3}), update = reals({2, 2, 4, 3}), expected = cache.clone();
  int64_t begins[] = {3, 0};
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t h = 0; h < 2; ++h)
      for (int64_t l = 0; l < 4; ++l)
        for (int64_t d = 0; d < 3; ++d)
          expected.as<float>()[((b * 2 + h) * 5 + (begins[b] + l) % 5) * 3 + d] =
              update.as<float>()[((b * 2 + h) * 4 + l) * 3 + d];
  expectNear(run(m, {cache, update, Tensor::of<int64_t>({2}, {3, 0})})[0].tensor(), expected, 0);
}

/// A cache that is a state is written where it lies.
TEST_F(Composed, tensorScatterWritesItsStateInPlace) {
  TestModel m(24);
  m.input("cache", {2, 3, 16, 8}).input("update", {2, 3, 1, 8}).input("at", {2}, TensorProto::INT64);
  m.output("present").output("y");
  m.node("TensorScatter", {"cache", "update", "at"}, {"present"}).attr("axis", 2);
  m.node("Exp", {"present"}, {"y"});
  auto context = makeContext();
  auto module = importOnnxBytes(*context, m.bytes(), "composed.onnx");
  std::vector<char> package;
  compileToBytes(*module, {}, package);
  runtime::Context running(runtime::Model::fromBytes(package, "composed.lathe"), {2});
  running.keepState(0, 0);
  Tensor cache = reals({2, 3, 16, 8}), given = cache.clone();
  running.setInput(0, given);
  const void *place = nullptr;
  for (int64_t step = 0; step < 4; ++step) {
    std::vector<Value> inputs{cache, reals({2, 3, 1, 8}), Tensor::of<int64_t>({2}, {step, 15 - step})};
    running.setInput(1, inputs[1]);
    running.setInput(2, inputs[2]);
    running.run();
    std::vector<Value> expected = evaluate(*module, inputs);
    const Tensor &present = running.output(0).tensor();
    expectNear(present, expected[0].tensor(), 0);
    expectNear(running.output(1).tensor(), expected[1].tensor(), 1e-5);
    EXPECT_TRUE(step == 0 || present.data() == place) << "step " << step;
    place = present.data();
    cache = expected[0].tensor();
  }
  EXPECT_NE(place, given.data()) << "the caller's memory was written";
}

TEST_F(Composed, scanOverNothing) {
  TestModel m(21);
  m.input("start", {2}).input("x", {2, 0}).output("end").output("y");
  onnx::NodeProto &scan = *m.node("Scan", {"start", "x"}, {"end", "y"}).node;
  onnx::TestNode(&scan).attr("num_scan_inputs", 1).attr("scan_input_axes", std::vector<int64_t>{1});
  onnx::AttributeProto &body = *scan.add_attribute();
  body.set_name("body");
  body.set_type(onnx::AttributeProto::GRAPH);
  for (const char *name : {"s", "step"})
    body.mutable_g()->add_input()->set_name(name);
  onnx::NodeProto &sum = *body.mutable_g()->add_node();
  sum.set_op_type("Add");
  for (const char *name : {"s", "step"})
    sum.add_input(name);
  for (const char *name : {"next", "shown"})
    body.mutable_g()->add_output()->set_name(name);
  sum.add_output("next");
  onnx::NodeProto &shown = *body.mutable_g()->add_node();
  shown.set_op_type("Exp");
  shown.add_input("next");
  shown.add_output("shown");
  Tensor start = reals({2});
  std::vector<Value> results = run(m, {start, reals({2, 0})});
  expectNear(results[0].tensor(), start, 0);
  EXPECT_EQ(results[1].tensor().dims(), (std::vector<int64_t>{0, 2}));
}

/// Step by step with the state of the step before, a causal convolution gives what it gives at once.
TEST_F(Composed, causalConvolutionStepByStep) {
  TestModel m(27);
  m.input("x", {2, 3, "L"}).weight("w", {3, 1, 4}).input("past", {2, 3, 3}).output("y").output("present");
  m.node("CausalConvWithState", {"x", "w", "", "past"}, {"y", "present"}).attr("activation", "silu");
  Tensor x = reals({2, 3, 6}, -0.2, 0.2), state(ElementType::f32, {2, 3, 3});
  std::fill_n(state.as<float>(), 18, 0.0f);
  Tensor all = run(m, {x, state})[0].tensor();
  for (int64_t step = 0; step < 6; ++step) {
    Tensor one(ElementType::f32, {2, 3, 1});
    for (int64_t i = 0; i < 6; ++i)
      one.as<float>()[i] = x.as<float>()[i * 6 + step];
    std::vector<Value> results = run(m, {one, state});
    for (int64_t i = 0; i < 6; ++i)
      EXPECT_NEAR(results[0].tensor().asDouble(i), all.asDouble(i * 6 + step), 1e-5) << "step " << step;
    state = results[1].tensor();
  }
}

/// 19 positions in a loop, in parts of one and six positions, and a number that the run tells: the same.
TEST_F(Composed, linearAttentionInParts) {
  auto model = [](TestModel::Extent steps) {
    TestModel m(27);
    m.input("q", {2, steps, 4 * 3})
        .input("k", {2, steps, 2 * 3})
        .input("v", {2, steps, 2 * 5})
        .input("s", {2, 2, 3, 5});
    m.input("decay", {2, steps, 2}).input("beta", {2, steps, 2}).output("y").output("state");
    m.node("LinearAttention", {"q", "k", "v", "s", "decay", "beta"}, {"y", "state"})
        .attr("q_num_heads", 4)
        .attr("kv_num_heads", 2);
    return m;
  };
  constexpr int64_t steps = 19;
  Tensor state(ElementType::f32, {2, 2, 3, 5});
  std::fill_n(state.as<float>(), state.elements(), 0.0f);
  std::vector<Tensor> all = {reals({2, steps, 12}),       reals({2, steps, 6}),      reals({2, steps, 10}), state,
                             reals({2, steps, 2}, -1, 0), reals({2, steps, 2}, 0, 1)};
  std::vector<Value> inputs(all.begin(), all.end());
  std::vector<Value> whole = run(model("T"), inputs), fixed = run(model(int(steps)), inputs);
  for (size_t i = 0; i < 2; ++i)
    expectNear(fixed[i].tensor(), whole[i].tensor(), 1e-6);
  for (int64_t begin = 0, count = 1; begin < steps; begin += count, count = std::min<int64_t>(6, steps - begin)) {
    std::vector<Value> part;
    for (size_t i = 0; i < all.size(); ++i) {
      if (i == 3) {
        part.emplace_back(state);
        continue;
      }
      int64_t lanes = all[i].dim(2);
      Tensor cut(ElementType::f32, {2, count, lanes});
      for (int64_t b = 0; b < 2; ++b)
        std::copy_n(all[i].as<float>() + (b * steps + begin) * lanes, count * lanes,
                    cut.as<float>() + b * count * lanes);
      part.emplace_back(cut);
    }
    std::vector<Value> results = run(model(int(count)), part);
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t i = 0; i < count * 20; ++i)
        ASSERT_NEAR(results[0].tensor().asDouble(b * count * 20 + i),
                    whole[0].tensor().asDouble((b * steps + begin) * 20 + i), 1e-5)
            << "from position " << begin;
    state = results[1].tensor();
  }
  expectNear(state, whole[1].tensor(), 1e-5);
}

/// Two query heads for each head of keys, a subgraph on the scores: what Attention gives with the same bias.
TEST_F(Composed, flexAttentionIsAttentionWithABias) {
  TestModel m(26);
  m.model.add_opset_import()->set_domain("ai.onnx.preview");
  m.model.mutable_opset_import(1)->set_version(1);
  m.input("q", {2, 4, "L", 8}).input("k", {2, 2, "S", 8}).input("v", {2, 2, "S", 6}).input("bias", {1}).output("y");
  auto node = m.node("FlexAttention", {"q", "k", "v"}, {"y"});
  node.node->set_domain("ai.onnx.preview");
  auto *attr = node.node->add_attribute();
  attr->set_name("score_mod");
  attr->set_type(onnx::AttributeProto::GRAPH);
  auto *graph = attr->mutable_g();
  graph->add_input()->set_name("scores");
  graph->add_output()->set_name("changed");
  auto *add = graph->add_node();
  add->set_op_type("Mul"); // captures a value around it
  add->add_input("scores");
  add->add_input("bias");
  add->add_output("changed");
  TestModel plain(24);
  plain.input("q", {2, 4, "L", 8}).input("k", {2, 2, "S", 8}).input("v", {2, 2, "S", 6}).output("y");
  plain.node("Attention", {"q", "k", "v"}, {"y"}).attr("scale", 0.5f);
  Tensor q = reals({2, 4, 3, 8}), k = reals({2, 2, 7, 8}), v = reals({2, 2, 7, 6});
  float factor = 0.5f * std::sqrt(8.0f); // of the default scale
  Tensor y = run(m, {q, k, v, Tensor::of<float>({1}, {factor})})[0].tensor();
  expectNear(y, run(plain, {q, k, v})[0].tensor(), 1e-6);
}

/// Scores are divided by the root of the depth, which only the run may know.
TEST_F(Composed, openDepthOfAttention) {
  auto attention = [](TestModel::Extent depth, bool flex) {
    TestModel m(flex ? 26 : 24);
    m.input("q", {2, 4, "L", depth}).input("k", {2, 2, "S", depth}).input("v", {2, 2, "S", 6}).output("y");
    auto node = m.node(flex ? "FlexAttention" : "Attention", {"q", "k", "v"}, {"y"});
    if (flex) {
      m.model.add_opset_import()->set_domain("ai.onnx.preview");
      m.model.mutable_opset_import(1)->set_version(1);
      node.node->set_domain("ai.onnx.preview");
    }
    return m;
  };
  auto linear = [](TestModel::Extent lanes) {
    TestModel m(27);
    m.input("q", {2, "T", lanes}).input("k", {2, "T", lanes}).input("v", {2, "T", 5}).input("s", {2, 1, lanes, 5});
    m.output("y")
        .output("state")
        .node("LinearAttention", {"q", "k", "v", "s"}, {"y", "state"})
        .attr("q_num_heads", 1)
        .attr("kv_num_heads", 1)
        .attr("update_rule", "linear");
    return m;
  };
  std::vector<Value> inputs = {reals({2, 4, 3, 7}), reals({2, 2, 5, 7}), reals({2, 2, 5, 6})};
  for (bool flex : {false, true})
    expectNear(run(attention("D", flex), inputs)[0].tensor(), run(attention(7, flex), inputs)[0].tensor(), 1e-6);
  inputs = {reals({2, 9, 7}), reals({2, 9, 7}), reals({2, 9, 5}), reals({2, 1, 7, 5})};
  expectNear(run(linear("D"), inputs)[0].tensor(), run(linear(7), inputs)[0].tensor(), 1e-6);
}

/// Where all extents are open, any of them may be 0.
TEST_F(Composed, flattenOfNothing) {
  for (int axis = 0; axis <= 4; ++axis) {
    TestModel m(17);
    m.input("x", {"N", "C", "H", "W"}).output("y");
    m.node("Flatten", {"x"}, {"y"}).attr("axis", axis);
    for (std::vector<int64_t> dims :
         {std::vector<int64_t>{0, 2, 3, 4}, {2, 0, 3, 4}, {2, 3, 0, 4}, {2, 3, 4, 0}, {0, 0, 0, 0}, {2, 3, 4, 5}}) {
      int64_t rows = 1, columns = 1;
      for (int i = 0; i < 4; ++i)
        (i < axis ? rows : columns) *= dims[static_cast<size_t>(i)];
      EXPECT_EQ(run(m, {reals(dims)})[0].tensor().dims(), (std::vector<int64_t>{rows, columns})) << "axis " << axis;
    }
  }
}

TEST_F(Composed, nGramsOfTextAndWeights) {
  auto model = [](const char *mode) {
    TestModel m(9);
    m.input("x", {"N", "L"}, TensorProto::STRING).output("y");
    auto node = m.node("TfIdfVectorizer", {"x"}, {"y"});
    node.attr("mode", mode).attr("min_gram_length", 1).attr("max_gram_length", 2).attr("max_skip_count", 1);
    node.attr("ngram_counts", std::vector<int64_t>{0, 2}).attr("ngram_indexes", std::vector<int64_t>{3, 0, 1});
    node.floats("weights", {2, 3, 4});
    auto *pool = node.node->add_attribute();
    pool->set_name("pool_strings");
    pool->set_type(onnx::AttributeProto::STRINGS);
    for (const char *text : {"a", "b", "a", "b"}) // a, b and the pair a b
      pool->add_strings(text);
    return m;
  };
  Tensor x(ElementType::string, {2, 4});
  x.strings() = {"a", "c", "b", "b", "b", "a", "b", "c"};
  // a b with at most one between: 1 (over c) in the first row, 1 in the second. Column 2 has no n-gram.
  expectNear(run(model("TF"), {x})[0].tensor(), Tensor::of<float>({2, 4}, {2, 1, 0, 1, 2, 1, 0, 1}), 0);
  expectNear(run(model("IDF"), {x})[0].tensor(), Tensor::of<float>({2, 4}, {3, 4, 0, 2, 3, 4, 0, 2}), 0);
  expectNear(run(model("TFIDF"), {x})[0].tensor(), Tensor::of<float>({2, 4}, {6, 4, 0, 2, 6, 4, 0, 2}), 0);
}

/// Two groups, two groups of offsets, strides, dilations, a mask and a bias.
TEST_F(Composed, deformableConvolution) {
  TestModel m(19);
  m.input("x", {2, 4, 7, 6}).input("w", {6, 2, 3, 2}).input("offset", {2, 24, 3, 3}).input("b", {6});
  m.input("mask", {2, 12, 3, 3}).output("y");
  m.node("DeformConv", {"x", "w", "offset", "b", "mask"}, {"y"})
      .attr("group", 2)
      .attr("offset_group", 2)
      .attr("strides", std::vector<int64_t>{2, 2})
      .attr("dilations", std::vector<int64_t>{2, 1})
      .attr("pads", std::vector<int64_t>{1, 0, 1, 1});
  Tensor x = reals({2, 4, 7, 6}), w = reals({6, 2, 3, 2}), offset = reals({2, 24, 3, 3}, -2, 2), b = reals({6}),
         mask = reals({2, 12, 3, 3}, 0, 1), expected(ElementType::f32, {2, 6, 3, 3});
  auto pixel = [&](int64_t n, int64_t c, int64_t y, int64_t z) {
    return y < 0 || y >= 7 || z < 0 || z >= 6 ? 0.0 : x.asDouble(((n * 4 + c) * 7 + y) * 6 + z);
  };
  auto sample = [&](int64_t n, int64_t c, double y, double z) {
    auto top = int64_t(std::floor(y)), left = int64_t(std::floor(z));
    double down = y - double(top), right = z - double(left);
    return (1 - down) * ((1 - right) * pixel(n, c, top, left) + right * pixel(n, c, top, left + 1)) +
           down * ((1 - right) * pixel(n, c, top + 1, left) + right * pixel(n, c, top + 1, left + 1));
  };
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t o = 0; o < 6; ++o)
      for (int64_t p = 0; p < 9; ++p) {
        double sum = b.asDouble(o);
        for (int64_t c = 0; c < 2; ++c)
          for (int64_t tap = 0; tap < 6; ++tap) {
            int64_t channel = o / 3 * 2 + c, set = channel / 2;
            auto moved = [&](int64_t which) { return offset.asDouble((n * 24 + (set * 6 + tap) * 2 + which) * 9 + p); };
            double y = double(p / 3 * 2 - 1 + tap / 2 * 2) + moved(0), z = double(p % 3 * 2 + tap % 2) + moved(1);
            sum += w.asDouble((o * 2 + c) * 6 + tap) * mask.asDouble((n * 12 + set * 6 + tap) * 9 + p) *
                   sample(n, channel, y, z);
          }
        expected.as<float>()[(n * 6 + o) * 9 + p] = static_cast<float>(sum);
      }
  expectNear(run(m, {x, w, offset, b, mask})[0].tensor(), expected, 1e-5);
}

} // namespace
} // namespace lathe
