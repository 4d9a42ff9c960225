// Quantised small networks: their outputs compared with the float model's, and the guarantees of the rewrites.
#include "quantize/Quantize.h"

#include "ir/Context.h"
#include "ir/Main.h"
#include "ir/QuantizedForm.h"
#include "passes/interpret/Evaluate.h"
#include "quantize/Graph.h"
#include "runtime/References.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

using namespace lathe;
using namespace lathe::quantize;

namespace {

/// Two convolutions with a relu between, a residual, a pool and a dense layer. The first layer's channels have very
/// different ranges.
class SmallNetwork : public testing::Test {
protected:
  static void SetUpTestSuite() { runtime::registerReferences(); }
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  std::mt19937 random{7};

  mlir::Value weights(mlir::OpBuilder &b, std::vector<int64_t> dims, const char *name, bool uneven = false) {
    int64_t count = 1, inner = 1;
    for (int64_t extent : dims)
      count *= extent;
    for (size_t i = 1; i < dims.size(); ++i)
      inner *= dims[i];
    std::normal_distribution<float> normal(0, 1 / std::sqrt(static_cast<float>(inner)));
    std::vector<double> values(count);
    for (int64_t i = 0; i < count; ++i)
      values[i] = normal(random) * (uneven ? std::pow(2.0, i / inner % 8) : 1);
    return makeConstant(b, b.getUnknownLoc(), ElementType::f32, dims, values, name);
  }

  static mlir::Location named(mlir::OpBuilder &b, const char *name) {
    return mlir::NameLoc::get(b.getStringAttr(name));
  }

  mlir::OwningOpRef<mlir::ModuleOp> network() {
    mlir::OpBuilder b(context.get());
    auto module = mlir::ModuleOp::create(b.getUnknownLoc());
    auto type = [&](std::vector<int64_t> dims) { return mlir::RankedTensorType::get(dims, b.getF32Type()); };
    auto main = mlir::func::FuncOp::create(b.getUnknownLoc(), "main",
                                           b.getFunctionType({type({1, 3, 12, 12})}, {type({1, 5})}));
    module.push_back(main);
    mlir::Block *block = main.addEntryBlock();
    main.setArgAttr(0, "nn.name", b.getStringAttr("data"));
    main.setResultAttr(0, "nn.name", b.getStringAttr("scores"));
    b.setInsertionPointToStart(block);
    ConvAttrs conv;
    conv.strides = conv.dilations = {1, 1};
    conv.pads = {1, 1, 1, 1};
    auto convolution = [&](mlir::Value x, mlir::Value w, mlir::Value bias, const char *name) {
      return nn::buildValue(b, named(b, name), "conv", {x, w, bias}, ConvAttrs(conv));
    };
    mlir::Value first =
        convolution(block->getArgument(0), weights(b, {8, 3, 3, 3}, "w1", true), weights(b, {8}, "b1"), "conv1");
    mlir::Value active = nn::buildValue(b, named(b, "relu1"), "relu", {first}, ReluAttrs());
    mlir::Value second = convolution(active, weights(b, {8, 8, 3, 3}, "w2"), {}, "conv2");
    mlir::Value third = convolution(second, weights(b, {8, 8, 3, 3}, "w3"), weights(b, {8}, "b3"), "conv3");
    mlir::Value sum = nn::buildValue(b, named(b, "add"), "add", {third, active}, AddAttrs());
    mlir::Value out = nn::buildValue(b, named(b, "relu2"), "relu", {sum}, ReluAttrs());
    MaxPoolAttrs pool;
    pool.kernel = pool.strides = {2, 2};
    pool.dilations = {1, 1};
    pool.pads = {0, 0, 0, 0};
    out = nn::buildValue(b, named(b, "pool"), "max_pool", {out}, std::move(pool));
    ReshapeAttrs flat;
    flat.shape = {1, 288};
    out = nn::buildValue(b, named(b, "flatten"), "reshape", {out, {}}, std::move(flat));
    GemmAttrs gemm;
    gemm.trans_b = true;
    out = nn::buildValue(b, named(b, "fc"), "gemm", {out, weights(b, {5, 288}, "w4"), weights(b, {5}, "b4")},
                         std::move(gemm));
    b.create<mlir::func::ReturnOp>(b.getUnknownLoc(), out);
    EXPECT_TRUE(mlir::succeeded(mlir::verify(module)));
    return module;
  }

