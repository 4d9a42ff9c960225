#include "import/Foreign.h"

#include <gmock/gmock.h>

namespace lathe {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Foreign, KnownFilesSayWhatToDo) {
  using namespace std::string_literals;
  EXPECT_THAT(foreignFile("net.pt", "PK\x03\x04....archive/data.pkl...."s), HasSubstr("torch.onnx.export"));
  EXPECT_THAT(foreignFile("a.npz", "PK\x03\x04....x.npy...."s), HasSubstr("NumPy archive"));
  EXPECT_THAT(foreignFile("a.zip", "PK\x03\x04....readme...."s), HasSubstr("zip archive"));
  EXPECT_THAT(foreignFile("x.pkl", "\x80\x04\x95\x10"s), HasSubstr("pickle"));
  EXPECT_THAT(foreignFile("x.npy", "\x93NUMPY\x01"s), HasSubstr("NumPy array"));
  EXPECT_THAT(foreignFile("x", "\x89PNG\r\n"s), HasSubstr("picture"));
  EXPECT_THAT(foreignFile("net.py", "import torch\n"s), HasSubstr("Python program"));
  EXPECT_THAT(foreignFile("model.ckpt.meta", "\x0a\x05"s), HasSubstr("checkpoint"));
  EXPECT_THAT(foreignFile("w.safetensors", "\x02\0\0\0\0\0\0\0{}"s), HasSubstr("weights alone"));
  EXPECT_THAT(foreignFile("model.json", "{\"a\": 1}"s), HasSubstr("JSON"));
  EXPECT_THAT(foreignFile("net.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 17\n"s),
              HasSubstr("pointer of Git LFS"));
  EXPECT_THAT(readFormats(), StartsWith("ONNX, TFLite"));
}

/// Bytes that an ONNX file may begin with are not recognised as another format, nor are truncated files.
TEST(Foreign, OtherFilesAreUnknown) {
  using namespace std::string_literals;
  for (const std::string &bytes : {"\x08\x09\x12\x07pytorch"s, "BM\x0a\x00"s, ""s, "P"s, "\x80"s, "module {\n}"s})
    EXPECT_EQ(foreignFile("model.onnx", bytes), "") << bytes;
}

} // namespace
} // namespace lathe
