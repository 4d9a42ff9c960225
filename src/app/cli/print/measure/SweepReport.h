// The report of `lathe sweep`.
#pragma once

#include "jobs/sweep/Decisions.h"

namespace lathe::cli {

/// "-O 3, native, 1 thread", with the model if there are several, and the layout if one was asked for; "tflite 2.14.0, 1
/// thread".
std::string rowText(const SweepRow &row, bool several);
bool severalModels(const Sweep &sweep);
/// The model of a row as text: "zoo:resnet50", or the name of the file.
std::string shownModel(const SweepRow &row);

/// The rows as a table: one line for each row of the sweep.
Table sweepTable(const Sweep &sweep);

/// The report as text: the table, the operators without kernels with their shares of the time, and the reasons for
/// missing times.
std::string sweepText(const Sweep &sweep, const TableStyle &style);
nlohmann::json sweepJson(const Sweep &sweep, bool finished);

} // namespace lathe::cli
