// Text and JSON of `lathe corun`.
#pragma once

#include "cli/flags/Options.h"
#include "jobs/corun/Corun.h"

namespace lathe::cli {

std::string corunText(const Corun &corun, const CorunJob &job, bool finished, const TableStyle &style);
nlohmann::json corunJson(const Corun &corun, const CorunJob &job, bool finished);

} // namespace lathe::cli
