// The report of `lathe sweep`.
#pragma once

#include "cli/sweep/Timing.h"

namespace lathe::cli {

/// A whole sweep: its rows, and the data that they share.
struct Sweep {
  std::vector<SweepRow> rows;
  SweepTiming timing;
  bool classifies = false; // true if --data was given
  /// Each picture that rows decide on, in order, with its label and file; empty without --data.
  std::vector<evaluate::LabelledPicture> pictures;
  std::vector<std::string> names; // names of the classes; empty: unknown
};

/// What a row is, as text: "-O 3, native, 1 thread", with the model if there are several, and the layout if one was
/// requested; "tflite 2.14.0, 1 thread".
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
/// Points for the store: one for each row that ran, with its times.
std::vector<store::Point> sweepPoints(const Sweep &sweep);

} // namespace lathe::cli
