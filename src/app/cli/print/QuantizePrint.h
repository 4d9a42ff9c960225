// Text and JSON of `lathe quantize`.
#pragma once

#include "cli/flags/Options.h"
#include "jobs/quantize/QuantizeModel.h"

namespace lathe::cli {

std::string quantizedText(const Quantized &quantized, const QuantizeJob &flags);
nlohmann::json quantizedJson(const Quantized &quantized, const QuantizeJob &flags);

} // namespace lathe::cli
