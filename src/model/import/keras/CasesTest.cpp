// Compares every layer on the references with NumPy (import/keras/testing/cases.py), in files of Keras 2 and Keras 3.
#include "import/keras/FileTesting.h"
#include "support/Npy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace lathe::keras {
namespace {

Tensor tensorOf(const NpyArray &array) {
  Tensor tensor(array.type, array.dims);
  std::copy(array.data.begin(), array.data.end(), static_cast<char *>(tensor.data()));
  return tensor;
}

/// Arrays called PREFIX0, PREFIX1, ...
std::vector<Tensor> arrays(const std::vector<NpzMember> &members, const std::string &prefix) {
  std::vector<Tensor> result;
  for (;;) {
    std::string name = prefix + std::to_string(result.size());
    auto found = std::find_if(members.begin(), members.end(), [&](const NpzMember &each) { return each.name == name; });
    if (found == members.end())
      return result;
    result.push_back(tensorOf(found->array));
  }
}

void expectNear(const Tensor &got, const Tensor &want) {
  ASSERT_EQ(got.dims(), want.dims());
  double most = 1;
  for (int64_t i = 0; i < want.elements(); ++i)
    most = std::max(most, std::fabs(want.asDouble(i)));
  for (int64_t i = 0; i < want.elements(); ++i)
    ASSERT_NEAR(got.asDouble(i), want.asDouble(i), 2e-5 * most) << "element " << i;
}

void checkCase(const fs::path &npz, std::set<std::string> &layers) {
  fs::path model = fs::path(npz).replace_extension(".h5");
  if (!fs::exists(model))
    model.replace_extension(".keras");
  SCOPED_TRACE(model.filename().string());
  std::vector<NpzMember> members = readNpz(npz.string());
  std::vector<Tensor> want = arrays(members, "output_"), got;
  try {
    got = evaluated(model.string(), arrays(members, "input_"));
  } catch (const Error &error) {
    FAIL() << error.what();
  }
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i)
    expectNear(got[i], want[i]);
  layers.insert(npz.stem().string());
}

TEST(Cases, LikeNumPy) {
  ScriptFolder folder("write_cases.py");
  ASSERT_FALSE(folder.failed);
  std::set<std::string> passed;
  int count = 0;
  for (const auto &entry : fs::directory_iterator(folder.path))
    if (entry.path().extension() == ".npz") {
      checkCase(entry.path(), passed);
      ++count;
    }
  std::printf("%d cases\n", count);
  EXPECT_GE(count, 300);
  EXPECT_EQ(passed.size(), static_cast<size_t>(count));
}

/// Compares models of the test data with the outputs of another implementation, within 1e-5 of the largest value.
TEST(Golden, LikeAnotherImplementation) {
  const char *given = std::getenv("LATHE_TEST_DATA");
  fs::path models = fs::path(given ? given : LATHE_TEST_DATA) / "models";
  if (!fs::exists(models / "keras"))
    GTEST_SKIP() << "NO TEST DATA: there is no " << models << "/keras (set LATHE_TEST_DATA)";
  int cases = 0;
  for (const auto &model : fs::directory_iterator(models / "keras"))
    for (const auto &entry : fs::directory_iterator(models / "golden" / model.path().stem())) {
      SCOPED_TRACE(entry.path().string());
      Tensor want = tensorOf(readNpy((entry.path() / "output_0.npy").string()));
      std::vector<Tensor> got =
          evaluated(model.path().string(), {tensorOf(readNpy((entry.path() / "input_0.npy").string()))});
      ASSERT_EQ(got.size(), 1u);
      ASSERT_EQ(got[0].dims(), want.dims());
      double most = 0, difference = 0;
      for (int64_t i = 0; i < want.elements(); ++i) {
        most = std::max(most, std::fabs(want.asDouble(i)));
        difference = std::max(difference, std::fabs(want.asDouble(i) - got[0].asDouble(i)));
      }
      std::printf("%s: %.1e of the largest value\n", entry.path().c_str(), difference / most);
      EXPECT_LE(difference, 1e-5 * most);
      ++cases;
    }
  EXPECT_GE(cases, 6);
}

} // namespace
} // namespace lathe::keras
