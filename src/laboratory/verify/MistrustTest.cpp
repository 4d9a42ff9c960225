#include "verify/Mistrust.h"

#include "ir/Context.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <limits>

namespace lathe::verify {
namespace {

std::string traced(const std::string &body, std::vector<float> x = {1, -2, 3, 4}) {
  auto context = makeContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      "func.func @main(%x: tensor<4xf32> {nn.name = \"x\"}) -> (tensor<4xf32> {nn.name = \"y\"}) {" + body +
          "return %y : tensor<4xf32> }",
      context.get());
  if (!module)
    return "no module";
  std::vector<Value> inputs{Value(Tensor::of<float>({4}, x))};
  return traceMistrust(*module, inputs, 0, 1);
}

const std::string unary = " : (tensor<4xf32>) -> tensor<4xf32>",
                  binary = " : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>";

TEST(Mistrust, NamesTheNodeWhereTheInputsWereLost) {
  EXPECT_EQ(traced("%a = nn.relu %x" + unary + " loc(\"a\")\n%b = nn.sub %a, %a" + binary +
                   " loc(\"b\")\n%y = nn.neg %b" + unary + " loc(\"c\")\n"),
            "first all zero in node 'b' (sub)");
}

TEST(Mistrust, OneNanIsWhereAllOfThemBegan) {
  EXPECT_EQ(traced("%a = nn.sqrt %x" + unary + " loc(\"root\")\n%y = nn.neg %a" + unary + " loc(\"c\")\n"),
            "first NaN in node 'root' (sqrt)");
  EXPECT_EQ(traced("%w = nn.constant {value = dense<[1.0, 0x7FC00000, 1.0, 2.0]> : tensor<4xf32>} : tensor<4xf32>\n"
                   "%y = nn.add %x, %w" +
                   binary + " loc(\"biased\")\n"),
            "first NaN in node 'biased' (add), which has a constant operand with NaN");
}

TEST(Mistrust, BlamesInputsAndWeights) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(traced("%y = nn.neg %x" + unary + " loc(\"c\")\n", {nan, 1, 2, 3}), "an input holds NaN");
  EXPECT_EQ(traced("%y = nn.neg %x" + unary + " loc(\"c\")\n", {2, 2, 2, 2}), "so is an input");
  EXPECT_EQ(traced("%w = nn.constant {value = dense<0.0> : tensor<4xf32>} : tensor<4xf32>\n%y = nn.mul %x, %w" +
                   binary + " loc(\"scaled\")\n"),
            "first all zero in node 'scaled' (mul); each of the 1 weight tensor holds one value only, so no inputs "
            "could make "
            "it vary");
}

} // namespace
} // namespace lathe::verify
