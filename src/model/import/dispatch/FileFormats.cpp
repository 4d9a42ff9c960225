#include "import/FileFormats.h"

#include "import/SavedModel.h"
#include "import/tensorflow/Content.h"

#include <algorithm>
#include <fstream>

namespace lathe {
namespace {

constexpr size_t window = 1 << 16; // bytes at both ends of a zip archive that name its members

/// True if the archive has a member called `name`: its local header or the directory at the end says so (APPNOTE.TXT,
/// sections 4.3.7 and 4.3.12).
bool hasMember(std::string_view archive, std::string_view name) {
  auto named = [&](std::string_view part, size_t at, std::string_view mark, size_t length, size_t header) {
    if (at < header || !part.substr(at - header).starts_with(mark))
      return false;
    part.remove_prefix(at - header + length); // to the name's length in two bytes
    return static_cast<unsigned char>(part[0]) == name.size() && part[1] == 0;
  };
  for (std::string_view part :
       {archive.substr(0, window), archive.substr(archive.size() - std::min(archive.size(), window))})
    for (size_t at = part.find(name); at != part.npos; at = part.find(name, at + 1))
      if (named(part, at, "PK\x03\x04", 26, 30) || named(part, at, "PK\x01\x02", 28, 46))
        return true;
  return false;
}

bool isText(std::string_view bytes) {
  return !bytes.empty() && std::all_of(bytes.begin(), bytes.begin() + std::min<size_t>(bytes.size(), 4096),
                                       [](unsigned char c) { return c >= 32 || c == '\n' || c == '\t' || c == '\r'; });
}

using Bytes = std::string_view;

constexpr FileFormat formats[] = {
    // The parser reports what is wrong in the text.
    {"text", "text", [](std::string_view path, Bytes) { return path.ends_with(".mlir"); }},
    // The identifier follows the first offset of a flatbuffer.
    {"tflite",
     "tflite",
     [](std::string_view, Bytes bytes) { return bytes.size() >= 8 && bytes.substr(4, 4) == "TFL3"; },
     {.requantizeRounding = true, .signature = true},
     "tflite"},
    {"keras",
     "keras",
     [](std::string_view, Bytes bytes) {
       return bytes.starts_with("\x89HDF\r\n\x1a\n") ||
              (bytes.starts_with("PK\x03\x04") && hasMember(bytes, "config.json"));
     },
     {.custom = true}},
    {"text",
     "tensorflow",
     [](std::string_view, Bytes bytes) { return tensorflow::isGraphText(bytes) && tensorflow::isSavedModel(bytes); },
     {.signature = true}},
    {"text", "tensorflow", [](std::string_view, Bytes bytes) { return tensorflow::isGraphText(bytes); }},
    {"text", "text", [](std::string_view, Bytes bytes) { return isText(bytes); }},
    {"savedmodel",
     "tensorflow",
     [](std::string_view, Bytes bytes) { return tensorflow::isGraph(bytes) && tensorflow::isSavedModel(bytes); },
     {.signature = true}},
    {"tensorflow", "tensorflow", [](std::string_view, Bytes bytes) { return tensorflow::isGraph(bytes); }},
    {"onnx", "onnx", [](std::string_view, Bytes) { return true; }, {.overrides = true}}};

} // namespace

const FileFormat &fileFormat(std::string_view path, std::string_view bytes) {
  return *std::find_if(std::begin(formats), std::end(formats),
                       [&](const FileFormat &format) { return format.matches(path, bytes); });
}

std::string beginningOf(const std::string &path) {
  std::string inner = savedModelFile(path);
  std::ifstream stream(inner.empty() ? path : inner, std::ios::binary | std::ios::ate);
  auto size = static_cast<std::streamoff>(stream.tellg());
  auto read = [&](std::streamoff from) {
    std::string part(window, 0);
    stream.seekg(from);
    stream.read(part.data(), window);
    part.resize(static_cast<size_t>(stream.gcount()));
    stream.clear();
    return part;
  };
  if (size <= 0)
    return "";
  std::string bytes = read(0);
  return bytes.starts_with("PK") && size > std::streamoff(window) ? bytes + read(size - std::streamoff(window)) : bytes;
}

} // namespace lathe
