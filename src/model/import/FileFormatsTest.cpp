#include "import/FileFormats.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

using namespace std::string_literals;

/// A local header of a zip archive, or an entry of its directory.
std::string header(const std::string &name, bool ofDirectory) {
  std::string bytes = (ofDirectory ? "PK\x01\x02"s : "PK\x03\x04"s) + std::string(ofDirectory ? 42 : 26, 0) + name;
  bytes[ofDirectory ? 28 : 26] = static_cast<char>(name.size());
  return bytes;
}

std::string keyOf(const std::string &path, const std::string &bytes) { return fileFormat(path, bytes).key; }

TEST(FileFormats, ByContent) {
  EXPECT_EQ(keyOf("m", "\x1c\0\0\0TFL3...."s), "tflite");
  EXPECT_EQ(keyOf("m", "\x89HDF\r\n\x1a\n...."s), "keras");
  EXPECT_EQ(keyOf("m.onnx", "func.func @main() { return }"), "text");
  EXPECT_EQ(keyOf("m.mlir", "func.func \x01"), "text") << "the parser says what is wrong";
  EXPECT_EQ(keyOf("m", "\x0a\x06\x0a\x04node"s), "tensorflow");
  EXPECT_EQ(keyOf("m", "\x08\x01\x12\x04\x0a\x02..."s), "savedmodel");
  EXPECT_EQ(keyOf("m", "\x08\x09\x12\x07pytorch"s), "onnx");
  EXPECT_EQ(keyOf("m", ""), "onnx");
  EXPECT_EQ(keyOf("m.onnx", "func.func \x01"), "onnx");
}

TEST(FileFormats, GraphsAsTextAreImportedAsGraphs) {
  const FileFormat &format = fileFormat("m.pbtxt", "node {\n}");
  EXPECT_STREQ(format.key, "text");
  EXPECT_STREQ(format.imports, "tensorflow");
  EXPECT_FALSE(format.takes.signature);
  EXPECT_TRUE(fileFormat("m.pbtxt", "saved_model_schema_version: 1\nmeta_graphs {\n}").takes.signature);
  EXPECT_STREQ(fileFormat("m", "module {\n}").imports, "text");
}

/// Other archives are not Keras files, whatever their members contain.
TEST(FileFormats, ArchivesByTheNamesOfMembers) {
  std::string config = header("config.json", false) + "{}", other = header("data.pkl", false) + "see config.json";
  EXPECT_EQ(keyOf("m", header("metadata.json", false) + "{}" + config), "keras");
  EXPECT_EQ(keyOf("m", header("metadata.json", false) + std::string(200000, 'x') + header("config.json", true)),
            "keras");
  EXPECT_EQ(keyOf("m", other), "onnx");
  EXPECT_EQ(keyOf("m", header("archive/config.json", false)), "onnx");
  EXPECT_EQ(keyOf("m", "PK\x03\x04"s), "onnx");
}

TEST(FileFormats, OptionsAreThoseOfTheFormat) {
  EXPECT_TRUE(fileFormat("m", "\x1c\0\0\0TFL3...."s).takes.requantizeRounding);
  EXPECT_TRUE(fileFormat("m", "\x08\x09\x12\x07pytorch"s).takes.overrides);
  EXPECT_FALSE(fileFormat("m", "\x08\x09\x12\x07pytorch"s).takes.custom);
  EXPECT_STREQ(fileFormat("m", "\x1c\0\0\0TFL3...."s).runner, "tflite");
}

} // namespace
} // namespace lathe
