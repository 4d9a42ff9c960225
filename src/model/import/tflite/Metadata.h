// What a file says of itself.
#pragma once

#include "import/tflite/Source.h"

#include <string>

namespace lathe::tflite {

/// Who made the model: the converter's words, the oldest runtime that it is for, and name, version, author and licence
/// from the author's metadata; what is absent is left out. Metadata that is damaged is left out, too: no operator needs
/// it.
std::string producerOf(const file::Model &model);

} // namespace lathe::tflite
