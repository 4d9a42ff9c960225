// Collects measurements of a store as the document that a report page shows.
#pragma once

#include "report/PageData.h"

#include <functional>

namespace lathe::report {

/// Function that returns the ceilings (peak rates and bandwidths) of the platform with this key; null if they are
/// unknown.
using CeilingsOf = std::function<const lab::MachineCeilings *(const std::string &platform)>;

/// Reads the experiments and points that `filter` selects, with their samples, and the tuning records of the
/// experiments, unless the filter uses fields that tuning records do not have. An empty title in `header` is replaced
/// by the kinds of the experiments. The data is a snapshot of one moment, even if other processes write.
PageData collect(store::Store &store, const store::Filter &filter, PageHeader header, const CeilingsOf &ceilings);

} // namespace lathe::report
