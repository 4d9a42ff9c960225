#include "export/onnx/Export.h"

#include "export/onnx/GraphWriter.h"
#include "export/onnx/SpellOut.h"
#include "support/PendingFile.h"

#include <climits>
#include <optional>
#include <unordered_map>

namespace lathe {
namespace {

constexpr int64_t externalAlignment = 64, smallestExternal = 1024;

int64_t constantBytes(mlir::ModuleOp module) {
  int64_t total = 0;
  module.walk([&](nn::ConstantOp constant) {
    auto type = constant.getValue().getShapedType();
    total += byteSize(nn::toElementType(type.getElementType()), type.getNumElements());
  });
  return total;
}

std::string serialized(const onnx::ModelProto &model) {
  require(model.ByteSizeLong() <= INT_MAX, "export: the model has {} bytes, a file without external data at most 2 GB",
          model.ByteSizeLong());
  std::string bytes;
  model.SerializeToString(&bytes);
  return bytes;
}

} // namespace

std::string exportOnnx(mlir::ModuleOp module) {
  auto copy = onnx::spelledOut(module);
  onnx::GraphWriter writer(copy ? *copy : module);
  return serialized(writer.write(INT64_MAX));
}

void requireOnnxForm(mlir::ModuleOp module, const std::string &model) {
  try {
    auto copy = onnx::spelledOut(module);
    onnx::GraphWriter(copy ? *copy : module).write(1);
  } catch (const Error &error) { // locations of textual models may have no file
    std::string text = error.what();
    fail("{}{}", text.find(model) == text.npos ? model + ": " : "", text);
  }
}

void exportOnnxFile(mlir::ModuleOp module, const std::string &path, const ExportOptions &options) {
  bool outside = constantBytes(module) > options.externalDataThreshold;
  require(!outside || !PendingFile::isStream(path),
          "{}: cannot take the model: its weights go to a second file beside it, expected the name of a file", path);
  auto copy = onnx::spelledOut(module);
  onnx::GraphWriter writer(copy ? *copy : module);
  onnx::ModelProto model = writer.write(outside ? smallestExternal : INT64_MAX);
  std::optional<PendingFile> dataFile;
  if (outside) {
    std::string dataPath = path + ".data";
    dataFile.emplace(dataPath);
    std::unordered_map<std::string, onnx::TensorProto *> tensors;
    for (onnx::TensorProto &tensor : *model.mutable_graph()->mutable_initializer())
      tensors[tensor.name()] = &tensor;
    int64_t offset = 0;
    for (const auto &[name, data] : writer.external) {
      std::string padding((externalAlignment - offset % externalAlignment) % externalAlignment, '\0');
      dataFile->write(padding.data(), padding.size());
      offset += static_cast<int64_t>(padding.size());
      onnx::TensorProto &tensor = *tensors.at(name);
      tensor.clear_raw_data();
      tensor.set_data_location(onnx::TensorProto::EXTERNAL);
      auto entry = [&](const char *key, const std::string &value) {
        auto *pair = tensor.add_external_data();
        pair->set_key(key);
        pair->set_value(value);
      };
      entry("location", std::filesystem::path(dataPath).filename().string());
      entry("offset", std::to_string(offset));
      entry("length", std::to_string(data.bytes.size()));
      dataFile->write(data.bytes.data(), data.bytes.size());
      offset += static_cast<int64_t>(data.bytes.size());
    }
    dataFile->close();
  }
  PendingFile file(path);
  std::string bytes = serialized(model);
  file.write(bytes.data(), bytes.size());
  file.close();
  if (dataFile)
    dataFile->commit();
  file.commit();
}

} // namespace lathe
