// How far each point is from what its machine can do.
#pragma once

#include "lab/machine/Machine.h"
#include "report/Rows.h"

namespace lathe::report {

struct RooflineShare {
  const Row *row = nullptr;
  double gflops = 0, gbytesPerSecond = 0; // nominal operations, compulsory bytes
  double intensity = 0;                   // operations a byte
  std::optional<lab::Roofline> limit;     // none where the machine's ceilings are not known
};

/// Of the rows that count and whose operations and bytes are known. `ceilings`: of a platform by its key, null where
/// they are not known.
std::vector<RooflineShare>
rooflineShares(const std::vector<Row> &rows,
               const std::function<const lab::MachineCeilings *(const std::string &platform)> &ceilings);

/// Whether the ceilings of `machine` hold for a platform: the same processor with as many cores and threads.
bool isMachine(const store::Platform &platform, const lab::MachineCeilings &machine);

nlohmann::json toJson(const RooflineShare &share);

} // namespace lathe::report
