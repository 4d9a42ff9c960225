#include "lab/runners/tflite/Names.h"

#include "import/tflite/tflite_generated.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/UniqueNames.h"

#include <climits>

namespace lathe::tflite_native {
namespace {

namespace file = tflite::file;

template <class Vector> size_t sizeOf(const Vector *vector) { return vector ? vector->size() : 0; }

std::string textOf(const flatbuffers::String *text) { return text ? text->str() : std::string(); }

/// The names of the tensors of `graph` by number.
std::vector<std::string> tensorNames(const file::Model &model, const file::SubGraph &graph) {
  UniqueNames unique("_");
  std::vector<std::string> names(sizeOf(graph.tensors()));
  const file::Signature *first = nullptr;
  for (unsigned i = 0; i < sizeOf(model.signatures()) && !first; ++i)
    if (model.signatures()->Get(i)->graph() == 0)
      first = model.signatures()->Get(i);
  if (first)
    for (const auto *aliases : {first->inputs(), first->outputs()})
      for (unsigned i = 0; i < sizeOf(aliases); ++i) {
        const file::TensorAlias &alias = *aliases->Get(i);
        if (std::string name = textOf(alias.name());
            !name.empty() && alias.tensor() < names.size() && names[alias.tensor()].empty())
          names[alias.tensor()] = unique.take(name);
      }
  for (unsigned i = 0; i < names.size(); ++i)
    if (names[i].empty()) {
      std::string own = textOf(graph.tensors()->Get(i)->name());
      names[i] = unique.take(own.empty() ? fmt::format("tensor{}", i) : own);
    }
  return names;
}

} // namespace

PortNames portNames(const std::string &path) {
  std::vector<char> bytes = readFile(path);
  const auto *begin = reinterpret_cast<const uint8_t *>(bytes.data());
  require(bytes.size() <= INT_MAX, "{}: has {} bytes, expected at most 2 GB", path, bytes.size());
  flatbuffers::Verifier verifier(begin, bytes.size());
  require(verifier.VerifyBuffer<file::Model>("TFL3"), "{}: is no TensorFlow Lite file, or damaged", path);
  const file::Model &model = *file::GetModel(begin);
  require(sizeOf(model.subgraphs()) > 0, "{}: has no subgraph", path);
  const file::SubGraph &graph = *model.subgraphs()->Get(0);
  std::vector<std::string> names = tensorNames(model, graph);
  PortNames ports;
  auto take = [&](const flatbuffers::Vector<int32_t> *indices, std::vector<std::string> &list) {
    for (unsigned i = 0; i < sizeOf(indices); ++i) {
      int32_t index = indices->Get(i);
      require(index >= 0 && size_t(index) < names.size(), "{}: names tensor {}, expected one below {}", path, index,
              names.size());
      list.push_back(names[size_t(index)]);
    }
  };
  take(graph.inputs(), ports.inputs);
  take(graph.outputs(), ports.outputs);
  return ports;
}

} // namespace lathe::tflite_native
