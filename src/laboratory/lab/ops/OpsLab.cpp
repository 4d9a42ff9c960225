#include "lab/ops/OpsLab.h"

#include "lab/machine/DeclaredPeak.h"
#include "lab/ops/OpsRows.h"

#include <algorithm>

namespace lathe::lab {

void OpsLab::State::say(const RowInTurns &row, const std::string &what) const {
  if (!options.progress)
    return;
  double share = 0;
  for (const RowInTurns &other : begun)
    share += std::min(1.0, double(other.starts()) / options.minStarts);
  options.progress(row.row.listed.text + ": " + what, share);
}

RowInTurns::RowInTurns(OpsLab::State &state, OpsRequest request)
    : state(state), columns(state.columnsOf(request.listed.problem.op)) {
  row.listed = std::move(request.listed);
  row.setting = request.setting;
  state.choose(columns);
  state.hold(setting().resources);
  given = state.knownCase(problem());
  if (!given) {
    state.say(*this, "reference");
    given = state.newCase(problem());
  }
  row.points.resize(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    row.points[i].provider = columns[i].provider.name;
    row.points[i].variant = columns[i].variant;
    row.points[i].schedule = columns[i].schedule;
    sides.emplace_back(state, *this, i);
    state.say(*this, columns[i].name());
    sides[i].answer(std::span(row.points).first(i));
    // From now on it runs only in its turn: its spinning threads would slow down the others.
    if (auto &worker = state.contenders[i].worker)
      worker->pause();
  }
  if (state.options.checkOnly)
    return;
  TurnWatch watch;
  watch.decided = [this](const std::vector<size_t> &starts) {
    row.starts = starts;
    decide();
    return std::all_of(row.verdicts.begin(), row.verdicts.end(),
                       [](auto &verdict) { return verdict.decidedAfter > 0; });
  };
  TurnOptions options = state.options;
  options.fullSpeed = &state.speedOf(setting());
  std::vector<TimedSide *> pointers;
  for (Side &side : sides)
    pointers.push_back(&side);
  turns.emplace(std::move(pointers), std::move(options), std::move(watch));
}

bool RowInTurns::step() {
  if (!turns)
    return false;
  state.choose(columns);
  state.hold(setting().resources);
  if (starts() > 0)
    state.say(*this, fmt::format("start {}", starts() + 1));
  const FullSpeed &speed = state.speedOf(setting());
  size_t slow = speed.slow();
  double began = steadySeconds();
  DisturbanceMeter meter([this] { return state.cpuSeconds(); });
  bool more = turns->step();
  row.slowRounds += speed.slow() - slow;
  row.held = state.held.readBack();
  auto [others, stolen] = meter.read();
  double took = steadySeconds() - began;
  seconds += took;
  auto add = [&](std::optional<double> &sum, std::optional<double> processors) {
    if (processors)
      sum = sum.value_or(0) + *processors * took;
  };
  add(otherSeconds, others);
  add(stolenSeconds, stolen);
  return more;
}

OpsRow RowInTurns::finish() {
  if (turns) {
    row.starts = turns->starts();
    for (size_t i = 0; i < sides.size(); ++i)
      row.points[i].leftOut = sides[i].usedUp();
    decide();
    if (otherSeconds)
      row.otherProcessors = *otherSeconds / seconds;
    if (stolenSeconds)
      row.stolenProcessors = *stolenSeconds / seconds;
  }
  return std::move(row);
}

/// Limit on the operations per second of the column's machine; 0 for another machine, whose limit is unknown.
double RowInTurns::peakOf(const OpsColumn &column) const {
  std::optional<ElementType> type;
  if (!problem().operands.empty())
    type = problem().operands.front().type;
  return column.provider.remote ? declaredPeakAnywhere(setting().threads) : declaredPeak(type, setting().threads);
}

/// Mistrusts times that the machine cannot reach; these are not compared.
void RowInTurns::mistrustUnreachable() {
  for (size_t i = 0; i < columns.size(); ++i) {
    OpsPoint &point = row.points[i];
    if (!point.timed() || point.status != PointStatus::passed)
      continue;
    std::string reason = beyondReach(problem().flops(), point.time.median, peakOf(columns[i]));
    if (reason.empty())
      continue;
    point.status = PointStatus::mistrusted;
    point.reason = reason;
  }
}

/// Computes summaries of the times, and the verdicts of best against best.
void RowInTurns::decide() {
  std::map<std::string, size_t> best; // by provider
  for (size_t i = 0; i < row.points.size(); ++i) {
    OpsPoint &point = row.points[i];
    std::vector<double> pooled;
    for (auto &round : point.rounds)
      pooled.insert(pooled.end(), round.begin(), round.end());
    point.time = summarize(pooled);
  }
  mistrustUnreachable();
  for (size_t i = 0; i < row.points.size(); ++i) {
    const OpsPoint &point = row.points[i];
    if (!point.timed() || point.status != PointStatus::passed)
      continue;
    auto [found, isNew] = best.emplace(point.provider, i);
    if (!isNew && point.time.median < row.points[found->second].time.median)
      found->second = i;
  }
  auto earlier = std::move(row.verdicts);
  row.verdicts.clear();
  const std::string &us = row.points.front().provider;
  for (auto &[provider, index] : best) {
    if (provider == us || !best.count(us))
      continue;
    auto &mine = row.points[best[us]], &theirs = row.points[index];
    auto before = std::find_if(earlier.begin(), earlier.end(), [&](auto &one) { return one.peer == provider; });
    JudgedPair judged = judgePair({theirs.rounds, theirs.callSeconds}, {mine.rounds, mine.callSeconds}, row.starts,
                                  state.options, before == earlier.end() ? JudgedPair() : *before);
    row.verdicts.push_back({judged, provider, best[us], index});
  }
}

OpsLab::OpsLab(ColumnsOf columnsOf, OpsLabOptions options) : state(std::make_unique<State>()) {
  state->columnsOf = std::move(columnsOf);
  state->options = std::move(options);
}

OpsLab::OpsLab(std::vector<OpsColumn> columns, OpsLabOptions options)
    : OpsLab([columns = std::move(columns)](const std::string &) -> const std::vector<OpsColumn> & { return columns; },
             std::move(options)) {
  require(!state->columnsOf("").empty(), "no provider is given");
}

OpsLab::~OpsLab() { state->quitAll(); }

void OpsLab::measure(const std::function<std::optional<OpsRequest>()> &next, const std::function<void(OpsRow)> &done) {
  std::list<RowInTurns> &begun = state->begun;
  bool anyNext = true;
  auto room = [&] {
    double bytes = 0;
    for (const RowInTurns &row : begun)
      bytes += row.given->bytes;
    return begun.size() < rowsAtATime && bytes < bytesAtATime;
  };
  auto finish = [&](std::list<RowInTurns>::iterator row) {
    OpsRow finished = row->finish();
    begun.erase(row);
    done(std::move(finished));
  };
  while (true) {
    std::optional<OpsRequest> request;
    if (anyNext && room())
      anyNext = bool(request = next());
    if (request)
      begun.emplace_back(*state, std::move(*request));
    else if (begun.empty())
      return;
    else
      begun.splice(begun.end(), begun, begun.begin());
    auto row = std::prev(begun.end());
    bool late = state->options.late && row->starts() >= size_t(state->options.minStarts) && state->options.late();
    if (late || !row->step())
      finish(row);
  }
}

OpsRow OpsLab::measure(const ListedProblem &problem, const OpsSetting &setting) {
  std::optional<OpsRequest> request = OpsRequest{problem, setting};
  OpsRow measured;
  measure([&] { return std::exchange(request, std::nullopt); }, [&](OpsRow row) { measured = std::move(row); });
  return measured;
}

} // namespace lathe::lab
