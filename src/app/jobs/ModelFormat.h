// Recognises formats of model files by their first bytes. Without the compiler.
#pragma once

#include <string>

namespace lathe::jobs {

/// True if the file begins like a package of Lathe. Throws Error if it cannot be read, or if it is a folder without a
/// SavedModel.
bool isPackage(const std::string &path);

/// The format's name for runners (docs/runner-protocol.md): "lathe" (a package), "tflite", "keras", "tensorflow" (a
/// GraphDef), "savedmodel" (its file or folder), "text" (textual IR, or a TensorFlow graph as text), otherwise "onnx".
/// Throws Error like isPackage.
std::string modelFormat(const std::string &path);

/// Throws Error if the name of an ONNX output file has the extension of another format.
void requireOnnxName(const std::string &path);

} // namespace lathe::jobs
