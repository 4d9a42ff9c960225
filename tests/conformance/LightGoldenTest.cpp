// The six light networks give their golden outputs on the references: input arange(n)/n, relative tolerance 1e-5.
#include "import/Import.h"
#include "import/onnx/TensorData.h"
#include "ir/Context.h"
#include "passes/Evaluate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace lathe {
namespace {

namespace fs = std::filesystem;

class LightGolden : public testing::TestWithParam<const char *> {};

TEST_P(LightGolden, OnReferences) {
  const char *given = std::getenv("LATHE_TEST_DATA");
  fs::path folder = fs::path(given ? given : LATHE_TEST_DATA) / "models/onnx";
  std::string stem = fmt::format("light_{}", GetParam());
  if (!fs::exists(folder / (stem + ".onnx")))
    GTEST_SKIP() << "NO TEST DATA: " << folder << " is not there (set LATHE_TEST_DATA)";
  auto context = makeContext();
  auto module = importModel(*context, (folder / (stem + ".onnx")).string());
  Tensor input(ElementType::f32, {1, 3, 224, 224});
  for (int64_t i = 0; i < input.elements(); ++i)
    input.as<float>()[i] = static_cast<float>(static_cast<double>(i) / static_cast<double>(input.elements()));
  Value inputs[] = {input};
  EvaluateOptions options;
  options.threads = 2;
  auto results = evaluate(*module, inputs, options);

  onnx::TensorProto golden;
  std::ifstream in(folder / (stem + "_output_0.pb"), std::ios::binary);
  ASSERT_TRUE(golden.ParseFromIstream(&in));
  auto expected = onnx::decodeTensor(golden, "golden", folder);
  ASSERT_EQ(results.size(), 1u);
  const Tensor &got = results[0].tensor();
  ASSERT_EQ(got.dims(), expected.dims);
  for (int64_t i = 0; i < got.elements(); ++i) {
    float wanted = 0;
    std::memcpy(&wanted, expected.bytes.data() + i * sizeof wanted, sizeof wanted);
    ASSERT_NEAR(got.asDouble(i), wanted, 1e-5 * std::abs(wanted)) << "element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, LightGolden,
                         testing::Values("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50",
                                         "squeezenet"),
                         [](auto &info) { return std::string(info.param); });

} // namespace
} // namespace lathe
