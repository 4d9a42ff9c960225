// Tables that show the analyses of src/laboratory/report as text.
#pragma once

#include "jobs/ops/Analyze.h"
#include "report/Diff.h"
#include "support/Table.h"

namespace lathe::cli {

/// The tables of an analysis that has figures. Each has at most `style.rows` rows.
std::string tablesOf(const jobs::Finding &finding, const TableStyle &style);
/// Table of the differences of two sets of measurements; with `all` also of equal points.
std::string diffText(const report::Diff &diff, bool all, const TableStyle &style);

} // namespace lathe::cli
