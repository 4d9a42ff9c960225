// Measurements of a store as the document of a page.
#pragma once

#include "report/PageData.h"

#include <functional>

namespace lathe::report {

/// Returns the ceilings of a platform by its key, or null.
using CeilingsOf = std::function<const lab::MachineCeilings *(const std::string &platform)>;

/// Reads what `filter` selects: experiments, points with their samples, and tuning records of the experiments
/// unless the filter names what such records do not have. An empty title becomes the kinds of the experiments.
/// Everything is of one moment, whatever other processes write meanwhile.
PageData collect(store::Store &store, const store::Filter &filter, PageHeader header, const CeilingsOf &ceilings);

} // namespace lathe::report
