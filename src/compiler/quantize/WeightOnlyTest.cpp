// Weights in 4 and 8 bits: codes of blocks, and a network with only its weights quantised.
#include "quantize/WeightOnly.h"

#include "ir/Context.h"
#include "ir/Main.h"
#include "ir/PackedWeights.h"
#include "quantize/Quantize.h"
#include "runtime/References.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace lathe;
using namespace lathe::quantize;

namespace {

std::vector<float> normal(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> distribution(0, 0.05F);
  std::vector<float> values(count);
  for (float &value : values)
    value = distribution(random);
  return values;
}

double error(const std::vector<float> &weights, const PackedBlock &block) {
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i)
    sum += std::pow(weights[i] - double(block.codes[i] - block.zero) * block.scale, 2);
  return sum;
}

TEST(PackBlock, representsMultiplesOfAScaleExactly) {
  PackedBlock block = packBlock(std::vector<float>{-3.5F, 0, 1, 2.5F, 3.5F}, {ElementType::i4});
  EXPECT_FLOAT_EQ(block.scale, 0.5F);
  EXPECT_EQ(block.codes, (std::vector<int>{-7, 0, 2, 5, 7}));
  EXPECT_EQ(packBlock(std::vector<float>(4, 0.0F), {ElementType::i4}).codes, std::vector<int>(4, 0));
}

TEST(PackBlock, keepsCodesInTheirRange) {
  for (ElementType type : {ElementType::i4, ElementType::i8})
    for (bool zeroPoints : {false, true}) {
      WeightFormat format{type, 0, zeroPoints};
      int half = type == ElementType::i4 ? 8 : 128;
      for (uint64_t seed = 0; seed < 20; ++seed) {
        std::vector<float> weights = normal(33, seed);
        for (float &weight : weights)
          weight = seed % 3 ? weight : std::abs(weight) + 1; // none near zero
        PackedBlock block = packBlock(weights, format);
        for (int code : block.codes) {
          EXPECT_GE(code, zeroPoints ? 0 : -half);
          EXPECT_LT(code, zeroPoints ? 2 * half : half);
        }
        EXPECT_GE(block.zero, 0);
        EXPECT_LT(block.zero, zeroPoints ? 2 * half : 1);
        EXPECT_GT(block.scale, 0);
      }
    }
}

/// Compared with the scale that maps the largest weight to the largest code.
TEST(PackBlock, isBetterThanRoundingByTheLargestWeight) {
  double searched = 0, plain = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<float> weights = normal(32, seed);
    PackedBlock block;
    block.scale = 0;
    for (float weight : weights)
      block.scale = std::max(block.scale, std::abs(weight) / 7);
    for (float weight : weights)
      block.codes.push_back(static_cast<int>(std::nearbyint(weight / block.scale)));
    double one = error(weights, packBlock(weights, {ElementType::i4}));
    EXPECT_LE(one, error(weights, block) * 1.0001) << seed;
    searched += one;
    plain += error(weights, block);
  }
  EXPECT_LT(searched, 0.9 * plain);
}

/// ids -> a row of a table -> gemm of N x K with a bias -> matmul.
struct Network : testing::Test {
  static void SetUpTestSuite() { runtime::registerReferences(); }
  std::unique_ptr<mlir::MLIRContext> context = makeContext();

  mlir::OwningOpRef<mlir::ModuleOp> module() {
    mlir::OpBuilder b(context.get());
    auto named = [&](const char *name) { return mlir::NameLoc::get(b.getStringAttr(name)); };
    auto weights = [&](std::vector<int64_t> dims, uint64_t seed, const char *name) {
      int64_t count = 1;
      for (int64_t extent : dims)
        count *= extent;
      return makeConstant(b, named(name), Tensor::of<float>(dims, normal(static_cast<size_t>(count), seed)), name);
    };
    auto module = mlir::ModuleOp::create(b.getUnknownLoc());
    auto main = mlir::func::FuncOp::create(b.getUnknownLoc(), "main",
                                           b.getFunctionType({mlir::RankedTensorType::get({1, 2}, b.getI64Type())},
                                                             {mlir::RankedTensorType::get({2, 70}, b.getF32Type())}));
    module.push_back(main);
    b.setInsertionPointToStart(main.addEntryBlock());
    main.setArgAttr(0, "nn.name", b.getStringAttr("ids"));
    mlir::Value x = nn::buildValue(b, named("embed"), "gather", {weights({700, 96}, 1, "table"), main.getArgument(0)},
                                   GatherAttrs());
    ReshapeAttrs rows;
    rows.shape = {2, 96};
    x = nn::buildValue(b, named("rows"), "reshape", {x, {}}, std::move(rows));
    GemmAttrs gemm;
    gemm.trans_b = true;
    x = nn::buildValue(b, named("fc"), "gemm", {x, weights({100, 96}, 2, "w1"), weights({100}, 3, "b1")},
                       std::move(gemm));
    x = nn::buildValue(b, named("head"), "matmul", {x, weights({100, 70}, 4, "w2")}, MatMulAttrs());
    b.create<mlir::func::ReturnOp>(b.getUnknownLoc(), x);
    return module;
  }

  static std::vector<Sample> samples() {
    std::vector<Sample> result;
    for (int64_t i = 0; i < 4; ++i)
      result.push_back({Tensor::of<int64_t>({1, 2}, {i * 17 + 3, 699 - i * 5})});
    return result;
  }
};

TEST_F(Network, weightsBecomeCodes) {
  for (ElementType type : {ElementType::i4, ElementType::i8})
    for (bool zeroPoints : {false, true}) {
      auto network = module();
      Options options;
      options.weights = {type, 32, zeroPoints};
      Report report = quantizeModel(*network, samples(), options);
      ASSERT_EQ(report.layers.size(), 3u);
      EXPECT_EQ(report.layers[0].op, "gather");
      for (const LayerReport &layer : report.layers)
        EXPECT_GT(*layer.cosine, type == ElementType::i8 || layer.op == "gather" ? 0.9999 : 0.994) << layer.node;
      EXPECT_GT(report.fidelity.cosine, type == ElementType::i8 ? 0.9998 : 0.985);
      EXPECT_LT(report.fidelity.cosine, 1 - 1e-9);
      std::vector<nn::PackedWeights> packed;
      for (mlir::Operation &op : mainFunction(*network).getBody().front())
        if (std::optional<nn::PackedWeights> weights = nn::packedWeightsOf(&op))
          packed.push_back(*weights);
      ASSERT_EQ(packed.size(), 2u);
      EXPECT_EQ(packed[0].blocks, 3);
      EXPECT_EQ(packed[0].steps, 32);
      EXPECT_EQ(packed[1].steps, 25); // the largest divisor of 100 that is at most 32
      EXPECT_EQ(packed[1].zero != nullptr, zeroPoints);
    }
}

TEST_F(Network, excludedNodesStayInFloat) {
  auto network = module();
  Options options;
  options.weights = {ElementType::i8};
  options.excluded = {"fc", "embed"};
  Report report = quantizeModel(*network, samples(), options);
  ASSERT_EQ(report.layers.size(), 1u);
  EXPECT_EQ(report.layers[0].node, "head");
}

} // namespace
