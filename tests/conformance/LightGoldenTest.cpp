// The six light networks give their golden outputs, on the references and compiled: input arange(n)/n, relative
// tolerance 1e-5.
#include "compile/Compile.h"
#include "import/Import.h"
#include "import/onnx/TensorData.h"
#include "ir/Context.h"
#include "passes/interpret/Evaluate.h"
#include "runtime/Context.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <unistd.h>

namespace lathe {
namespace {

namespace fs = std::filesystem;

class LightGolden : public testing::TestWithParam<const char *> {
protected:
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  fs::path folder;
  std::string stem = fmt::format("light_{}", GetParam());
  Tensor input{ElementType::f32, {1, 3, 224, 224}};

  void SetUp() override {
    const char *given = std::getenv("LATHE_TEST_DATA");
    folder = fs::path(given ? given : LATHE_TEST_DATA) / "models/onnx";
    if (!fs::exists(folder / (stem + ".onnx")))
      GTEST_SKIP() << "NO TEST DATA: " << folder << " is not there (set LATHE_TEST_DATA)";
    for (int64_t i = 0; i < input.elements(); ++i)
      input.as<float>()[i] = static_cast<float>(static_cast<double>(i) / static_cast<double>(input.elements()));
  }

  mlir::OwningOpRef<mlir::ModuleOp> load() { return importModel(*context, (folder / (stem + ".onnx")).string()); }

  void expectGolden(const Tensor &got) {
    onnx::TensorProto golden;
    std::ifstream in(folder / (stem + "_output_0.pb"), std::ios::binary);
    ASSERT_TRUE(golden.ParseFromIstream(&in));
    auto expected = onnx::decodeTensor(golden, "golden", folder);
    ASSERT_EQ(got.dims(), expected.dims);
    for (int64_t i = 0; i < got.elements(); ++i) {
      float wanted = 0;
      std::memcpy(&wanted, expected.bytes.data() + i * sizeof wanted, sizeof wanted);
      ASSERT_NEAR(got.asDouble(i), wanted, 1e-5 * std::abs(wanted)) << "element " << i;
    }
  }
};

TEST_P(LightGolden, OnReferences) {
  auto module = load();
  Value inputs[] = {input};
  EvaluateOptions options;
  options.threads = 2;
  auto results = evaluate(*module, inputs, options);
  ASSERT_EQ(results.size(), 1u);
  expectGolden(results[0].tensor());
}

TEST_P(LightGolden, Compiled) {
  auto module = load();
  fs::path package = fs::temp_directory_path() / fmt::format("lathe-{}-{}.lathe", stem, ::getpid());
  compile(*module, {}, package.string());
  auto model = runtime::Model::load(package.string());
  fs::remove(package); // mapped: its pages live as long as the model
  runtime::Context run(model, {.threads = 2});
  Value inputs[] = {input};
  auto results = run.run(inputs);
  ASSERT_EQ(results.size(), 1u);
  expectGolden(results[0].tensor());
}

INSTANTIATE_TEST_SUITE_P(Models, LightGolden,
                         testing::Values("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50",
                                         "squeezenet"),
                         [](auto &info) { return std::string(info.param); });

} // namespace
} // namespace lathe
