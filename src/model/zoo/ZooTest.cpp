#include "zoo/Zoo.h"

#include "ir/Context.h"
#include "ir/SymbolicShapes.h"

#include "mlir/IR/Verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

using namespace lathe;

namespace {

class Zoo : public testing::Test {
protected:
  std::unique_ptr<mlir::MLIRContext> context = makeContext();

  mlir::func::FuncOp mainOf(mlir::ModuleOp module) { return module.lookupSymbol<mlir::func::FuncOp>("main"); }

  /// Learned parameters: everything but the statistics of batch normalisations.
  int64_t parameters(mlir::ModuleOp module) {
    int64_t total = 0;
    module.walk([&](nn::ConstantOp constant) {
      for (mlir::OpOperand &use : constant->getUses())
        if (use.getOwner()->getName().getStringRef() == "nn.batch_norm" && use.getOperandNumber() >= 3)
          return;
      auto type = llvm::cast<mlir::ShapedType>(constant.getType());
      if (type.getRank() > 0 && type.getElementType().isF32()) // not factors, indices and extents
        total += type.getNumElements();
    });
    return total;
  }
};

// Parameter counts as published (torchvision's documentation; for BVLC GoogLeNet and MobileNet v1 the layer tables of
// their papers).
TEST_F(Zoo, ParameterCountsAreThePublishedOnes) {
  const std::pair<const char *, int64_t> published[] = {
      {"alexnet", 61100840},
      {"vgg16", 138357544},
      {"vgg19", 143667240},
      {"resnet18", 11689512},
      {"resnet34", 21797672},
      {"resnet50", 25557032},
      {"resnet101", 44549160},
      {"resnet152", 60192808},
      {"densenet121", 7978856},
      {"googlenet", 6998552},
      {"inception_v3", 23834568},
      {"squeezenet", 1235496},
      {"mobilenet_v1", 4231976},
      {"mobilenet_v2", 3504872},
      {"mobilenet_v3", 5483032},
      {"shufflenet_v2", 2278604},
      {"efficientnet_b0", 5288548},
      {"vit_b_16", 86567656},
      // The count of the widely used PyTorch implementation (milesial/Pytorch-UNet) with transposed convolutions and
      // two classes.
      {"unet", 31037698},
      // The published count, 11295240, includes 10016 biases of convolutions, which batch normalisation makes useless.
      {"inception_v2", 11285224},
  };
  for (auto [name, count] : published) {
    auto context = makeContext(); // weights live as long as their context
    auto module = buildZoo(*context, name);
    EXPECT_TRUE(mlir::succeeded(mlir::verify(*module))) << name;
    EXPECT_EQ(parameters(*module), count) << name;
  }
}

TEST_F(Zoo, EveryEntryBuildsWithAnOpenBatch) {
  for (const ZooEntry &entry : zooEntries()) {
    if (entry.name.starts_with("vgg") || entry.name == "alexnet" || entry.name.starts_with("resnet1"))
      continue; // share their code with smaller networks, and have hundreds of megabytes of weights
    auto context = makeContext();
    auto module = buildZoo(*context, entry.name, {.dynamicBatch = true});
    EXPECT_TRUE(mlir::succeeded(mlir::verify(*module))) << entry.name;
    auto result = nn::SymbolicShapes(mainOf(*module)).results().at(0);
    EXPECT_EQ(result.dims.front().str(), "N") << entry.name;
  }
}

TEST_F(Zoo, WeightsDependOnSeedAndNameAlone) {
  auto bytes = [&](uint64_t seed) {
    auto module = buildZoo(*context, "squeezenet", {.seed = seed});
    std::vector<char> result;
    module->walk([&](nn::ConstantOp constant) {
      auto data = nn::constantData(constant.getValue());
      result.insert(result.end(), data.bytes.begin(), data.bytes.end());
    });
    return result;
  };
  auto first = bytes(1);
  EXPECT_EQ(first, bytes(1));
  EXPECT_NE(first, bytes(2));
}

TEST_F(Zoo, UnknownNameListsTheNetworks) {
  try {
    buildZoo(*context, "resnet51");
    FAIL() << "no error";
  } catch (const Error &error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("zoo has no network 'resnet51', expected one of alexnet, vgg16"));
  }
}

TEST_F(Zoo, OcrHasTheConvolutionTableOfItsSuite) {
  const char *folder = std::getenv("LATHE_TEST_DATA");
  std::ifstream table(std::string(folder ? folder : LATHE_TEST_DATA) + "/problems/conv2d.csv");
  if (!table)
    GTEST_SKIP() << "LATHE_TEST_DATA has no problems/conv2d.csv: the table of suite rcnn-ctc-ocr is NOT checked";
  std::map<std::string, int> expected, found;
  for (std::string line; std::getline(table, line);) {
    if (!line.starts_with("rcnn-ctc-ocr,"))
      continue;
    std::vector<std::string> cells;
    std::stringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');)
      cells.push_back(cell);
    ASSERT_EQ(cells.size(), 17u) << line;
    // in channels, height, width, out channels, kernel
    expected[cells[3] + " " + cells[4] + "x" + cells[5] + " " + cells[6] + " " + cells[7] + "x" + cells[8]] =
        std::stoi(cells[16]);
  }
  ASSERT_EQ(expected.size(), 10u);
  auto module = buildZoo(*context, "rcnn_ctc_ocr");
  module->walk([&](nn::ConvOp conv) {
    auto x = llvm::cast<mlir::RankedTensorType>(conv.getX().getType()).getShape();
    auto w = llvm::cast<mlir::RankedTensorType>(conv.getW().getType()).getShape();
    ++found[fmt::format("{} {}x{} {} {}x{}", x[1], x[2], x[3], w[0], w[2], w[3])];
  });
  EXPECT_EQ(found, expected);
}

} // namespace
