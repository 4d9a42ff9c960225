// Quantised operators of TFLite without a published model: compiled kernels beside references, bit by bit. That the references
// have TensorFlow Lite's bits is what import/tflite/Quantized*Test.cpp check.
#include "codegen/testing/RandomTesting.h"
#include "compile/Compile.h"
#include "import/tflite/QuantizedLstmTesting.h"
#include "runtime/Context.h"
#include "runtime/References.h"

#include <gtest/gtest.h>

#include <random>

namespace lathe::tflite {
namespace {

using namespace lstm;

/// Runs the file compiled and on references with the same inputs; both have the same bits.
void expectEqualBits(const std::string &bytes, const std::vector<Tensor> &inputs) {
  runtime::registerReferences();
  std::vector<Tensor> wanted = evaluated(bytes, inputs);
  auto context = makeContext();
  auto module = importModelOf(format(), *context, bytes, "m.tflite", ".", {});
  std::vector<char> package;
  CompileReport report = compileToBytes(*module, CompileOptions(), package);
  for (const ReferenceUse &use : report.references)
    ADD_FAILURE() << use.op << " is computed by its reference: " << use.reason;
  runtime::Context program(runtime::Model::fromBytes(package, "m.tflite"));
  for (size_t i = 0; i < inputs.size(); ++i)
    program.setInput(i, Value(inputs[i]));
  program.run();
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_EQ(integers(program.output(i).tensor()), integers(wanted[i])) << "output " << i;
}

TEST(QuantisedLayers, Lstm) {
  for (const Form &form :
       {Form{.name = "plain"}, Form{.name = "all", .coupled = true, .peephole = true, .norm = true, .cellClip = 0.4f},
        Form{.name = "projection", .outputs = 3, .innerZero = 5}}) {
    SCOPED_TRACE(form.name);
    Layer layer(form);
    TestFile f;
    layer.add(f, f.quantisedInput("x", {batch, steps, inputs}, Type::INT8, layer.xScale, layer.xZero),
              {batch, steps, form.outputs});
    auto states = static_cast<size_t>(batch * form.outputs);
    expectEqualBits(f.bytes(),
                    {Tensor::of<int8_t>({batch, steps, inputs}, mixed<int8_t>(batch * steps * inputs, 127, 1)),
                     Tensor::of<int8_t>({batch, form.outputs}, mixed<int8_t>(states, 127, 2)),
                     Tensor::of<int16_t>({batch, cells}, mixed<int16_t>(batch * cells, 9000, 3))});
  }
}

/// One operator on one operand of 3 x 20 elements.
void expectUnary(BuiltinOperator code, Type type, float factor, int64_t zero, float toFactor, int64_t toZero) {
  SCOPED_TRACE(operatorName(code) + " of " + typeName(type));
  TestFile f;
  int x = f.quantisedInput("x", {3, 20}, type, factor, zero), y = f.quantisedValue({3, 20}, type, toFactor, toZero);
  bool softmax = code == SOFTMAX;
  f.op(code, {x}, {y}, softmax ? BuiltinOptions::Softmax : BuiltinOptions::NONE,
       softmax ? file::CreateSoftmaxOptions(f.builder, 1).Union() : flatbuffers::Offset<void>(0));
  f.output(y);
  expectEqualBits(f.bytes(), {type == Type::INT16 ? Tensor::of<int16_t>({3, 20}, mixed<int16_t>(60, 32767, 4))
                                                  : Tensor::of<int8_t>({3, 20}, mixed<int8_t>(60, 127, 4))});
}

TEST(QuantisedLayers, TablesAndFixedPoint) {
  for (BuiltinOperator code : {LOGISTIC, TANH})
    expectUnary(code, Type::INT16, 0x1p-12f, 0, 0x1p-15f, 0);
  expectUnary(SOFTMAX, Type::INT16, 0.0005f, 0, 0x1p-15f, 0);
  expectUnary(L2_NORMALIZATION, Type::INT8, 0.1f, -3, 0x1p-7f, 0);
  for (BuiltinOperator code : {EXP, SQRT, ABS})
    expectUnary(code, Type::INT16, 0.0001f, 0, 0.001f, 0);
  for (BuiltinOperator code : {SQRT, RSQRT})
    expectUnary(code, Type::INT8, 0.05f, -128, 0.02f, -100);
}

/// A network like MobileNet whose height and width are open, with SAME padding and strides: dense, depthwise and pointwise
/// convolutions, an addition, both pools, and a mean. int8 with a scale a channel, or uint8 with zero points of the weights.
class OpenNetwork {
public:
  OpenNetwork(Type type, uint64_t seed) : type(type), random(seed) {
    int x = f.quantisedInput("x", {1, 1, 1, 3}, type, 0.02f, zero(), {1, -1, -1, 3});
    channels = 3;
    x = conv(x, 12, 3, 2);
    x = depthwise(conv(x, 24, 1, 1), 3, 2, 1);
    x = conv(x, 16, 1, 1);
    int y = depthwise(conv(x, 40, 1, 1), 5, 1, 2);
    y = conv(y, 16, 1, 1);
    int sum = f.quantisedValue({1, 1, 1, 16}, type, 0.07f, zero());
    f.op(ADD, {x, y}, {sum}, BuiltinOptions::Add, file::CreateSumOptions(f.builder).Union());
    x = conv(depthwise(sum, 3, 3, 1), 20, 3, 2);
    f.output(pool(MAX_POOL_2D, x));
    f.output(pool(AVERAGE_POOL_2D, x));
    int mean = f.quantisedValue({1, 1, 1, channels}, type, 0.01f, zero());
    f.op(MEAN, {x, f.constant<int32_t>({2}, {1, 2})}, {mean}, BuiltinOptions::Reducer,
         file::CreateReducerOptions(f.builder, true).Union());
    f.output(mean);
  }

