#include "jobs/sweep/Decisions.h"

#include "lab/StoreRecords.h"

namespace lathe::jobs {
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

namespace {

/// What the table of a sweep shows beside the time.
void addFigures(store::Point &point, const SweepRow &row, const Sweep &sweep) {
  if (!row.compiled.is_null()) {
    point.prepareSeconds = row.compiled.at("time_s").get<double>();
    point.figures["package_bytes"] = row.compiled.at("package_bytes");
    point.figures["original_bytes"] = row.compiled.at("original_bytes");
    point.figures["conversions"] = double(row.compiled.at("layouts").at("conversions").size());
    point.figures["references"] = double(row.compiled.at("references").size());
  }
  if (row.decisions.empty())
    return;
  auto pictures = double(row.decisions.size());
  point.figures["pictures"] = pictures;
  Decided decided = decidedBy(row, sweep);
  point.figures["agreeing"] = double(decided.agreeing) / pictures;
  if (decided.labelled)
    point.figures["top1"] = double(decided.right) / double(decided.labelled);
}

} // namespace

std::vector<store::Point> sweepPoints(const Sweep &sweep) {
  std::vector<store::Point> points;
  for (const SweepRow &row : sweep.rows) {
    if (!row.point)
      continue;
    store::Point point = *row.point;
    point.disturbance = sweep.timing.disturbance;
    addFigures(point, row, sweep);
    lab::setResources(point, row.resources.text(), row.held);
    if (row.timed()) {
      point.rounds = lab::samplesOf(row.rounds, row.counts);
      if (sweep.timing.starts.size() > 1)
        point.starts = sweep.timing.starts;
    } else if (row.ended) {
      point.status = store::PointStatus::crashed;
      point.reason = row.reason;
    }
    points.push_back(std::move(point));
  }
  return points;
}

} // namespace lathe::jobs
