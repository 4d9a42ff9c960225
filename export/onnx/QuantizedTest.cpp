// Quantise and dequantise survive export and import, as the two ONNX nodes that other runtimes fuse.
#include "export/onnx/Export.h"
#include "import/Import.h"
#include "ir/Context.h"
#include "ir/QuantizedForm.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace lathe;

namespace {

struct Scales {
  std::vector<nn::QuantizedScale> quantize, dequantize;
};

Scales scalesOf(mlir::ModuleOp module) {
  Scales scales;
  module.walk([&](mlir::Operation *op) {
    if (auto form = nn::quantizeAt(op))
      scales.quantize.push_back(form->scale);
    if (auto form = nn::dequantizeAt(op))
      scales.dequantize.push_back(form->scale);
  });
  return scales;
}

/// x, quantised and dequantised; weights of int8 dequantised along axis 0; both returned.
mlir::OwningOpRef<mlir::ModuleOp> model(mlir::MLIRContext &context, const nn::QuantizedScale &activation,
                                        const nn::QuantizedScale &weight) {
  mlir::OpBuilder b(&context);
  mlir::Location loc = mlir::NameLoc::get(b.getStringAttr("node"));
  auto type = [&](std::vector<int64_t> dims) { return mlir::RankedTensorType::get(dims, b.getF32Type()); };
  auto module = mlir::ModuleOp::create(loc);
  auto main = mlir::func::FuncOp::create(loc, "main",
                                         b.getFunctionType({type({1, 2, 3, 3})}, {type({1, 2, 3, 3}), type({2, 3})}));
  module.push_back(main);
  b.setInsertionPointToStart(main.addEntryBlock());
  mlir::Value q = nn::buildQuantize(b, loc, main.getArgument(0), activation, "x");
  mlir::Value x = nn::buildDequantize(b, loc, q, activation, "x");
  const std::vector<int8_t> bytes{1, -2, 3, 127, -127, 0};
  auto attr =
      nn::makeConstant(&context, ElementType::i8, {2, 3}, {reinterpret_cast<const char *>(bytes.data()), 6}, "w");
  mlir::Value constant = b.create<nn::ConstantOp>(loc, attr.getType(), attr);
  mlir::Value w = nn::buildDequantize(b, loc, constant, weight, "w");
  b.create<mlir::func::ReturnOp>(loc, mlir::ValueRange{x, w});
  return module;
}

TEST(Quantized, survivesExportAndImport) {
  auto context = makeContext();
  const nn::QuantizedScale weight{ElementType::i8, {0.5, 0.25}, {0, 0}, 0};
  for (const nn::QuantizedScale &activation : {nn::QuantizedScale{ElementType::u8, {0.125}, {7}, std::nullopt},
                                               nn::QuantizedScale{ElementType::i8, {2}, {0}, std::nullopt},
                                               nn::QuantizedScale{ElementType::u8, {0.5, 3}, {1, 200}, 1}}) {
    auto module = model(*context, activation, weight);
    Scales before = scalesOf(*module);
    EXPECT_THAT(before.quantize, testing::ElementsAre(activation));
    EXPECT_THAT(before.dequantize, testing::UnorderedElementsAre(activation, weight));
    std::string bytes = exportOnnx(*module);
    EXPECT_NE(bytes.find("QuantizeLinear"), bytes.npos);
    EXPECT_NE(bytes.find("DequantizeLinear"), bytes.npos);
    for (const char *spelledOut : {"Round", "Clip", "Div"})
      EXPECT_EQ(bytes.find(spelledOut), bytes.npos) << spelledOut;
    Scales after = scalesOf(*importOnnxBytes(*context, bytes, "again.onnx"));
    EXPECT_THAT(after.quantize, testing::ElementsAre(activation));
    EXPECT_THAT(after.dequantize, testing::UnorderedElementsAre(activation, weight));
  }
}

/// A value inside the form that something else reads is no part of a node.
TEST(Quantized, whatIsReadInsideStaysSpelledOut) {
  auto context = makeContext();
  mlir::OpBuilder b(context.get());
  mlir::Location loc = b.getUnknownLoc();
  auto type = mlir::RankedTensorType::get({4}, b.getF32Type());
  auto module = mlir::ModuleOp::create(loc);
  auto main = mlir::func::FuncOp::create(
      loc, "main", b.getFunctionType({type}, {mlir::RankedTensorType::get({4}, b.getIntegerType(8, false)), type}));
  module.push_back(main);
  b.setInsertionPointToStart(main.addEntryBlock());
  mlir::Value q = nn::buildQuantize(b, loc, main.getArgument(0), {ElementType::u8, {0.5}, {0}, std::nullopt}, "x");
  mlir::Value clipped = q.getDefiningOp()->getOperand(0);
  b.create<mlir::func::ReturnOp>(loc, mlir::ValueRange{q, clipped});
  EXPECT_FALSE(nn::quantizeAt(q.getDefiningOp()).has_value());
  std::string bytes = exportOnnx(module);
  EXPECT_EQ(bytes.find("QuantizeLinear"), bytes.npos);
  EXPECT_NE(bytes.find("Round"), bytes.npos);
  module->erase();
}

} // namespace
