#include "import/tflite/Metadata.h"

namespace lathe::tflite {
namespace {

/// The bytes of the metadata called `name`; empty if there are none.
std::vector<uint8_t> metadata(const file::Model &model, std::string_view name) {
  for (uint32_t i = 0; model.metadata() && i < model.metadata()->size(); ++i) {
    const file::Metadata &entry = *model.metadata()->Get(i);
    uint32_t buffers = model.buffers() ? model.buffers()->size() : 0;
    if (textOf(entry.name()) != name || entry.buffer() >= buffers)
      continue;
    if (const auto *data = model.buffers()->Get(entry.buffer())->data())
      return {data->begin(), data->end()}; // an aligned copy
  }
  return {};
}

} // namespace

std::string producerOf(const file::Model &model) {
  std::string result = textOf(model.description());
  auto add = [&](std::string_view label, const std::string &text) {
    if (!text.empty())
      result += fmt::format("{}{}{}", result.empty() ? "" : ", ", label, text);
  };
  std::vector<uint8_t> runtime = metadata(model, "min_runtime_version");
  std::string version(runtime.begin(), runtime.end());
  add("for TensorFlow Lite ", version.substr(0, version.find('\0')));
  std::string keys;
  for (uint32_t i = 0; model.signatures() && i < model.signatures()->size(); ++i)
    keys += (keys.empty() ? "" : " ") + textOf(model.signatures()->Get(i)->key());
  if (model.signatures() && model.signatures()->size() > 1)
    add("signatures: ", keys);
  std::vector<uint8_t> bytes = metadata(model, "TFLITE_METADATA");
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  if (bytes.size() < 8 || !verifier.VerifyBuffer<file::Description>("M001"))
    return result;
  const auto &described = *flatbuffers::GetRoot<file::Description>(bytes.data());
  add("", textOf(described.name()));
  add("version ", textOf(described.version()));
  add("by ", textOf(described.author()));
  add("licence: ", textOf(described.license()));
  return result;
}

} // namespace lathe::tflite
