#include "codegen/target/Emit.h"
#include "codegen/builder/KernelBuilder.h"
#include "ir/Context.h"
#include "runtime/MappedKernel.h"
#include "support/Error.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe {
namespace {

/// y[i] = x[i] * 2.5 + table-like constant vector, over [begin, end) blocks of one vector.
mlir::OwningOpRef<mlir::ModuleOp> scaleKernel(mlir::MLIRContext *context, const Target &target, double factor) {
  KernelBuilder k(context, target, "kernel", {false, true}, 1);
  int64_t lanes = target.lanes(32);
  std::vector<float> ramp(lanes);
  for (int64_t i = 0; i < lanes; ++i)
    ramp[i] = i;
  k.loop(k.begin(), k.end(), 1, [&](mlir::Value i) {
    mlir::Value at = k.mul(i, lanes);
    mlir::Value x = k.load(k.buffer(0), at, ElementType::f32, lanes);
    mlir::Value constant = k.b.create<mlir::arith::ConstantOp>(k.loc, k.b.getF32VectorAttr(ramp));
    k.store(k.fma(x, k.constantF(factor, x.getType()), constant), k.buffer(1), at, ElementType::f32);
  });
  return k.finish();
}

TEST(Emit, objectsLinkIntoOneImageThatRuns) {
  auto context = makeContext();
  Target target = Target::parse("native");
  std::vector<std::vector<char>> objects;
  for (double factor : {2.5, -3.0})
    objects.push_back(emitObject(*scaleKernel(context.get(), target, factor), target));
  CodeImage image = linkImage(objects, target);
  ASSERT_EQ(image.entries.size(), 2u);

  int64_t lanes = target.lanes(32);
  std::vector<float> x(lanes * 3, 2.0f), y(lanes * 3, 7.0f);
  void *buffers[] = {x.data(), y.data()};
  int64_t dims[] = {0};
  for (size_t i = 0; i < 2; ++i) {
    runtime::MappedKernel(image.bytes, image.entries[i]).call(buffers, dims, 1, 3, nullptr);
    for (int64_t j = 0; j < lanes * 3; ++j)
      EXPECT_EQ(y[j], j < lanes ? 7.0f : 2.0f * (i ? -3.0f : 2.5f) + j % lanes);
  }
}

TEST(Emit, crossTargetsLink) {
  auto context = makeContext();
  for (const char *name : {"x86-64-v2", "x86-64-v3", "znver4", "cortex-a76", "aarch64-linux-gnu"}) {
    Target target = Target::parse(name);
    std::vector<std::vector<char>> objects{emitObject(*scaleKernel(context.get(), target, 2.5), target)};
    EXPECT_EQ(linkImage(objects, target).entries.size(), 1u) << name;
  }
}

TEST(Emit, importsAreRejected) {
  auto context = makeContext();
  Target target = Target::parse("native");
  KernelBuilder k(context.get(), target, "kernel", {true}, 0);
  auto module = k.finish();
  mlir::OpBuilder b(context.get());
  b.setInsertionPointToEnd(module->getBody());
  auto type = mlir::LLVM::LLVMFunctionType::get(mlir::LLVM::LLVMVoidType::get(context.get()), {});
  auto callee = b.create<mlir::LLVM::LLVMFuncOp>(b.getUnknownLoc(), "outside", type);
  module->walk([&](mlir::LLVM::ReturnOp op) {
    b.setInsertionPoint(op);
    b.create<mlir::LLVM::CallOp>(b.getUnknownLoc(), callee, mlir::ValueRange());
  });
  std::vector<std::vector<char>> objects{emitObject(*module, target)};
  try {
    linkImage(objects, target);
    FAIL() << "linked an image with an import";
  } catch (const Error &error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("imports 'outside'"));
  }
}

TEST(Emit, textOfEveryStage) {
  auto context = makeContext();
  Target target = Target::parse("x86-64-v3");
  EXPECT_THAT(emitText(*scaleKernel(context.get(), target, 2), target, EmitStage::loops),
              testing::HasSubstr("scf.for"));
  EXPECT_THAT(emitText(*scaleKernel(context.get(), target, 2), target, EmitStage::llvm), testing::HasSubstr("define"));
  EXPECT_THAT(emitText(*scaleKernel(context.get(), target, 2), target, EmitStage::assembly), testing::HasSubstr("ymm"));
}

} // namespace
} // namespace lathe
