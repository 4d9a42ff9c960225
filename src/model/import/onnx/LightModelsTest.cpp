// The six networks of the ONNX project's "light" set import.
#include "import/Import.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace lathe {
namespace {

std::filesystem::path dataFolder() {
  const char *given = std::getenv("LATHE_TEST_DATA");
  return given ? given : LATHE_TEST_DATA;
}

class LightModels : public testing::TestWithParam<const char *> {};

TEST_P(LightModels, Import) {
  auto path = dataFolder() / "models/onnx" / fmt::format("light_{}.onnx", GetParam());
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << "NO TEST DATA: " << path << " is not there (set LATHE_TEST_DATA)";
  mlir::MLIRContext context;
  auto module = importModel(context, path.string());
  auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
  ASSERT_TRUE(main);
  ASSERT_EQ(main.getNumArguments(), 1u);
  auto input = llvm::cast<mlir::RankedTensorType>(main.getArgumentTypes()[0]);
  EXPECT_EQ(input.getShape(), (llvm::ArrayRef<int64_t>{1, 3, 224, 224}));
  ASSERT_EQ(main.getNumResults(), 1u);
  EXPECT_EQ(llvm::cast<mlir::RankedTensorType>(main.getResultTypes()[0]).getNumElements(), 1000);
}

INSTANTIATE_TEST_SUITE_P(Models, LightModels,
                         testing::Values("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50",
                                         "squeezenet"),
                         [](auto &info) { return std::string(info.param); });

} // namespace
} // namespace lathe
