// Files that are refused, and damaged ones: each is one line that names the file; none crashes or hangs. Files of
// the scripts and models of the test data are cut short and get flipped bits, at fixed and at fresh places:
// LATHE_KERAS_DAMAGES says how many of each a file gets, LATHE_SEED repeats fresh ones.
#include "import/keras/FileTesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace lathe::keras {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

void write(const fs::path &path, const std::string &bytes) { std::ofstream(path, std::ios::binary) << bytes; }

class BadFile : public testing::Test {
protected:
  static void SetUpTestSuite() { folder = new ScriptFolder("write_bad_files.py"); }
  static void TearDownTestSuite() { delete folder; }
  void SetUp() override { ASSERT_FALSE(folder->failed); }
  static inline ScriptFolder *folder = nullptr;
};

TEST_F(BadFile, SaysWhatIsWrong) {
  int count = 0;
  for (const auto &entry : fs::directory_iterator(folder->path)) {
    if (entry.path().extension() != ".txt")
      continue;
    std::string path = fs::path(entry.path()).replace_extension("").string();
    EXPECT_THAT(importError(path), AllOf(HasSubstr(contents(entry.path())), StartsWith(path), Not(HasSubstr("\n"))));
    ++count;
  }
  EXPECT_GE(count, 20);
}

TEST_F(BadFile, AllUnknownLayersAtOnce) {
  auto context = makeContext();
  try {
    imported(*context, (folder->path / "both.h5").string());
    FAIL() << "expected an error";
  } catch (const UnsupportedError &error) {
    ASSERT_EQ(error.issues.size(), 2u);
    EXPECT_EQ(error.issues[0].node, "a");
    EXPECT_THAT(error.issues[0].reason, HasSubstr("--custom Scale=FILE.mlir"));
    EXPECT_EQ(error.issues[1].node, "b");
    EXPECT_THAT(error.issues[1].reason, AllOf(HasSubstr("a Python function"), HasSubstr("--custom Lambda=FILE.mlir")));
  }
}

