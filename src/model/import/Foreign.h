// Recognises files that users mistake for models and that Lathe does not read. Without MLIR.
#pragma once

#include <string>
#include <string_view>

namespace lathe {

/// The names of the formats that importModel reads, for error messages: "ONNX, TFLite, ...".
std::string readFormats();

/// Says what a file is, by its content or its name, and what to do with it: "is a PyTorch archive; write ONNX with
/// torch.onnx.export". Returns "" for unknown files. The caller must first rule out the formats that Lathe reads,
/// because some of them are zip archives or text as well.
std::string foreignFile(std::string_view path, std::string_view bytes);

} // namespace lathe
