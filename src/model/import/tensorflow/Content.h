// What kind of file some bytes are, by the tags of its first fields. Without MLIR.
#pragma once

#include <string_view>

namespace lathe::tensorflow {

/// GraphDef or SavedModel, as protobuf.
bool isGraph(std::string_view bytes);
/// GraphDef or SavedModel as text.
bool isGraphText(std::string_view bytes);
/// Tells a SavedModel from a GraphDef, as protobuf or as text.
bool isSavedModel(std::string_view bytes);

} // namespace lathe::tensorflow
