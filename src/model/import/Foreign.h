// Files that people give for models and that are none Lathe reads. Without MLIR.
#pragma once

#include <string>
#include <string_view>

namespace lathe {

/// The formats that importModel reads, for errors: "ONNX, TFLite, ...".
std::string readFormats();

/// What a file is by its content or its name, and what to do with it: "is a PyTorch archive; write ONNX with
/// torch.onnx.export". "": nothing that is known. Files of the formats that Lathe reads are for the caller to tell first,
/// since some of them are zip archives or text as well.
std::string foreignFile(std::string_view path, std::string_view bytes);

} // namespace lathe
