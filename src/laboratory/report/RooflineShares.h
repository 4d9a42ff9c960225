// The share of the roofline (the machine's limits on operations and bytes per second) that each point reaches.
#pragma once

#include "lab/machine/Machine.h"
#include "report/Rows.h"

namespace lathe::report {

struct RooflineShare {
  const Row *row = nullptr;
  double gflops = 0, gbytesPerSecond = 0; // nominal operations and compulsory bytes per second, in units of 1e9
  double intensity = 0;                   // operations per byte
  std::optional<lab::Roofline> limit;     // limit of the machine at this intensity; empty if its ceilings are unknown
};

/// The share of the roofline that one row reaches; empty unless the row counts (Row::counts) and its operations and
/// bytes are known. `machine` is null if the ceilings are unknown.
std::optional<RooflineShare> rooflineShare(const Row &row, const lab::MachineCeilings *machine);

/// The shares of the roofline of all rows that count (Row::counts) and whose operations and bytes are known.
/// `ceilings` returns the ceilings of a platform by its key, or null.
std::vector<RooflineShare>
rooflineShares(const std::vector<Row> &rows,
               const std::function<const lab::MachineCeilings *(const std::string &platform)> &ceilings);

/// True if the ceilings of `machine` apply to a platform: same processor, cores and threads.
bool isMachine(const store::Platform &platform, const lab::MachineCeilings &machine);

nlohmann::json toJson(const RooflineShare &share);

} // namespace lathe::report
