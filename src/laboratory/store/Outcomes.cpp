#include "store/Outcomes.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace lathe::store {
namespace {

/// All fields except the experiment, which is missing in shipped records or may have been removed. The date comes
/// first.
auto identityOf(const TuningOutcome &o) {
  return std::tie(o.measured, o.verdict, o.status, o.reason, o.seconds, o.samples, o.searcher, o.buildSeconds,
                  o.runSeconds, o.version, o.build, o.disturbance.otherProcessors, o.disturbance.stolenProcessors);
}

struct ByIdentity {
  bool operator()(const TuningOutcome &a, const TuningOutcome &b) const { return identityOf(a) < identityOf(b); }
};

/// True if the outcome depends on what the schedule computes. Processes that were too slow or too large, and declined
/// schedules, depend on circumstances.
bool isDecisive(const TuningOutcome &o) {
  return o.status == PointStatus::passed || o.status == PointStatus::notVerified || o.status == PointStatus::failed ||
         o.status == PointStatus::crashed;
}

/// The last of the outcomes with the highest rank; outcomes are sorted by time.
template <class Rank> const TuningOutcome &lastOf(const std::vector<TuningOutcome> &outcomes, Rank rank) {
  return *std::max_element(outcomes.begin(), outcomes.end(),
                           [&](auto &a, auto &b) { return rank(a) < rank(b) || (rank(a) == rank(b) && &a < &b); });
}

const TuningOutcome &leadingOf(const std::vector<TuningOutcome> &outcomes) {
  return lastOf(outcomes, [](const TuningOutcome &o) {
    return o.verdict != TuningVerdict::open ? 2 : o.searcher.empty() ? 0 : 1;
  });
}

/// Median of the times of searches, or of all times if no search has measured one.
std::optional<double> secondsOf(const std::vector<TuningOutcome> &outcomes) {
  std::vector<double> all, ofSearches;
  for (const TuningOutcome &o : outcomes)
    if (o.seconds) {
      all.push_back(*o.seconds);
      if (!o.searcher.empty())
        ofSearches.push_back(*o.seconds);
    }
  std::vector<double> &times = ofSearches.empty() ? all : ofSearches;
  if (times.empty())
    return std::nullopt;
  std::sort(times.begin(), times.end());
  size_t half = times.size() / 2;
  return times.size() % 2 ? times[half] : (times[half - 1] + times[half]) / 2;
}

} // namespace

std::vector<TuningOutcome> outcomesOf(const TuningRecord &record) {
  return record.outcomes.empty() ? std::vector<TuningOutcome>{record} : record.outcomes;
}

TuningOutcome leadingOutcome(const TuningRecord &record) { return leadingOf(outcomesOf(record)); }

void setOutcomes(TuningRecord &record, std::vector<TuningOutcome> outcomes) {
  std::map<TuningOutcome, std::string, ByIdentity> known; // with their experiments
  for (const TuningOutcome &outcome : outcomes) {
    std::string &experiment = known.try_emplace(outcome, outcome.experiment).first->second;
    experiment = std::max(experiment, outcome.experiment);
  }
  outcomes.clear();
  for (const auto &[outcome, experiment] : known) {
    outcomes.push_back(outcome);
    outcomes.back().experiment = experiment;
  }
  TuningOutcome &summary = record;
  summary = leadingOf(outcomes);
  record.outcomes.clear();
  if (outcomes.size() == 1)
    return;
  const TuningOutcome &decisive = lastOf(outcomes, isDecisive);
  record.status = decisive.status;
  record.reason = decisive.reason;
  record.seconds.reset();
  record.samples.clear();
  if (decisive.seconds) {
    record.seconds = secondsOf(outcomes);
    for (const TuningOutcome &outcome : outcomes)
      record.samples.insert(record.samples.end(), outcome.samples.begin(), outcome.samples.end());
  } else {
    record.verdict = TuningVerdict::open;
  }
  record.outcomes = std::move(outcomes);
}

void merge(TuningRecord &record, const TuningRecord &other) {
  std::vector<TuningOutcome> all = outcomesOf(record), more = outcomesOf(other);
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  setOutcomes(record, std::move(all));
}

} // namespace lathe::store
