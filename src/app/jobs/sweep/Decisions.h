// The results of a sweep: its rows, and what they decided on pictures.
#pragma once

#include "evaluate/Decisions.h"
#include "jobs/sweep/Timing.h"

namespace lathe::jobs {

/// Everything that is known of a sweep at present.
struct Sweep {
  std::vector<SweepRow> rows;
  SweepTiming timing;
  bool classifies = false; // true: the user gave --data
  /// Labels and files of the pictures that rows decide on, in order; empty without --data.
  std::vector<evaluate::LabelledPicture> pictures;
  std::vector<std::string> names; // names of the classes; empty: not known
};

/// The numbers of a row's decisions on pictures that are right, and that equal those of the first row with decisions.
struct Decided {
  size_t labelled = 0, right = 0; // number of pictures with a class; number of right decisions among them
  size_t agreeing = 0;            // number of decisions that equal those of the first row with decisions
};
Decided decidedBy(const SweepRow &row, const Sweep &sweep);

struct ChangedDecision {
  size_t number = 0; // number of the picture
  std::string file;
  std::optional<size_t> label;
  size_t before = 0, now = 0; // classes: decided by the first row with decisions; decided by this row
};
std::vector<ChangedDecision> changedIn(const SweepRow &row, const Sweep &sweep);

/// The confusion matrix of a row of the sweep: classes against decisions; nothing if no picture has a class.
std::optional<evaluate::Confusion> confusionOf(const SweepRow &row, const Sweep &sweep);

/// Points for the store of those rows that ran, with their times.
std::vector<store::Point> sweepPoints(const Sweep &sweep);

} // namespace lathe::jobs
