// Refused and damaged files: each gives one line that names the file; none crashes or hangs. Files of the scripts and
// models of the test data are truncated and get flipped bits, at fixed and at random places: LATHE_KERAS_DAMAGES is the
// number of both for each file and round (import/DamageTesting.h).
#include "import/DamageTesting.h"
#include "import/UnusedDefinitions.h"
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

/// The user can define an activation like a layer, by its name.
TEST_F(BadFile, UnknownActivationsCanBeDefined) {
  std::string model = (folder->path / "activation.h5").string(), file = (folder->path / "swish2.mlir").string();
  write(file, "func.func @main(%x: tensor<1x3xf32>) -> tensor<1x3xf32> {\n"
              "  %y = nn.neg %x : (tensor<1x3xf32>) -> tensor<1x3xf32>\n  return %y : tensor<1x3xf32>\n}\n");
  ImportOptions options;
  options.custom = {{"swish2", file}};
  std::vector<Tensor> got = evaluated(model, {Tensor::of<float>({1, 4}, {1, 2, 3, 4})}, options);
  EXPECT_EQ(got.at(0).asDouble(0), -10); // the weights are ones
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

/// The definition has other extents than the model: shapes are inferred again.
TEST_F(BadFile, UnknownLayersCanBeDefined) {
  std::string model = (folder->path / "unknown.h5").string(), file = (folder->path / "scale.mlir").string();
  write(file, "func.func @main(%x: tensor<1x4xf32>, %w: tensor<4x3xf32>, %b: tensor<3xf32>) -> tensor<1x3xf32> {\n"
              "  %p = nn.matmul %x, %w : (tensor<1x4xf32>, tensor<4x3xf32>) -> tensor<1x3xf32>\n"
              "  %two = nn.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>\n"
              "  %y = nn.mul %p, %two : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>\n"
              "  return %y : tensor<1x3xf32>\n}\n");
  ImportOptions options;
  options.custom = {{"Scale", file}};
  std::vector<Tensor> got = evaluated(model, {Tensor::of<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})}, options);
  ASSERT_EQ(got.at(0).dims(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(got[0].asDouble(0), 20); // the weights are ones
  EXPECT_EQ(got[0].asDouble(5), 52);
  write(file, "func.func @main(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {\n  return %x : tensor<1x4xf32>\n}\n");
  EXPECT_THAT(importError(model, options), HasSubstr("@main has 1 arguments, expected 3"));
  options.custom["Scale"] = (folder->path / "nothing.mlir").string();
  EXPECT_THAT(importError(model, options), HasSubstr("nothing.mlir"));
}

TEST_F(BadFile, DefinitionsWithoutALayer) {
  auto context = makeContext();
  ImportOptions options;
  options.custom = {{"Scale", "scale.mlir"}, {"Scales", "scale.mlir"}};
  std::string model = (folder->path / "unknown.h5").string();
  try {
    imported(*context, model, options);
    FAIL() << "expected an error";
  } catch (const UnusedDefinitions &error) {
    EXPECT_EQ(error.classes, std::vector<std::string>{"Scales"});
    EXPECT_THAT(error.what(),
                AllOf(StartsWith(model), HasSubstr("no layer is of class 'Scales', which --custom defines "
                                                   "(did you mean 'Scale'?); the classes are Scale")));
  }
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

/// The number of damages of each kind for a file in a round.
int64_t damagesOf() { return damage::numberOf("LATHE_KERAS_DAMAGES", 3); }

/// Configurations with values of wrong kinds, absurd numbers, and missing members.
TEST_F(BadFile, MutatedConfigurationsAreRefusedOrRead) {
  damage::Rounds rounds("mutated configurations");
  while (rounds.next()) {
    ScriptFolder mutated("write_mutated.py", fmt::format("{} {}", rounds.seed(), 15 * damagesOf()));
    ASSERT_FALSE(mutated.failed);
    for (const auto &entry : fs::directory_iterator(mutated.path)) {
      std::string path = entry.path().string();
      rounds.refusedClearly(entry.path().filename().string(), path, [&] { return importError(path); });
    }
  }
  EXPECT_GT(rounds.errors(), rounds.cases() / 5);
}

/// Most structures are at the start of a file; the others are between weights.
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

/// HDF5 library 1.10 never finishes reading this file.
TEST_F(BadFile, ReadingEnds) {
  std::string bytes = contents(folder->path / "virtual.h5"), path = (folder->path / "circle.h5").string();
  ASSERT_GT(bytes.size(), 14454u);
  for (auto [at, value] : {std::pair<size_t, uint32_t>{2621, 127}, {3136, 0x80000000}, {8054, 0x7fffffff}})
    std::memcpy(&bytes[at], &value, sizeof value);
  bytes[14454] ^= 2;
  write(path, bytes);
  EXPECT_THAT(importError(path), AllOf(StartsWith(path), HasSubstr("s of CPU time"), Not(HasSubstr("\n"))));
}

TEST_F(BadFile, DamagedModelsAreRefusedOrRead) {
  int64_t cut = 0, cutRefused = 0;
  std::vector<fs::path> paths = models(folder->path);
  damage::Rounds rounds("keras");
  while (rounds.next())
    for (const fs::path &path : paths) {
      std::string whole = contents(path);
      fs::path place = folder->path / ("damaged" + path.extension().string());
      auto refused = [&](const std::string &bytes, const std::string &what) {
        write(place, bytes);
        return rounds.refusedClearly(what, place.string(), [&] { return importError(place.string()); });
      };
      std::mt19937_64 random(rounds.seed());
      for (int64_t i = 0; i < damagesOf() && !rounds.over(); ++i, ++cut) {
        std::string what = fmt::format("{}, damage {}", path.filename().string(), i);
        cutRefused += refused(whole.substr(0, random() % whole.size()), what + " (cut)");
        refused(damaged(whole, random), what);
      }
      fs::remove(place);
    }
  EXPECT_GT(rounds.cases(), 100);
  EXPECT_EQ(cutRefused, cut) << "a file that is cut short lacks its end";
}

} // namespace
} // namespace lathe::keras
