// Recognises TensorFlow files by the tags of their first fields. Without MLIR.
#pragma once

#include <string_view>

namespace lathe::tensorflow {

/// True if a file's bytes are a GraphDef or SavedModel in protobuf form.
bool isGraph(std::string_view bytes);
/// True if a file's bytes are a GraphDef or SavedModel in text form.
bool isGraphText(std::string_view bytes);
/// True if a file's bytes are a SavedModel, false if they are a GraphDef; in protobuf or text form.
bool isSavedModel(std::string_view bytes);

} // namespace lathe::tensorflow
