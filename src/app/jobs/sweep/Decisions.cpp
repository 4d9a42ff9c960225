#include "cli/sweep/Decisions.h"

namespace lathe::cli {
namespace {

/// The row that the decisions of others are compared with; null: none decides.
const SweepRow *firstDecider(const Sweep &sweep) {
  for (const SweepRow &row : sweep.rows)
    if (!row.decisions.empty())
      return &row;
  return nullptr;
}

} // namespace

Decided decidedBy(const SweepRow &row, const Sweep &sweep) {
  Decided result;
  const SweepRow *first = firstDecider(sweep);
  for (size_t i = 0; i < row.decisions.size(); ++i) {
    const std::optional<size_t> &label = sweep.pictures.at(i).label;
    result.labelled += label.has_value();
    result.right += label == row.decisions[i];
    result.agreeing += row.decisions[i] == first->decisions.at(i);
  }
  return result;
}

std::vector<ChangedDecision> changedIn(const SweepRow &row, const Sweep &sweep) {
  std::vector<ChangedDecision> changed;
  const SweepRow *first = firstDecider(sweep);
  for (size_t i = 0; i < row.decisions.size(); ++i)
    if (size_t before = first->decisions.at(i); before != row.decisions[i])
      changed.push_back({i, sweep.pictures.at(i).path, sweep.pictures.at(i).label, before, row.decisions[i]});
  return changed;
}

std::optional<evaluate::Confusion> confusionOf(const SweepRow &row, const Sweep &sweep) {
  std::optional<evaluate::Confusion> result;
  for (size_t i = 0; i < row.decisions.size(); ++i)
    if (const std::optional<size_t> &label = sweep.pictures.at(i).label) {
      if (!result)
        result.emplace(row.classes);
      result->add(*label, row.decisions[i]);
    }
  return result;
}

} // namespace lathe::cli
