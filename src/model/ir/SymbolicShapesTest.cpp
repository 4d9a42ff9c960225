#include "ir/SymbolicShapes.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace lathe::nn {
namespace {

class SymbolicShapesTest : public testing::Test {
protected:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp parse(const char *text) {
    context.loadDialect<NnDialect, mlir::func::FuncDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    return module->lookupSymbol<mlir::func::FuncOp>("main");
  }
};

TEST_F(SymbolicShapesTest, ExtentsKeepTheirSymbols) {
  auto main = parse(R"(
    func.func @main(%x: tensor<?x3x8x8xf32> {nn.dims = ["N", "3", "8", "8"]}, %w: tensor<4x3x3x3xf32>) -> tensor<?x144xf32> {
      %y = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
        : (tensor<?x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<?x4x6x6xf32>
      %z = nn.reshape %y {shape = array<i64: -1, 144>} : (tensor<?x4x6x6xf32>) -> tensor<?x144xf32>
      return %z : tensor<?x144xf32>
    })");
  SymbolicShapes shapes(main);
  EXPECT_EQ(str(shapes.results().at(0).dims), "Nx144");
  EXPECT_EQ(str(argumentDims(main, 0)), "Nx3x8x8");
}

TEST_F(SymbolicShapesTest, FollowsCalls) {
  auto main = parse(R"(
    func.func private @k(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %y = nn.relu %x : (tensor<?x4xf32>) -> tensor<?x4xf32>
      return %y : tensor<?x4xf32>
    }
    func.func @main(%x: tensor<?x4xf32> {nn.dims = ["2*N", "4"]}) -> tensor<?x4xf32> {
      %y = func.call @k(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
      return %y : tensor<?x4xf32>
    })");
  EXPECT_EQ(SymbolicShapes(main).results().at(0).dims.at(0), Dim(2) * Dim::symbol("N"));
}

TEST_F(SymbolicShapesTest, AnUnnamedDynamicExtentStaysUnknown) {
  auto main = parse(R"(
    func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %y = nn.relu %x : (tensor<?x4xf32>) -> tensor<?x4xf32>
      return %y : tensor<?x4xf32>
    })");
  EXPECT_TRUE(isUnknown(SymbolicShapes(main).results().at(0).dims.at(0)));
}

} // namespace
} // namespace lathe::nn
