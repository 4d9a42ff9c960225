// Text and JSON of `lathe corun`.
#pragma once

#include "cli/flags/Options.h"
#include "jobs/corun/Corun.h"

namespace lathe::cli {

std::string corunText(const Corun &corun, const CorunJob &job, bool finished, const TableStyle &style);
nlohmann::json corunJson(const Corun &corun, const CorunJob &job, bool finished);
/// Times and rates of the runs of a move.
nlohmann::json runsJson(const lab::CorunRuns &runs, const CorunMove &move);
/// "1.43 (1.39 to 1.47)".
std::string ratioText(const lab::RatioEstimate &ratio);
/// "3 starts; WHAT, with its 95 % interval", or with its range if that is all there is.
std::string startsText(const lab::CorunResult &result, const std::string &what, const lab::RatioEstimate &ratio);
/// A warning if other programs computed; "".
std::string disturbanceText(const store::Disturbance &disturbance);

} // namespace lathe::cli