  std::vector<Sample> samples(size_t count) {
    std::normal_distribution<float> normal(0, 1);
    std::vector<Sample> result;
    for (size_t i = 0; i < count; ++i) {
      std::vector<float> values(3 * 12 * 12);
      for (float &value : values)
        value = normal(random);
      result.push_back({Tensor::of<float>({1, 3, 12, 12}, values)});
    }
    return result;
  }

  static size_t quantizes(mlir::ModuleOp module) {
    size_t count = 0;
    module.walk([&](mlir::Operation *op) { count += nn::quantizeAt(op).has_value(); });
    return count;
  }
};

TEST_F(SmallNetwork, outputsStayNear) {
  for (auto method : {CalibrationMethod::minMax, CalibrationMethod::percentile, CalibrationMethod::entropy})
    for (auto type : {ElementType::u8, ElementType::i8}) {
      auto module = network();
      std::vector<Sample> inputs = samples(8);
      Options options;
      options.method = method;
      options.activationType = type;
      Report report = quantizeModel(*module, inputs, options, samples(8));
      EXPECT_EQ(report.layers.size(), 4u);
      EXPECT_EQ(report.quantizedLayers(), 4u);
      EXPECT_GT(report.fidelity.cosine, 0.995);
      EXPECT_GT(report.fidelity.centred, 0.99);
      EXPECT_GT(quantizes(*module), 5u);
      EXPECT_TRUE(mlir::succeeded(mlir::verify(*module)));
    }
}

TEST_F(SmallNetwork, excludedLayersStayInFloat) {
  auto module = network();
  Options options;
  options.excluded = {"conv2", "fc"};
  Report report = quantizeModel(*module, samples(4), options);
  EXPECT_EQ(report.quantizedLayers(), 2u);
  module->walk([&](mlir::Operation *op) {
    std::optional<Layer> layer = layerAt(op);
    if (layer) // only layers in float have unchanged constant weights
      EXPECT_TRUE(layer->node == "conv2" || layer->node == "fc") << layer->node;
  });
  auto again = network();
  options.excluded = {"nowhere"};
  EXPECT_THROW(quantizeModel(*again, samples(1), options), Error);
}

TEST_F(SmallNetwork, maxDropReturnsLayersToFloat) {
  auto module = network();
  Options options;
  options.minCosine = 0.9999999; // no int8 model is that close
  Report report = quantizeModel(*module, samples(4), options);
  EXPECT_LT(report.quantizedLayers(), 4u);
  for (const LayerReport &layer : report.layers)
    if (!layer.quantized) {
      EXPECT_EQ(layer.reason, "sensitive");
      EXPECT_TRUE(layer.noise.has_value());
    }
}

/// Equalisation is exact except for rounding, and makes the ranges of channels similar.
TEST_F(SmallNetwork, equalizeKeepsTheFunction) {
  auto before = network();
  random.seed(7);
  auto after = network();
  EXPECT_EQ(equalize(mainFunction(*after)), 1u); // conv2 with conv3; conv1 has two readers
  Sample sample = samples(1)[0];
  Tensor a = evaluate(*before, sample)[0].tensor(), b = evaluate(*after, sample)[0].tensor();
  for (int64_t i = 0; i < a.elements(); ++i)
    EXPECT_NEAR(a.asDouble(i), b.asDouble(i), 1e-4);
}

/// The mean error of a layer's output over the calibration inputs is smaller with the correction.
TEST_F(SmallNetwork, biasCorrectionReducesTheMeanError) {
  auto meanError = [&](BiasCorrection correction) {
    random.seed(11);
    auto floats = network();
    random.seed(11);
    auto module = network();
    std::vector<Sample> inputs = samples(16);
    Options options;
    options.perChannel = false; // large rounding errors
    options.minCosine = 0;
    options.biasCorrection = correction;
    quantizeModel(*module, inputs, options);
    std::vector<double> sums(5, 0.0);
    for (const Sample &input : inputs) {
      Tensor expected = evaluate(*floats, input)[0].tensor(), found = evaluate(*module, input)[0].tensor();
      for (size_t i = 0; i < sums.size(); ++i)
        sums[i] += (found.asDouble(static_cast<int64_t>(i)) - expected.asDouble(static_cast<int64_t>(i))) / 16;
    }
    double total = 0;
    for (double sum : sums)
      total += std::abs(sum);
    return total;
  };
  double none = meanError(BiasCorrection::none), measured = meanError(BiasCorrection::measured);
  EXPECT_LT(measured, none / 4);
}

} // namespace
