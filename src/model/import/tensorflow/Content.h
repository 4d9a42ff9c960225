// Recognises TensorFlow files by the tags of their first fields. Without MLIR.
#pragma once

#include <string_view>

namespace lathe::tensorflow {

/// True for a GraphDef or SavedModel in protobuf form.
bool isGraph(std::string_view bytes);
/// True for a GraphDef or SavedModel in text form.
bool isGraphText(std::string_view bytes);
/// True for a SavedModel and false for a GraphDef, in protobuf or text form.
bool isSavedModel(std::string_view bytes);

} // namespace lathe::tensorflow
