// What the rows of `lathe sweep` decided on pictures.
#pragma once

#include "cli/sweep/Report.h"
#include "evaluate/Decisions.h"

namespace lathe::cli {

/// Counts of pictures.
struct Decided {
  size_t labelled = 0, right = 0; // with a class, and correct decisions
  size_t agreeing = 0;            // as the first row that decides
};
Decided decidedBy(const SweepRow &row, const Sweep &sweep);

struct ChangedDecision {
  size_t number = 0; // of the picture
  std::string file;
  std::optional<size_t> label;
  size_t before = 0, now = 0; // classes: of the first row that decides, and of this one
};
std::vector<ChangedDecision> changedIn(const SweepRow &row, const Sweep &sweep);

/// Classes against decisions; nothing where no picture has a class.
std::optional<evaluate::Confusion> confusionOf(const SweepRow &row, const Sweep &sweep);

} // namespace lathe::cli
