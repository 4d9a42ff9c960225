// The results of a sweep's row as a file: each step of a row runs in a separate process, which writes its results
// there.
#pragma once

#include "jobs/sweep/Rows.h"

#include <string>

namespace lathe::jobs {

/// Adds to `row` the results in a file that writeRow has written. Returns false if the file is missing or incomplete.
bool readRow(SweepRow &row, const std::string &file);
/// Writes the results of preparing and classifying a row to a file; either the whole file or nothing.
void writeRow(const SweepRow &row, const std::string &file);

} // namespace lathe::jobs
