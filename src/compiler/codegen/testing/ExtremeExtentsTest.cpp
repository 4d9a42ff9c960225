// Extents of zero and of billions: what the families decline, and what takes no longer because a tensor is large.
#include "codegen/contraction/common/Contraction.h"
#include "ir/Context.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <random>

namespace lathe {
namespace {

class ExtremeExtents : public testing::Test {
protected:
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  Target target = Target::parse("x86-64-v3");
  mlir::OwningOpRef<mlir::ModuleOp> module;

  /// The kernel `operation` of `arguments` with `result`, as passes/Partition leaves it.
  KernelProblem problem(const std::string &family, const std::string &arguments, const std::string &operation,
                        const std::string &result) {
    module = mlir::parseSourceString<mlir::ModuleOp>(
        fmt::format(
            "func.func private @k({}) -> {} attributes {{nn.family = \"{}\"}} {{\n  %0 = {} -> {}\n  return %0 : "
            "{}\n}}",
            arguments, result, family, operation, result, result),
        context.get());
    EXPECT_TRUE(module) << operation;
    return {{}, *module->getOps<mlir::func::FuncOp>().begin(), target};
  }
};

TEST_F(ExtremeExtents, KernelsOverNothingAreDeclined) {
  struct {
    const char *family, *arguments, *operation, *result;
  } kernels[] = {
      {"movement", "%x: tensor<0x3xf32>", "nn.transpose %x {perm = array<i64: 1, 0>} : (tensor<0x3xf32>)",
       "tensor<3x0xf32>"},
      {"contraction", "%a: tensor<0x4xf32>, %b: tensor<4x8xf32>",
       "nn.matmul %a, %b : (tensor<0x4xf32>, tensor<4x8xf32>)", "tensor<0x8xf32>"},
      {"contraction", "%a: tensor<3x0xf32>, %b: tensor<0x8xf32>",
       "nn.matmul %a, %b : (tensor<3x0xf32>, tensor<0x8xf32>)", "tensor<3x8xf32>"},
      {"softmax", "%x: tensor<1099511627776x0xf32>", "nn.softmax %x {axis = 1 : i64} : (tensor<1099511627776x0xf32>)",
       "tensor<1099511627776x0xf32>"},
      {"reduction", "%x: tensor<3x0xf32>", "nn.reduce_sum %x {axes = array<i64: 1>} : (tensor<3x0xf32>)",
       "tensor<3x1xf32>"},
      {"elementwise", "%x: tensor<0xf32>", "nn.relu %x : (tensor<0xf32>)", "tensor<0xf32>"},
  };
  for (const auto &kernel : kernels) {
    Outcome<Schedule> schedule =
        priorSchedule(problem(kernel.family, kernel.arguments, kernel.operation, kernel.result));
    ASSERT_FALSE(schedule.done()) << kernel.operation;
    EXPECT_NE(schedule.reason().find("no elements"), std::string::npos) << schedule.reason();
  }
}

TEST_F(ExtremeExtents, ProductsOfBillionsOfRows) {
  for (int64_t rows : {int64_t(5) << 31, int64_t(1) << 42}) {
    std::string a = fmt::format("tensor<{}x4xf32>", rows), y = fmt::format("tensor<{}x32xf32>", rows);
    KernelProblem kernel = problem("contraction", fmt::format("%a: {}, %b: tensor<4x32xf32> {{nn.constant}}", a),
                                   fmt::format("nn.matmul %a, %b : ({}, tensor<4x32xf32>)", a), y);
    Outcome<Schedule> schedule = priorSchedule(kernel);
    ASSERT_TRUE(schedule.done()) << schedule.reason();
    EXPECT_TRUE(generate(kernel, *schedule).done());
  }
}

TEST_F(ExtremeExtents, ConvolutionsOfBillionsOfPixels) {
  for (auto &[height, width] : {std::pair(int64_t(1), int64_t(1) << 40), std::pair(int64_t(1) << 40, int64_t(4))}) {
    std::string x = fmt::format("tensor<1x3x{}x{}xf32>", height, width),
                y = fmt::format("tensor<1x32x{}x{}xf32>", height, width);
    KernelProblem kernel = problem(
        "contraction", fmt::format("%x: {}, %w: tensor<32x3x1x3xf32> {{nn.constant}}", x),
        fmt::format("nn.conv %x, %w {{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, "
                    "1, 0, 1>}} : ({}, tensor<32x3x1x3xf32>)",
                    x),
        y);
    Outcome<Schedule> schedule = priorSchedule(kernel);
    ASSERT_TRUE(schedule.done()) << schedule.reason();
    EXPECT_TRUE(generate(kernel, *schedule).done());
  }
}

/// The classes of a row by definition: tile by tile.
std::vector<TileClass> classesByTile(const ConvGeometry &conv, int64_t px) {
  std::vector<TileClass> classes;
  EvenPieces tiles = evenPieces(conv.out[2], px);
  for (int64_t number = 0; number < tiles.count; ++number) {
    TileClass tile{tiles.start(number), 1, tiles.size(number), {}};
    for (int64_t tap = 0; tap < conv.kernel[2]; ++tap) {
      int64_t first = tile.width, last = 0;
      for (int64_t p = 0; p < tile.width; ++p) {
        int64_t at = (tile.start + p) * conv.stride[2] - conv.padBegin[2] + tap * conv.dilation[2];
        if (at >= 0 && at < conv.in[2]) {
          first = std::min(first, p);
          last = p + 1;
        }
      }
      tile.reach.emplace_back(std::min(first, last), last);
    }
    if (!classes.empty() && classes.back().width == tile.width && classes.back().reach == tile.reach)
      ++classes.back().count;
    else
      classes.push_back(tile);
  }
  return classes;
}

TEST(TileClasses, AreThoseOfSingleTiles) {
  std::mt19937 random(7);
  auto below = [&](int n) { return static_cast<int64_t>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 2000; ++round) {
    ConvGeometry conv{};
    conv.in = {1, 1, 1 + below(60)};
    conv.kernel = {1, 1, 1 + below(5)};
    conv.stride = {1, 1, 1 + below(3)};
    conv.dilation = {1, 1, 1 + below(3)};
    conv.padBegin = {0, 0, below(6)};
    int64_t padEnd = below(6), span = (conv.kernel[2] - 1) * conv.dilation[2] + 1;
    int64_t room = conv.in[2] + conv.padBegin[2] + padEnd - span;
    if (room < 0)
      continue;
    conv.out = {1, 1, room / conv.stride[2] + 1};
    int64_t px = 1 + below(9);
    std::vector<TileClass> got = tileClasses(conv, px), expected = classesByTile(conv, px);
    ASSERT_EQ(got.size(), expected.size()) << "round " << round;
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].start, expected[i].start) << "round " << round;
      EXPECT_EQ(got[i].count, expected[i].count) << "round " << round;
      EXPECT_EQ(got[i].width, expected[i].width) << "round " << round;
      EXPECT_EQ(got[i].reach, expected[i].reach) << "round " << round;
    }
  }
}

} // namespace
} // namespace lathe
