// Decisions of the rows of `lathe sweep` on pictures.
#pragma once

#include "cli/sweep/Report.h"
#include "evaluate/Decisions.h"

namespace lathe::cli {

/// How many pictures a row decides right, and like the first row with decisions.
struct Decided {
  size_t labelled = 0, right = 0; // number of pictures with a class; number of right decisions among them
  size_t agreeing = 0;            // number of decisions that are equal to those of the first row with decisions
};
Decided decidedBy(const SweepRow &row, const Sweep &sweep);

struct ChangedDecision {
  size_t number = 0; // number of the picture
  std::string file;
  std::optional<size_t> label;
  size_t before = 0, now = 0; // classes decided by the first row with decisions, and by this row
};
std::vector<ChangedDecision> changedIn(const SweepRow &row, const Sweep &sweep);

/// The confusion matrix of a row: classes against decisions; nothing if no picture has a class.
std::optional<evaluate::Confusion> confusionOf(const SweepRow &row, const Sweep &sweep);

} // namespace lathe::cli
