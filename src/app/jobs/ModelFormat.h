// Formats of model files, by their first bytes. Without the compiler.
#pragma once

#include <string>

namespace lathe::jobs {

/// True if the file begins like a package. Throws Error if it cannot be read, or if it is a folder without a SavedModel.
bool isPackage(const std::string &path);

/// "lathe" (a package), "tflite", "keras", "tensorflow" (a GraphDef), "savedmodel" (its file or folder), "text" (textual IR,
/// or a graph of TensorFlow as text), else "onnx", as runners name them (docs/runner-protocol.md). Throws Error as
/// isPackage does.
std::string modelFormat(const std::string &path);

/// Throws Error for the name of a file to write as ONNX that ends like another format's.
void requireOnnxName(const std::string &path);

} // namespace lathe::jobs
