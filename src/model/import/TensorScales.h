// Scales of the tensors inside a quantised model.
#pragma once

#include "import/Import.h"
#include "support/Quantization.h"

#include <map>
#include <string>

namespace lathe {

/// The quantisation of the first result of each node, by the node's name, for the main subgraph of a TFLite file. Empty
/// for other formats, whose quantised values are integers between QuantizeLinear and DequantizeLinear. Throws Error if
/// the file cannot be read.
std::map<std::string, Quantization> tensorScales(const std::string &path, const ImportOptions &options = {});

} // namespace lathe