/// The definition is for other extents than the model's: shapes are inferred anew.
TEST_F(BadFile, UnknownLayersCanBeDefined) {
  std::string model = (folder->path / "unknown.h5").string(), file = (folder->path / "scale.mlir").string();
  write(file, "func.func @main(%x: tensor<1x4xf32>, %w: tensor<4x3xf32>, %b: tensor<3xf32>) -> tensor<1x3xf32> {\n"
              "  %p = nn.matmul %x, %w : (tensor<1x4xf32>, tensor<4x3xf32>) -> tensor<1x3xf32>\n"
              "  %two = nn.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>\n"
              "  %y = nn.mul %p, %two : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>\n"
              "  return %y : tensor<1x3xf32>\n}\n");
  ImportOptions options{.custom = {{"Scale", file}}};
  std::vector<Tensor> got = evaluated(model, {Tensor::of<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})}, options);
  ASSERT_EQ(got.at(0).dims(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(got[0].asDouble(0), 20); // the weights are ones
  EXPECT_EQ(got[0].asDouble(5), 52);
  write(file, "func.func @main(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {\n  return %x : tensor<1x4xf32>\n}\n");
  EXPECT_THAT(importError(model, options), HasSubstr("@main has 1 arguments, expected 3"));
  options.custom["Scale"] = (folder->path / "nothing.mlir").string();
  EXPECT_THAT(importError(model, options), HasSubstr("nothing.mlir"));
}

// ---- Damage -------------------------------------------------------------------------------------------------------

std::vector<fs::path> models(const fs::path &written) {
  const char *given = std::getenv("LATHE_TEST_DATA");
  fs::path golden = fs::path(given ? given : LATHE_TEST_DATA) / "models/keras";
  std::vector<fs::path> paths;
  for (const fs::path &place : {golden, written})
    if (fs::exists(place))
      for (const auto &entry : fs::directory_iterator(place))
        if (entry.path().extension() == ".h5" || entry.path().extension() == ".keras")
          paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

int64_t number(const char *variable, int64_t fallback) {
  const char *text = std::getenv(variable);
  return text ? std::atoll(text) : fallback;
}

/// An error must be one line about the file, and there may be none, for a weight can be any number.
bool refusedClearly(const fs::path &place, const std::string &bytes, const std::string &what) {
  write(place, bytes);
  std::string error = importError(place.string());
  EXPECT_TRUE(error.empty() || error.starts_with(place.string())) << what << ": " << error;
  EXPECT_THAT(error, AllOf(Not(HasSubstr("\n")), Not(HasSubstr("internal")))) << what;
  return !error.empty();
}

/// Configurations with values of other kinds, absurd numbers, and members that are not there.
TEST_F(BadFile, MutatedConfigurationsAreRefusedOrRead) {
  auto seed = number("LATHE_SEED", static_cast<int64_t>(std::random_device()()));
  std::printf("seed %lld: LATHE_SEED repeats it\n", static_cast<long long>(seed));
  int refused = 0, tried = 0;
  for (int64_t each : {int64_t(1), seed}) {
    ScriptFolder mutated("write_mutated.py", fmt::format("{} {}", each, 15 * number("LATHE_KERAS_DAMAGES", 3)));
    ASSERT_FALSE(mutated.failed);
    for (const auto &entry : fs::directory_iterator(mutated.path)) {
      std::string path = entry.path().string(), error = importError(path);
      EXPECT_TRUE(error.empty() || error.starts_with(path)) << "seed " << each << ": " << error;
      EXPECT_THAT(error, Not(HasSubstr("internal"))) << "seed " << each << ": " << path;
      refused += !error.empty();
      ++tried;
    }
  }
  std::printf("%d mutated configurations, %d refused\n", tried, refused);
  EXPECT_GT(refused, tried / 5);
}

/// Structures are at the begin of a file mostly, between weights the rest.
std::string damaged(std::string bytes, std::mt19937_64 &random) {
  static constexpr uint32_t extremes[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x10000, 127};
  size_t near = std::min<size_t>(bytes.size(), 8192);
  for (size_t i = 0, count = 1 + random() % 4; i < count; ++i) {
    size_t at = random() % (random() % 2 ? near : bytes.size());
    if (random() % 3 && at + 4 <= bytes.size())
      std::memcpy(&bytes[at], &extremes[random() % std::size(extremes)], 4);
    else
      bytes[at] ^= static_cast<char>(1u << random() % 8);
  }
  return bytes;
}

TEST_F(BadFile, DamagedModelsAreRefusedOrRead) {
  int64_t count = number("LATHE_KERAS_DAMAGES", 3);
  auto seed = static_cast<uint64_t>(number("LATHE_SEED", static_cast<int64_t>(std::random_device()())));
  std::printf("seed %llu: LATHE_SEED repeats it\n", static_cast<unsigned long long>(seed));
  int refused = 0, tried = 0, cut = 0, cutRefused = 0;
  for (const fs::path &path : models(folder->path)) {
    std::string whole = contents(path);
    fs::path place = folder->path / ("damaged" + path.extension().string());
    for (uint64_t each : {uint64_t(1), seed}) {
      std::mt19937_64 random(each);
      for (int64_t i = 0; i < count; ++i) {
        std::string what = fmt::format("{}, seed {}, damage {}", path.filename().string(), each, i);
        cutRefused += refusedClearly(place, whole.substr(0, random() % whole.size()), what + " (cut)");
        refused += refusedClearly(place, damaged(whole, random), what);
        ++cut, ++tried;
      }
    }
    fs::remove(place);
  }
  std::printf("%d damaged files, %d refused; %d cut short, %d refused\n", tried, refused, cut, cutRefused);
  EXPECT_GT(tried, 100);
  EXPECT_EQ(cutRefused, cut) << "a file that is cut short lacks its end";
}

} // namespace
} // namespace lathe::keras
