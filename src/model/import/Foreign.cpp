#include "import/Foreign.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace lathe {
namespace {

struct Kind {
  std::string_view mark; // first bytes; "": the name alone tells
  std::string_view end;  // of the name; "": any
  const char *text;
};

constexpr const char *picture = "is a picture, no model; give it as an input (--data, --calibration)";
constexpr const char *checkpoint =
    "is a part of a TensorFlow checkpoint, which has no graph to serve; write a SavedModel or a frozen graph";
constexpr const char *numpy = "is a NumPy array, no model; give it as an input (-i, --calibration)";

// Specific formats come first. A mark that a protobuf file could also begin with counts only with the file's ending.
constexpr std::array kinds = {
    Kind{"\x93NUMPY", "", numpy},
    Kind{"\x89PNG", "", picture},
    Kind{"\xff\xd8\xff", "", picture},
    Kind{"GIF8", "", picture},
    Kind{"BM", ".bmp", picture},
    Kind{"RIFF", ".webp", picture},
    Kind{"GGUF", "", "is a GGUF file: weights of a language model without its graph; export the model as ONNX"},
    Kind{"\x7f"
         "ELF",
         "", "is a program or a library, no model"},
    Kind{"%PDF", "", "is a PDF document, no model"},
    Kind{"\x1f\x8b", "", "is compressed by gzip; unpack it first"},
    Kind{"", ".meta", checkpoint},
    Kind{"", ".index", checkpoint},
    Kind{"", ".ckpt", checkpoint},
    Kind{"", ".py", "is a Python program, no model; run it and give what it writes"},
    Kind{"{", ".json", "is JSON: a TensorFlow.js model or a configuration without weights; convert the original model"},
    Kind{"<", ".xml", "is XML, such as an OpenVINO model; convert the original model"},
    Kind{"", ".mlmodel", "is a Core ML model; convert the original model"},
    Kind{"", ".engine", "is an engine of TensorRT, which only that runs; give the model that it was made of"},
    Kind{"version https://git-lfs.github.com/spec/", "",
         "is a pointer of Git LFS, not the file; fetch the file with git lfs pull"},
    Kind{"LATHEPKG", "", "is a compiled package, no model; give the model that it was made of"},
};

bool isSafetensors(std::string_view bytes) {
  uint64_t length = 0;
  if (bytes.size() < 10 || bytes[8] != '{')
    return false;
  std::memcpy(&length, bytes.data(), sizeof length);
  return length >= 2 && length <= bytes.size() - 8;
}

bool isPickle(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

/// Names the kind of a zip archive by its members; their names are in the local headers and again at the end.
const char *archive(std::string_view bytes) {
  constexpr size_t window = 1 << 16;
  std::string_view begin = bytes.substr(0, window), end = bytes.substr(bytes.size() - std::min(bytes.size(), window));
  auto has = [&](std::string_view name) { return begin.find(name) != begin.npos || end.find(name) != end.npos; };
  if (has("data.pkl"))
    return "is a PyTorch archive; load it in PyTorch and write ONNX with torch.onnx.export";
  if (has(".npy"))
    return "is a NumPy archive, no model; give it as inputs (-i, --calibration)";
  return "is a zip archive without a Keras model; unpack it and give the model inside";
}

} // namespace

std::string readFormats() {
  return "ONNX, TFLite, TensorFlow (frozen graph, SavedModel), Keras, textual IR (.mlir) and zoo:NAME";
}

std::string foreignFile(std::string_view path, std::string_view bytes) {
  if (bytes.starts_with("PK\x03\x04"))
    return archive(bytes);
  if (isPickle(bytes))
    return "is a Python pickle, such as an old PyTorch file; load it there and write ONNX (torch.onnx.export)";
  if (isSafetensors(bytes))
    return "has weights alone (safetensors); give the model, or the text that names this file";
  for (const Kind &kind : kinds)
    if (bytes.starts_with(kind.mark) && path.ends_with(kind.end))
      return kind.text;
  return "";
}

} // namespace lathe
