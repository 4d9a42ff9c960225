// Notes about pictures in small TFLite and ONNX files.
#include "import/PictureNotes.h"

#include "import/onnx/onnx.pb.h"
#include "import/tflite/tflite_generated.h"
#include "support/Error.h"
#include "support/Npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace lathe {
namespace {

namespace file = tflite::file;
using testing::ElementsAre;
using testing::HasSubstr;

struct Notes : testing::Test {
  std::string path = testing::TempDir() + "lathe_picture_notes";
  void TearDown() override { std::filesystem::remove(path); }

  PictureNotes written(const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    return pictureNotes(path, 0);
  }
};

/// A zip archive with one stored member. Offsets count from the archive, or from `before` bytes in front of it.
std::string zip(const std::string &name, const std::string &content, uint32_t before) {
  uint32_t crc = 0xffffffff;
  for (char c : content) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  crc = ~crc;
  std::string bytes;
  auto put = [&](uint32_t value, size_t size) { bytes.append(reinterpret_cast<const char *>(&value), size); };
  auto size = static_cast<uint32_t>(content.size()), length = static_cast<uint32_t>(name.size());
  auto common = [&] { // versions needed, flags, method, time, date, checksum, sizes, length of the name, extra
    for (uint32_t value : {20u, 0u, 0u, 0u, 0u})
      put(value, 2);
    for (uint32_t value : {crc, size, size})
      put(value, 4);
    put(length, 2);
    put(0, 2);
  };
  put(0x04034b50, 4);
  common();
  bytes += name + content;
  auto directory = static_cast<uint32_t>(bytes.size());
  put(0x02014b50, 4);
  put(20, 2);
  common();
  for (size_t i = 0; i < 3; ++i)
    put(0, 2);
  put(0, 4);
  put(before, 4);
  bytes += name;
  auto end = static_cast<uint32_t>(bytes.size());
  put(0x06054b50, 4);
  for (uint32_t value : {0u, 0u, 1u, 1u})
    put(value, 2);
  put(end - directory, 4);
  put(directory + before, 4);
  put(0, 2);
  return bytes;
}

/// A model with metadata: pixels less 127.5, divided by 128, and labels in a file.
std::string tfliteFile(const std::string &labels) {
  flatbuffers::FlatBufferBuilder inner;
  auto normal = file::CreateNormalization(inner, inner.CreateVector<float>({127.5f}), inner.CreateVector<float>({128}));
  auto unit = file::CreateProcessUnit(inner, file::ProcessOptions::Normalization, normal.Union());
  auto units = inner.CreateVector(std::vector{unit});
  auto input = file::CreateTensorDescription(inner, 0, 0, 0, 0, units);
  auto name = inner.CreateString(labels);
  auto associated = file::CreateAssociatedFile(inner, name, 0, file::FileKind::AXIS_LABELS);
  auto files = inner.CreateVector(std::vector{associated});
  auto output = file::CreateTensorDescription(inner, 0, 0, 0, 0, 0, 0, files);
  auto inputs = inner.CreateVector(std::vector{input}), outputs = inner.CreateVector(std::vector{output});
  auto graph = file::CreateSubGraphDescription(inner, 0, 0, inputs, outputs);
  auto described = inner.CreateVector(std::vector{graph});
  inner.Finish(file::CreateDescription(inner, 0, 0, 0, described), "M001");

  flatbuffers::FlatBufferBuilder builder;
  auto data = builder.CreateVector(inner.GetBufferPointer(), inner.GetSize());
  std::vector buffers{file::CreateBuffer(builder), file::CreateBuffer(builder, data)};
  auto bufferVector = builder.CreateVector(buffers);
  auto key = builder.CreateString("TFLITE_METADATA");
  auto metadata = builder.CreateVector(std::vector{file::CreateMetadata(builder, key, 1)});
  builder.Finish(file::CreateModel(builder, 3, 0, 0, 0, bufferVector, 0, metadata), "TFL3");
  return {reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize()};
}

TEST_F(Notes, OfTfliteMetadata) {
  std::string model = tfliteFile("labels.txt");
  for (bool fromFile : {false, true}) { // offsets count from the start of the file, or of the archive
    auto before = fromFile ? static_cast<uint32_t>(model.size()) : 0;
    PictureNotes notes = written(model + zip("labels.txt", "tench\r\ngold fish\nshark", before));
    EXPECT_EQ(notes.range, "0..255");
    EXPECT_THAT(notes.mean, ElementsAre(127.5));
    EXPECT_THAT(notes.deviation, ElementsAre(128));
    EXPECT_EQ(notes.channels, "");
    EXPECT_THAT(notes.labels, ElementsAre("tench", "gold fish", "shark"));
  }
  EXPECT_THAT([&] { written(model + zip("other.txt", "x", 0)); },
              testing::ThrowsMessage<Error>(HasSubstr("names the labels 'labels.txt', which the archive")));
  EXPECT_THAT([&] { written(model); }, testing::ThrowsMessage<Error>(HasSubstr("its directory is missing")));
}

/// Published classifiers state their normalisation and the names of their 1001 classes.
TEST(PublishedNotes, OfClassifiers) {
  const char *given = std::getenv("LATHE_TEST_DATA");
  auto folder = std::filesystem::path(given ? given : LATHE_TEST_DATA) / "models" / "tflite";
  for (const char *name :
       {"tf2_mobilenet_v2_1.0_224_ptq", "mobilenet_v2_1.0_224_quant", "mobilenet_v1_0.25_128_quant"}) {
    std::filesystem::path model = folder / (name + std::string(".tflite"));
    if (!std::filesystem::exists(model))
      GTEST_SKIP() << "NO TEST DATA: " << model << " is not there (set LATHE_TEST_DATA)";
    PictureNotes notes = pictureNotes(model.string(), 0);
    EXPECT_EQ(notes.range, "0..255") << name;
    EXPECT_THAT(notes.mean, ElementsAre(127.5)) << name;
    EXPECT_THAT(notes.deviation, ElementsAre(127.5)) << name;
    ASSERT_EQ(notes.labels.size(), 1001u) << name;
    EXPECT_EQ(notes.labels[2], "goldfish, Carassius auratus") << name;
  }
}

TEST_F(Notes, OfOnnxProperties) {
  onnx::ModelProto model;
  auto add = [&](const char *key, const char *value) {
    auto *property = model.add_metadata_props();
    property->set_key(key);
    property->set_value(value);
  };
  EXPECT_EQ(written(model.SerializeAsString()).range, "");
  add("Image.BitmapPixelFormat", "Bgr8");
  add("Image.NominalPixelRange", "Normalized_1_1");
  PictureNotes notes = written(model.SerializeAsString());
  EXPECT_EQ(notes.range, "-1..1");
  EXPECT_EQ(notes.channels, "bgr");
  add("Image.NominalPixelRange", "NominalRange_16_235");
  EXPECT_THAT([&] { written(model.SerializeAsString()); },
              testing::ThrowsMessage<Error>(HasSubstr("Image.NominalPixelRange is 'NominalRange_16_235', expected")));
}

} // namespace
} // namespace lathe
