#include "lab/ops/OpsLab.h"

#include "lab/machine/DeclaredPeak.h"
#include "lab/ops/OpsRows.h"
#include "support/Text.h"

#include <algorithm>
#include <numeric>

namespace lathe::lab {

void OpsLab::State::say(const RowInTurns &row, const std::string &what) const {
  if (!options.progress)
    return;
  double share = 0;
  for (const RowInTurns &other : begun)
    share += std::min(1.0, double(other.starts()) / options.minStarts);
  options.progress(row.row.listed.text + ": " + what, share);
}

Companion &OpsLab::State::companionOf(const OpsBeside &what) {
  std::string key = what.company.str();
  auto found = companions.find(key);
  if (found == companions.end()) {
    auto given = knownCase(what.problem);
    found = companions.try_emplace(key, *this, what, given ? given : newCase(what.problem)).first;
  }
  return found->second;
}

std::map<std::string, double> OpsPoint::figures() const {
  std::map<std::string, double> figures;
  if (predictedCycles > 0)
    figures["predicted_cycles"] = predictedCycles;
  if (company.empty() || !timed())
    return figures;
  double seconds = 0;
  for (const std::vector<double> &round : rounds)
    seconds += std::accumulate(round.begin(), round.end(), 0.0);
  auto runs = double(std::accumulate(besideRuns.begin(), besideRuns.end(), int64_t(0)));
  figures["companion_runs"] = runs;
  figures["companion_rate"] = runs / seconds;
  return figures;
}

std::vector<OpsPoint> pointsToMeasure(const std::vector<OpsColumn> &columns, const OpsSetting &setting) {
  std::vector<OpsPoint> points;
  for (size_t company = 0; company <= setting.beside.size(); ++company)
    for (const OpsColumn &column : columns) {
      OpsPoint &point = points.emplace_back();
      point.provider = column.provider.name;
      point.variant = column.variant;
      point.schedule = column.schedule;
      if (company)
        point.company = setting.beside[company - 1].company;
    }
  return points;
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
  ++state.start;
  row.points = pointsToMeasure(columns, setting());
  for (size_t i = 0; i < row.points.size(); ++i) {
    size_t column = i % columns.size(), company = i / columns.size();
    sides.emplace_back(state, *this, i, company ? &state.companionOf(setting().beside[company - 1]) : nullptr);
    state.say(*this, columns[column].name());
    sides[i].answer(std::span(row.points).first(company ? 0 : i));
    // From now on it runs only in its turn: its spinning threads would slow down the others.
    if (auto &worker = state.contenders[column].worker)
      worker->pause();
  }
  if (state.options.checkOnly)
    return;
  TurnWatch watch;
  watch.decided = [this](const std::vector<size_t> &starts) {
    row.starts = starts;
    decide();
    auto isDecided = [](const JudgedPair &pair) { return pair.decidedAfter > 0; };
    return std::all_of(row.verdicts.begin(), row.verdicts.end(), isDecided) &&
           std::all_of(row.slowDowns.begin(), row.slowDowns.end(), isDecided);
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
  ++state.start;
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
  for (size_t i = 0; i < row.points.size(); ++i) {
    OpsPoint &point = row.points[i];
    if (!point.timed() || point.status != PointStatus::passed)
      continue;
    std::string reason = beyondReach(problem().flops(), point.time.median, peakOf(columns[i % columns.size()]));
    if (reason.empty())
      continue;
    point.status = PointStatus::mistrusted;
    point.reason = reason;
  }
}

/// Mistrusts times in company of a companion that ended too few runs within the timed runs of a start.
void RowInTurns::mistrustLonely() {
  for (OpsPoint &point : row.points) {
    if (point.company.empty() || !point.timed() || point.status != PointStatus::passed)
      continue;
    auto round = point.besideRuns.begin();
    for (size_t rounds : startsWithin(row.starts, point.rounds.size())) {
      int64_t runs = std::accumulate(round, round + std::ptrdiff_t(rounds), int64_t(0));
      round += std::ptrdiff_t(rounds);
      if (runs >= point.company.leastRuns)
        continue;
      point.status = PointStatus::mistrusted;
      point.reason = fmt::format("{} of the companion ended within the timed runs of a start, expected at least {} "
                                 "(--beside-runs): too little time in company",
                                 counted(runs, "run"), point.company.leastRuns);
      break;
    }
  }
}

/// Judges the slow-downs by company.
void RowInTurns::compareWithCompany() {
  auto earlier = std::move(row.slowDowns);
  row.slowDowns.clear();
  for (size_t i = columns.size(); i < row.points.size(); ++i) {
    size_t alone = i % columns.size();
    const OpsPoint &together = row.points[i], &before = row.points[alone];
    auto counts = [](const OpsPoint &point) { return point.timed() && point.status == PointStatus::passed; };
    if (!counts(together) || !counts(before))
      continue;
    auto known = std::find_if(earlier.begin(), earlier.end(), [&](auto &one) { return one.together == i; });
    JudgedPair judged = judgePair({together.rounds, together.callSeconds}, {before.rounds, before.callSeconds},
                                  row.starts, state.options, known == earlier.end() ? JudgedPair() : *known);
    row.slowDowns.push_back({judged, i, alone});
  }
}

/// Computes summaries of the times, the verdicts of best against best, and the slow-downs.
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
  mistrustLonely();
  compareWithCompany();
  for (size_t i = 0; i < columns.size(); ++i) { // of columns alone
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
