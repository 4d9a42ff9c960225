// Reads the metadata of a file.
#pragma once

#include "import/tflite/Source.h"

#include <string>

namespace lathe::tflite {

/// Describes the model's origin: the description by the converter, the oldest runtime that can run it, and name,
/// version, author and licence from the author's metadata. Absent parts and damaged metadata are left out: no operator
/// needs them.
std::string producerOf(const file::Model &model);

} // namespace lathe::tflite
