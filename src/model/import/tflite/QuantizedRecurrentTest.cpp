// Compares quantised recurrent layers bit by bit with TensorFlow Lite's integer arithmetic in plain loops.
#include "import/tflite/QuantizedLstmTesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace lathe::tflite {
namespace {

using namespace lstm;
using testing::HasSubstr;

class QuantizedLstm : public testing::TestWithParam<Form> {};

/// Two runs; the second run begins with the states after the first run.
TEST_P(QuantizedLstm, BitsOfThePlainEvaluation) {
  const Form &form = GetParam();
  Layer layer(form);
  int length = form.single ? 1 : steps;
  TestFile f;
  auto extents = [&](int last) {
    return form.single ? Ints{batch, last} : form.timeMajor ? Ints{length, batch, last} : Ints{batch, length, last};
  };
  Ints dims = extents(inputs);
  layer.add(f, f.quantisedInput("x", dims, Type::INT8, layer.xScale, layer.xZero), extents(form.outputs));
  std::string bytes = f.bytes();

  auto outputs = static_cast<size_t>(form.outputs);
  std::vector<Numbers> h(batch, Numbers(outputs, layer.hZero)), c(batch, Numbers(cells));
  Tensor hidden = Tensor::of<int8_t>({batch, form.outputs},
                                     std::vector<int8_t>(batch * outputs, static_cast<int8_t>(layer.hZero))),
         cell = Tensor::of<int16_t>({batch, cells}, std::vector<int16_t>(batch * cells));
  int moved = 0;
  for (int run = 0; run < 2; ++run) {
    std::vector<int8_t> x =
        mixed<int8_t>(static_cast<size_t>(batch * length * inputs), 127, 40 + static_cast<size_t>(run));
    std::vector<Tensor> got =
        evaluated(bytes, {Tensor::of<int8_t>(std::vector<int64_t>(dims.begin(), dims.end()), x), hidden, cell});
    ASSERT_EQ(got.size(), 3u) << "the new states are results";
    Numbers wide(x.begin(), x.end()), want(static_cast<size_t>(batch * length) * outputs);
    for (int t = 0; t < length; ++t)
      for (int b = 0; b < batch; ++b) {
        auto at = static_cast<size_t>(form.timeMajor ? t * batch + b : b * length + t);
        layer.step(&wide[at * inputs], h[static_cast<size_t>(b)], c[static_cast<size_t>(b)]);
        std::copy(h[static_cast<size_t>(b)].begin(), h[static_cast<size_t>(b)].end(),
                  want.begin() + static_cast<int64_t>(at * outputs));
      }
    EXPECT_EQ(integers(got[0]), want) << "run " << run;
    Numbers wantH, wantC;
    for (size_t b = 0; b < batch; ++b) {
      wantH.insert(wantH.end(), h[b].begin(), h[b].end());
      wantC.insert(wantC.end(), c[b].begin(), c[b].end());
    }
    EXPECT_EQ(integers(got[1]), wantH);
    EXPECT_EQ(integers(got[2]), wantC);
    hidden = got[1], cell = got[2];
    moved += static_cast<int>(
        std::count_if(want.begin(), want.end(), [](int32_t q) { return q > -120 && q < 120 && q != 0; }));
  }
  EXPECT_GT(moved, batch * length) << "most results are saturated or zero";
}

INSTANTIATE_TEST_SUITE_P(
    Forms, QuantizedLstm,
    testing::Values(Form{.name = "plain"}, Form{.name = "timeMajor", .timeMajor = true},
                    Form{.name = "coupled", .coupled = true}, Form{.name = "peephole", .peephole = true},
                    Form{.name = "projection", .outputs = 3, .innerZero = 5},
                    Form{.name = "clipped", .outputs = 3, .cellClip = 0.4f, .projectionClip = 0.3f},
                    Form{.name = "norm", .norm = true},
                    Form{.name = "normOfAll", .coupled = true, .peephole = true, .norm = true},
                    Form{.name = "singleStep", .single = true, .innerZero = -7}),
    [](auto &info) { return std::string(info.param.name); });

TEST(QuantizedRecurrent, ScalesOfTheCellStateArePowersOfTwo) {
  Form form{.name = "wrong"};
  Layer layer(form);
  layer.cellScale = 0.0003f;
  TestFile f;
  layer.add(f, f.quantisedInput("x", {batch, steps, inputs}, Type::INT8, layer.xScale, layer.xZero),
            {batch, steps, cells});
  EXPECT_THAT(importError(f.bytes()),
              HasSubstr("the cell state has scale 0.0003 and zero point 0, expected a power of two"));
}

/// One step of the old layer on uint8: one matrix, gates i, c, f, o, four integer bits of state.
TEST(QuantizedRecurrent, BasicStep) {
  constexpr size_t in = 3, out = 4, depth = in + out;
  constexpr int32_t weightsZero = 119;
  const float biasScale = 0.00018f;
  std::vector<uint8_t> w(4 * out * depth), x(batch * in), h(batch * out);
  auto fill = [](std::vector<uint8_t> &values, size_t seed) {
    std::vector<int32_t> numbers = mixed<int32_t>(values.size(), 127, seed);
    std::transform(numbers.begin(), numbers.end(), values.begin(),
                   [](int32_t q) { return static_cast<uint8_t>(q + 128); });
  };
  fill(w, 1), fill(x, 2), fill(h, 3);
  auto bias = mixed<int32_t>(4 * out, 9000, 4);
  auto c = mixed<int16_t>(batch * out, 20000, 5);
  TestFile f;
  Ints operands = {f.quantisedInput("x", {batch, int(in)}, Type::UINT8, 0x1p-7f, 128),
                   f.quantisedInput("h", {batch, int(out)}, Type::UINT8, 0x1p-7f, 128),
                   f.constant<uint8_t>({4 * int(out), int(depth)}, w, f.scale({0.02f}, {weightsZero})),
                   f.constant<int32_t>({4 * int(out)}, bias, f.scale({biasScale}, {0})),
                   f.quantisedInput("c", {batch, int(out)}, Type::INT16, 0x1p-11f, 0)};
  Ints results = {f.quantisedValue({batch, int(out)}, Type::UINT8, 0x1p-7f, 128),
                  f.quantisedValue({batch, int(out)}, Type::INT16, 0x1p-11f, 0),
                  f.quantisedValue({batch, int(depth)}, Type::UINT8, 0x1p-7f, 128),
                  f.quantisedValue({batch, 4 * int(out)}, Type::INT16, 0x1p-12f, 0)};
  f.op(LSTM, operands, results, BuiltinOptions::LSTM,
       file::CreateLstmOptions(f.builder, Activation::TANH, 0, 0, file::LstmKernel::BASIC).Union());
  f.output(results[0]);
  f.output(results[1]);
  auto got =
      evaluated(f.bytes(), {Tensor::of<uint8_t>({batch, int64_t(in)}, x), Tensor::of<uint8_t>({batch, int64_t(out)}, h),
                            Tensor::of<int16_t>({batch, int64_t(out)}, c)});
  Multiplier factor = multiplierOf(double(4096 * biasScale));
  Numbers wantY, wantC;
  for (size_t b = 0; b < batch; ++b)
    for (size_t u = 0; u < out; ++u) {
      auto gate = [&](size_t index, bool tangent) {
        size_t row = index * out + u;
        int32_t sum = bias[row];
        for (size_t k = 0; k < depth; ++k)
          sum += (w[row * depth + k] - weightsZero) * ((k < in ? x[b * in + k] : h[b * out + k - in]) - 128);
        auto z = static_cast<int16_t>(limited(scaled(sum, factor), 16));
        return tangent ? hyperbolicTangent(z, 3) : logistic(z, 3);
      };
      int32_t added = divideByPowerOfTwo(highProduct(gate(0, false), gate(1, true)), 4);
      auto cell = static_cast<int16_t>(limited(int64_t(added) + highProduct(gate(2, false), c[b * out + u]), 16));
      int16_t y = highProduct(gate(3, false), hyperbolicTangent(cell, 4));
      wantC.push_back(cell);
      wantY.push_back(limited(divideByPowerOfTwo(y, 8), 8) + 128);
    }
  EXPECT_EQ(integers(got.at(0)), wantY);
  EXPECT_EQ(integers(got.at(1)), wantC);
  EXPECT_GT(*std::max_element(wantY.begin(), wantY.end()) - *std::min_element(wantY.begin(), wantY.end()), 20);
}

/// Filters of rank 2 with a memory of 3 steps.
TEST(QuantizedRecurrent, SingularValueFilter) {
  constexpr size_t units = 3, rank = 2, filters = units * rank, memory = 3;
  const float xScale = 0.05f, featureScale = 0.01f, stateScale = 0.0003f, timeScale = 0.00005f, toScale = 0.02f;
  auto feature = mixed<int8_t>(filters * inputs, 127, 1);
  auto time = mixed<int16_t>(filters * memory, 30000, 2);
  auto bias = mixed<int32_t>(units, 90000000, 3);
  TestFile f;
  int x = f.quantisedInput("x", {batch, inputs}, Type::INT8, xScale, 4),
      y = f.quantisedValue({batch, units}, Type::INT8, toScale, -9),
      state = f.quantisedVariable("s", {batch, filters * memory}, Type::INT16, stateScale, 0);
  f.op(SVDF,
       {x, f.constant<int8_t>({filters, inputs}, feature, f.scale({featureScale}, {0})),
        f.constant<int16_t>({filters, memory}, time, f.scale({timeScale}, {0})), f.constant<int32_t>({units}, bias),
        state},
       {y}, BuiltinOptions::SVDF, file::CreateSvdfOptions(f.builder, rank, Activation::RELU).Union());
  f.output(y);
  auto given = mixed<int8_t>(batch * inputs, 127, 5);
  auto past = mixed<int16_t>(batch * filters * memory, 3000, 6);
  auto got = evaluated(f.bytes(), {Tensor::of<int8_t>({batch, inputs}, given),
                                   Tensor::of<int16_t>({batch, int64_t(filters * memory)}, past)});
  Multiplier first = multiplierOf(double(xScale * featureScale / stateScale)),
             second = multiplierOf(double(stateScale * timeScale / toScale));
  Numbers want, moved;
  for (size_t b = 0; b < batch; ++b)
    for (size_t u = 0; u < units; ++u) {
      int32_t sum = bias[u];
      for (size_t k = u * rank; k < (u + 1) * rank; ++k) {
        int32_t newest = 0;
        for (size_t i = 0; i < inputs; ++i)
          newest += feature[k * inputs + i] * (given[b * inputs + i] - 4);
        const int16_t *old = &past[(b * filters + k) * memory];
        Numbers row = {old[1], old[2], limited(scaled(newest, first), 16)};
        for (size_t m = 0; m < memory; ++m)
          sum += row[m] * time[k * memory + m];
        moved.insert(moved.end(), row.begin(), row.end());
      }
      want.push_back(limited(int64_t(scaled(sum, second)) - 9, 8));
    }
  EXPECT_EQ(integers(got.at(0)), want);
  EXPECT_EQ(integers(got.at(1)), moved);
}

} // namespace
} // namespace lathe::tflite
