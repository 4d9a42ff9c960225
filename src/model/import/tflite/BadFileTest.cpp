// Damaged TFLite files: each gives one line that names the file; none crashes, hangs or reads beyond the file. The
// models of the test data and of the folder LATHE_FUZZ_MODELS are truncated and get flipped bits, at fixed and at
// random places: LATHE_TFLITE_DAMAGES is the number of both for each model and round (import/DamageTesting.h).
#include "import/DamageTesting.h"
#include "import/Import.h"
#include "import/tflite/FileTesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

namespace lathe::tflite {
namespace {

namespace fs = std::filesystem;
using enum BuiltinOperator;
using testing::HasSubstr;

/// A valid file with one operator.
struct Small {
  TestFile f;
  int x = f.input("x", {1, 4, 4, 2}), w = f.constant<float>({3, 2, 2, 2}, ramp(24));
  int y = f.value({1, 3, 3, 3}, file::TensorType::FLOAT32, "conv");
  void conv(const TestFile::Ints &ins) {
    f.op(CONV_2D, ins, {y}, BuiltinOptions::Conv2D,
         file::CreateConv2DOptions(f.builder, file::Padding::VALID, 1, 1).Union());
    f.output(y);
  }
};

TEST(BadFile, WhatIsOutsideOfTheFileIsNamed) {
  Small good;
  good.conv({good.x, good.w});
  std::string bytes = good.f.bytes();
  EXPECT_EQ(importError(bytes), "");
  EXPECT_THAT(importError(bytes.substr(0, bytes.size() / 2)), HasSubstr("m.tflite: is damaged"));
  EXPECT_THAT(importError(bytes.substr(0, 8)), HasSubstr("m.tflite: is damaged"));
  std::string moved = "x" + bytes;
  EXPECT_EQ(importError(std::string_view(moved).substr(1)), "") << "a file may begin at any address";
  Small version;
  version.conv({version.x, version.w});
  EXPECT_EQ(importError(version.f.bytes(2)), "m.tflite: has schema version 2, expected 3");
  Small operand;
  operand.conv({operand.x, 99});
  EXPECT_EQ(importError(operand.f.bytes()), "m.tflite: an operand 1 is tensor 99, expected one below 3");
  Small absent;
  absent.conv({absent.x, -1});
  EXPECT_THAT(importError(absent.f.bytes()), HasSubstr("'conv' (CONV_2D, schema 3): input 1 is missing"));
  Small negative;
  negative.conv({negative.x, -7});
  EXPECT_THAT(importError(negative.f.bytes()), HasSubstr("is tensor -7, expected one below 3"));
}

TEST(BadFile, ConstantsFitTheirExtents) {
  Small few;
  int w = few.f.constant<float>({3, 2, 2, 2}, ramp(23));
  few.conv({few.x, w});
  EXPECT_THAT(importError(few.f.bytes()), HasSubstr("has 92 bytes of data, expected 96"));
  Small negative;
  w = negative.f.constant<float>({3, -2, 2, 2}, ramp(24));
  negative.conv({negative.x, w});
  EXPECT_THAT(importError(negative.f.bytes()), HasSubstr("has extent -2, expected none below 0"));
  Small huge;
  w = huge.f.constant<float>({1 << 30, 1 << 30, 2, 2}, ramp(24));
  huge.conv({huge.x, w});
  EXPECT_THAT(importError(huge.f.bytes()), HasSubstr("more than 2^42 elements"));
  Small scales;
  w = scales.f.constant<int8_t>({3, 2, 2, 2}, std::vector<int8_t>(24, 1), scales.f.scale({1, 2}, {0, 0}, 0));
  scales.conv({scales.x, w});
  EXPECT_THAT(importError(scales.f.bytes()), HasSubstr("has 2 scales along axis 0, expected 3"));
}

/// Scales whose ratios are infinite, and an extent that would take gigabytes.
TEST(BadFile, AbsurdScalesAndExtents) {
  auto error = [](BuiltinOperator code, float from, float to, Activation activation) {
    TestFile f;
    TestFile::Ints ins = {f.quantisedInput("x", {2, 3}, file::TensorType::INT8, from, 5),
                          f.quantisedInput("y", {2, 3}, file::TensorType::INT8, from, 5)};
    int z = f.quantisedValue({code == CONCATENATION ? 4 : 2, 3}, file::TensorType::INT8, to, -5, "z");
    if (code == CONCATENATION)
      f.op(code, ins, {z}, BuiltinOptions::Concatenation,
           file::CreateConcatenationOptions(f.builder, 0, activation).Union());
    else
      f.op(code, code == HARD_SWISH ? TestFile::Ints{ins[0]} : ins, {z},
           code == MUL ? BuiltinOptions::Mul : BuiltinOptions::HardSwish,
           file::CreateActivationOptions(f.builder, activation).Union());
    f.output(z);
    return importError(f.bytes());
  };
  EXPECT_EQ(error(MUL, 1e30f, 1e-30f, Activation::NONE), "");
  EXPECT_EQ(error(MUL, 0.5f, 1e-40f, Activation::RELU_N1_TO_1), "");
  EXPECT_EQ(error(HARD_SWISH, 1e20f, 1e25f, Activation::NONE), "");
  EXPECT_THAT(error(CONCATENATION, 1e30f, 1e-30f, Activation::NONE), HasSubstr("input 0 has scale 1e+30, the result"));
  TestFile f;
  int x = f.quantisedInput("x", {1, 2, 2, 1}, file::TensorType::INT8, 0.5f, 3),
      y = f.quantisedValue({1, 1 << 30, 2, 1}, file::TensorType::INT8, 0.5f, 3);
  f.op(RESIZE_BILINEAR, {x, f.constant<int32_t>({2}, {1 << 30, 2})}, {y}, BuiltinOptions::ResizeBilinear,
       file::CreateResizeBilinearOptions(f.builder).Union());
  f.output(y);
  EXPECT_THAT(importError(f.bytes()), HasSubstr("resizes to 1073741824x2, expected at most 65536 rows and columns"));
}

TEST(BadFile, AbsurdNumbersOfChannels) {
  TestFile f;
  int x = f.quantisedInput("x", {1, 4, 4, 1 << 30}, file::TensorType::INT8, 0.5f, 3),
      y = f.quantisedValue({1, 2, 2, 1 << 30}, file::TensorType::INT8, 0.5f, 3);
  f.op(AVERAGE_POOL_2D, {x}, {y}, BuiltinOptions::Pool2D,
       file::CreatePool2DOptions(f.builder, file::Padding::VALID, 2, 2, 2, 2).Union());
  f.output(y);
  EXPECT_THAT(importError(f.bytes()), HasSubstr("the window has 4294967296 elements, expected at most 16777216"));
}

TEST(BadFile, AbsurdNumbersOfWindows) {
  TestFile f;
  int x = f.quantisedInput("x", {1, 1 << 20, 1 << 20, 1}, file::TensorType::INT8, 0.5f, 3),
      y = f.quantisedValue({1, 1 << 20, 1 << 20, 1}, file::TensorType::INT8, 0.5f, 3);
  f.op(AVERAGE_POOL_2D, {x}, {y}, BuiltinOptions::Pool2D,
       file::CreatePool2DOptions(f.builder, file::Padding::SAME, 1, 1, 3, 3).Union());
  f.output(y);
  EXPECT_THAT(importError(f.bytes()),
              HasSubstr("a padded average has 1099511627776 elements, expected at most 16777216"));
}

TEST(BadFile, AbsurdDepthsAndDiagonals) {
  TestFile f;
  int x = f.constant<int32_t>({2}, {1, 0}), on = f.constant<float>({}, {1}), off = f.constant<float>({}, {0}),
      y = f.value({2, 3});
  f.op(ONE_HOT, {x, f.constant<int32_t>({}, {0x7fffffff}), on, off}, {y}, BuiltinOptions::OneHot,
       file::CreateOneHotOptions(f.builder, -1).Union());
  f.output(y);
  EXPECT_THAT(importError(f.bytes()),
              HasSubstr("a list of positions has 2147483647 elements, expected at most 16777216"));

  TestFile diagonal;
  int v = diagonal.input("v", {0x7fffffff}), matrix = diagonal.value({0x7fffffff, 0x7fffffff});
  diagonal.op(MATRIX_DIAG, {v}, {matrix});
  diagonal.output(matrix);
  EXPECT_THAT(importError(diagonal.bytes()),
              HasSubstr("a list of positions has 2147483647 elements, expected at most 16777216"));
}

TEST(BadFile, ANodeBeforeItsProducerIsACycleOnlyIfItIsOne) {
  TestFile f;
  int a = f.value({2}), b = f.value({2}), x = f.input("x", {2});
  f.op(ADD, {x, b}, {a});
  f.op(ADD, {x, a}, {b});
  f.output(b);
  EXPECT_THAT(importError(f.bytes()), HasSubstr("is part of a cycle or depends on one"));
  TestFile twice;
  x = twice.input("x", {2}), a = twice.value({2});
  twice.op(RELU, {x}, {a});
  twice.op(TANH, {x}, {a});
  twice.output(a);
  EXPECT_THAT(importError(twice.bytes()), HasSubstr("is already produced by node 0"));
}

// ---- Models of the test data --------------------------------------------------------------------------------------

std::vector<fs::path> models() {
  const char *given = std::getenv("LATHE_TEST_DATA"), *more = std::getenv("LATHE_FUZZ_MODELS");
  std::vector<fs::path> folders = {fs::path(given ? given : LATHE_TEST_DATA) / "models/tflite"}, paths;
  if (more)
    folders.emplace_back(more);
  for (const fs::path &folder : folders)
    if (fs::exists(folder))
      for (const auto &entry : fs::directory_iterator(folder))
        if (entry.path().extension() == ".tflite")
          paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string contents(const fs::path &path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// Flips bits, mostly in the tables: weights fill most of a file, and a weight can be any number.
class Damages {
public:
  explicit Damages(uint64_t seed) : random(seed) {}

  std::string flipped(std::string bytes) {
    size_t count = 1 + random() % 4;
    size_t tables = std::min<size_t>(bytes.size(), 24 * 1024);
    for (size_t i = 0; i < count; ++i) {
      // The tables are at the end of files that the converter wrote, and at the start of files that flatc wrote.
      size_t place = random() % tables;
      bytes[random() % 3 == 0 ? place : bytes.size() - 1 - place] ^= static_cast<char>(1u << random() % 8);
    }
    return bytes;
  }
  /// Replaces four bytes of a table by an extreme number.
  std::string overwritten(std::string bytes) {
    static constexpr uint32_t extremes[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x10000, 127};
    size_t tables = std::min<size_t>(bytes.size(), 24 * 1024) - 4, place = random() % tables;
    size_t at = random() % 3 == 0 ? place : bytes.size() - 4 - place;
    uint32_t value = extremes[random() % std::size(extremes)];
    std::memcpy(&bytes[at & ~size_t(3)], &value, 4);
    return bytes;
  }
  size_t below(size_t limit) { return random() % limit; }

private:
  std::mt19937_64 random;
};

TEST(BadFile, DamagedModelsAreRefusedOrRead) {
  std::vector<fs::path> paths = models();
  if (paths.empty())
    GTEST_SKIP() << "NO TEST DATA: there is no models/tflite (set LATHE_TEST_DATA)";
  std::vector<std::pair<std::string, std::string>> wholes; // name, content
  for (const fs::path &path : paths)
    wholes.emplace_back(path.filename().string(), contents(path));
  int64_t count = damage::numberOf("LATHE_TFLITE_DAMAGES", 12);
  damage::Rounds rounds("tflite");
  auto tries = [&](const std::string &bytes, const std::string &what) {
    rounds.refusedClearly(what, "m.tflite: ", [&] { return importError(bytes); });
  };
  while (rounds.next())
    for (const auto &[name, whole] : wholes) {
      Damages damages(rounds.seed());
      for (int64_t i = 0; i < count && !rounds.over(); ++i) {
        std::string what = fmt::format("{}, damage {}", name, i);
        tries(whole.substr(0, damages.below(whole.size())), what + " (cut)");
        tries(damages.flipped(whole), what + " (flipped)");
        tries(damages.overwritten(whole), what + " (overwritten)");
      }
    }
  EXPECT_GT(rounds.errors(), rounds.cases() / 4) << "most files that are cut short are refused";
}

} // namespace
} // namespace lathe::tflite
