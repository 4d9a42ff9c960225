// The results of a row as a file: each step of a row runs in a process of its own and leaves its results there.
#pragma once

#include "jobs/sweep/Rows.h"

#include <string>

namespace lathe::jobs {

/// Adds to `row` what writeRow has written. Returns false where the file does not exist or is not whole.
bool readRow(SweepRow &row, const std::string &file);
/// Writes the results of preparing and classifying, whole or not at all.
void writeRow(const SweepRow &row, const std::string &file);

} // namespace lathe::jobs
