// Reads the metadata of a TFLite file.
#pragma once

#include "import/tflite/Source.h"

#include <string>

namespace lathe::tflite {

/// Returns a text about the origin of a TFLite model: the description by the converter, the oldest runtime that can
/// run it, and name, version, author and licence from the author's metadata. Absent parts and damaged metadata are
/// left out: no operator needs them.
std::string producerOf(const file::Model &model);

} // namespace lathe::tflite
