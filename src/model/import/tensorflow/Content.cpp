#include "import/tensorflow/Content.h"

#include <algorithm>

namespace lathe::tensorflow {
namespace {

constexpr std::string_view blanks = " \t\r\n";

/// Skips blanks and comments at the beginning of a text.
std::string_view behindComments(std::string_view text) {
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    if (!text.starts_with('#'))
      return text;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
}

/// The position behind the varint that begins at `at`.
size_t behindNumber(std::string_view bytes, size_t at) {
  while (at < bytes.size() && static_cast<unsigned char>(bytes[at]) & 128)
    ++at;
  return at + 1;
}

/// True if the field at `at` holds a message whose first field is a message or a text.
bool isMessage(std::string_view bytes, size_t at) {
  size_t content = behindNumber(bytes, at + 1);
  return content < bytes.size() && bytes[content] == 0x0a;
}

} // namespace

bool isGraphText(std::string_view bytes) {
  bytes = behindComments(bytes);
  for (std::string_view word : {"node", "library", "versions", "version", "meta_graphs", "saved_model_schema_version"})
    if (bytes.starts_with(word)) {
      size_t next = bytes.find_first_not_of(blanks, word.size());
      if (next != std::string_view::npos && (bytes[next] == '{' || bytes[next] == ':'))
        return true;
    }
  return false;
}

/// An ONNX model begins with its version (field 1, a number), then often its producer (field 2, a text). A
/// GraphDef begins with a node (field 1, a message). A SavedModel begins with a number as well, but its field 2
/// is a message.
bool isGraph(std::string_view bytes) {
  if (bytes.empty())
    return false;
  size_t at = bytes[0] == 0x08 ? behindNumber(bytes, 1) : 0;
  if (bytes[0] == 0x0a || at >= bytes.size())
    return bytes[0] == 0x0a;
  return bytes[at] == 0x12 && isMessage(bytes, at);
}

bool isSavedModel(std::string_view bytes) {
  if (!isGraphText(bytes)) // its version or graphs; a GraphDef begins with a node or the library
    return bytes.starts_with('\x08') || bytes.starts_with('\x12');
  bytes = behindComments(bytes);
  return bytes.starts_with("saved_model") || bytes.starts_with("meta_graphs");
}

} // namespace lathe::tensorflow
