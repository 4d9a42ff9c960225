// Reads what the metadata of a TFLite file states about pictures and classes.
#include "import/PictureNotes.h"
#include "import/tflite/tflite_generated.h" // of tflite.fbs

#include "support/Error.h"
#include "support/zip/Zip.h"

#include <algorithm>

namespace lathe::tflite {
namespace {

std::string textOf(const flatbuffers::String *text) { return text ? text->str() : std::string(); }

std::vector<double> numbersOf(const flatbuffers::Vector<float> *values) {
  return values ? std::vector<double>(values->begin(), values->end()) : std::vector<double>();
}

/// The flatbuffer of the metadata, as an aligned copy.
std::vector<uint8_t> metadataOf(const file::Model &model) {
  for (uint32_t i = 0; model.metadata() && model.buffers() && i < model.metadata()->size(); ++i) {
    const file::Metadata &entry = *model.metadata()->Get(i);
    if (textOf(entry.name()) == "TFLITE_METADATA" && entry.buffer() < model.buffers()->size())
      if (const auto *data = model.buffers()->Get(entry.buffer())->data())
        return {data->begin(), data->end()};
  }
  return {};
}

/// The lines of a file in the archive that follows the flatbuffer.
std::vector<std::string> linesOf(std::string_view bytes, const std::string &path, const std::string &name) {
  ZipArchive archive({bytes.data(), bytes.size()}, path, "an archive of labels", /*anywhere=*/true);
  const ZipMember *member = archive.find(name);
  require(member, "{}: its metadata names the labels '{}', which the archive behind it does not hold", path, name);
  std::vector<char> content = archive.contents(*member);
  std::string text(content.begin(), content.end());
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at - (end > at && text[end - 1] == '\r')));
    at = end + 1;
  }
  return lines;
}

} // namespace

PictureNotes pictureNotes(std::string_view bytes, const std::string &path, size_t number) {
  std::vector<uint64_t> aligned((bytes.size() + 7) / 8);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char *>(aligned.data()));
  const auto *begin = reinterpret_cast<const uint8_t *>(aligned.data());
  flatbuffers::Verifier whole(begin, bytes.size());
  require(whole.VerifyBuffer<file::Model>("TFL3"),
          "{}: is damaged: its tables are not inside of the file or not aligned", path);
  PictureNotes notes;
  std::vector<uint8_t> data = metadataOf(*file::GetModel(begin));
  if (data.empty())
    return notes;
  flatbuffers::Verifier verifier(data.data(), data.size());
  require(data.size() >= 8 && verifier.VerifyBuffer<file::Description>("M001"), "{}: its metadata is damaged", path);
  const auto *graphs = flatbuffers::GetRoot<file::Description>(data.data())->subgraphs();
  if (!graphs || graphs->size() == 0)
    return notes;
  const file::SubGraphDescription &graph = *graphs->Get(0);
  if (graph.inputs() && number < graph.inputs()->size()) {
    const auto *units = graph.inputs()->Get(static_cast<uint32_t>(number))->process_units();
    for (uint32_t i = 0; units && i < units->size(); ++i)
      if (const auto *how = units->Get(i)->options_as_Normalization()) {
        notes.range = "0..255";
        notes.mean = numbersOf(how->mean());
        notes.deviation = numbersOf(how->deviation());
      }
  }
  if (graph.outputs() && graph.outputs()->size() > 0) {
    const auto *files = graph.outputs()->Get(0)->files();
    for (uint32_t i = 0; files && i < files->size() && notes.labels.empty(); ++i)
      if (const file::AssociatedFile &labels = *files->Get(i); labels.kind() == file::FileKind::AXIS_LABELS)
        notes.labels = linesOf(bytes, path, textOf(labels.name()));
  }
  return notes;
}

} // namespace lathe::tflite
