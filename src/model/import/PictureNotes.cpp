#include "import/PictureNotes.h"

#include "support/File.h"

namespace lathe {

PictureNotes pictureNotes(const std::string &path, size_t number) {
  std::vector<char> file = readFile(path);
  std::string_view bytes(file.data(), file.size());
  bool tflite = bytes.size() >= 8 && bytes.substr(4, 4) == "TFL3";
  return tflite ? tflite::pictureNotes(bytes, path, number) : onnx::pictureNotes(bytes, path);
}

} // namespace lathe