  std::string bytes() { return f.bytes(); }
  /// Of convolutions: an average counts its elements and sums them by one each.
  int windows() const { return convolutions + 2; }
  Tensor image(int64_t height, int64_t width) {
    std::vector<double> values(static_cast<size_t>(height * width * 3));
    for (double &value : values)
      value = double(int64_t(random() % 256)) - (type == Type::INT8 ? 128 : 0);
    return Tensor::of<double>({1, height, width, 3}, values)
        .convertedTo(type == Type::INT8 ? ElementType::i8 : ElementType::u8);
  }

private:
  using Ints = TestFile::Ints;
  Type type;
  std::mt19937_64 random;
  TestFile f;
  int channels = 0, convolutions = 0;
  int64_t lastZero = 0; // of the last convolution

  int64_t zero() { return int64_t(random() % 200) - (type == Type::INT8 ? 100 : -28); }
  /// Weights and a bias.
  Ints weights(const Ints &dims, int outputs) {
    size_t count = 1;
    for (int extent : dims)
      count *= static_cast<size_t>(extent);
    std::vector<uint8_t> values(count);
    for (uint8_t &value : values)
      value = static_cast<uint8_t>(random());
    std::vector<float> scales(type == Type::INT8 ? static_cast<size_t>(outputs) : 1);
    for (float &scale : scales)
      scale = 0.001f * float(1 + random() % 9);
    std::vector<int64_t> zeros(scales.size(), type == Type::INT8 ? 0 : zero());
    std::vector<int32_t> bias(static_cast<size_t>(outputs));
    for (int32_t &value : bias)
      value = static_cast<int32_t>(random() % 4000) - 2000;
    auto scale = f.scale(scales, zeros, dims[0] == 1 ? 3 : 0);
    int w = type == Type::INT8 ? f.constant<int8_t>(dims, std::vector<int8_t>(values.begin(), values.end()), scale)
                               : f.constant<uint8_t>(dims, values, scale);
    return {w, f.constant<int32_t>({outputs}, bias)};
  }
  int finish(BuiltinOperator code, int x, const Ints &operands, BuiltinOptions kind,
             flatbuffers::Offset<void> options) {
    lastZero = zero();
    int y = f.quantisedValue({1, 1, 1, channels}, type, 0.05f, lastZero);
    f.op(code, {x, operands[0], operands[1]}, {y}, kind, options);
    ++convolutions;
    return y;
  }
  int conv(int x, int outputs, int kernel, int stride) {
    Ints operands = weights({outputs, kernel, kernel, channels}, outputs);
    channels = outputs;
    return finish(CONV_2D, x, operands, BuiltinOptions::Conv2D,
                  file::CreateConv2DOptions(f.builder, file::Padding::SAME, stride, stride, Activation::RELU6).Union());
  }
  int depthwise(int x, int kernel, int stride, int dilation) {
    Ints operands = weights({1, kernel, kernel, channels}, channels);
    auto options = file::CreateDepthwiseConv2DOptions(f.builder, file::Padding::SAME, stride, stride, 1,
                                                      Activation::NONE, dilation, dilation);
    return finish(DEPTHWISE_CONV_2D, x, operands, BuiltinOptions::DepthwiseConv2D, options.Union());
  }
  /// Keeps scale and zero point.
  int pool(BuiltinOperator code, int x) {
    int same = f.quantisedValue({1, 1, 1, channels}, type, 0.05f, lastZero);
    f.op(code, {x}, {same}, BuiltinOptions::Pool2D,
         file::CreatePool2DOptions(f.builder, file::Padding::SAME, 2, 2, 3, 3).Union());
    return same;
  }
};

/// Occurrences of `word` in `text`.
int countOf(const std::string &word, const std::string &text) {
  int count = 0;
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size())
    ++count;
  return count;
}

TEST(QuantisedLayers, OpenHeightAndWidthWithSamePadding) {
  runtime::registerReferences();
  for (Type type : {Type::INT8, Type::UINT8})
    for (uint64_t seed : randomSeeds(1)) {
      OpenNetwork network(type, seed);
      std::string bytes = network.bytes();
      for (int level : {1, 3}) {
        SCOPED_TRACE(fmt::format("{}, level {}, LATHE_SEED={}", typeName(type), level, seed));
        CompileOptions options;
        options.level = level;
        auto context = makeContext();
        auto module = [&] { return importModelOf(format(), *context, bytes, "m.tflite", ".", {}); };
        std::string schedules = emitLevel(*module(), options, Level::schedule);
        int kernels = countOf("direct/1", schedules) + countOf("lanewise/1", schedules);
        // Where layouts are row-major, the one depthwise convolution with stated padding is sums of its taps.
        EXPECT_EQ(kernels, network.windows() - (level < 3)) << schedules;
        std::vector<char> package;
        CompileReport report = compileToBytes(*module(), options, package);
        for (const ReferenceUse &use : report.references)
          ADD_FAILURE() << use.op << " is computed by its reference: " << use.reason;
        runtime::Context program(runtime::Model::fromBytes(package, "m.tflite"));
        for (auto [height, width] : {std::pair{1, 1}, {2, 5}, {7, 4}, {32, 33}, {33, 46}, {64, 31}}) {
          Tensor image = network.image(height, width);
          std::vector<Tensor> wanted = evaluated(bytes, {image});
          program.setInput(0, Value(image));
          program.run();
          for (size_t i = 0; i < wanted.size(); ++i)
            EXPECT_EQ(integers(program.output(i).tensor()), integers(wanted[i]))
                << "output " << i << " of " << height << " x " << width;
        }
      }
    }
}

} // namespace
} // namespace lathe::tflite
