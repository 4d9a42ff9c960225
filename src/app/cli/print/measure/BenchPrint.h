// Text and JSON of `lathe bench`.
#pragma once

#include "cli/flags/Options.h"
#include "jobs/bench/Bench.h"
#include "jobs/bench/Instances.h"

namespace lathe::cli {

/// "" if outputs are mistrusted.
std::string benchText(const Bench &bench, const BenchJob &job, const TableStyle &style);
nlohmann::json benchJson(const Bench &bench, const BenchJob &job, bool finished);

/// "" if outputs are mistrusted.
std::string instancesText(const InstancesBench &bench, const BenchJob &job, const TableStyle &style);
nlohmann::json instancesJson(const InstancesBench &bench, const BenchJob &job, bool finished);

} // namespace lathe::cli
