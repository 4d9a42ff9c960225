// How well learned cost models order measured schedules, and how many trials searchers need on tables of them
// (docs/tuning-models.md).
#include "Study.h"
#include "Times.h"

#include "codegen/testing/FactsTesting.h"
#include "lab/judging/Turns.h"
#include "tune/ModelSearcher.h"
#include "tune/ModelTable.h"
#include "tune/Replay.h"
#include "tune/Transfer.h"

namespace lathe::study {
namespace {

using namespace tune;

struct ModelStudy {
  std::vector<std::string> files, searchers;
  bool models = false, whole = false;
  std::string target = "native";
  uint64_t seed = 1;
  size_t seeds = 5, least = 60;
  double near = 0.05;
  ReplayOptions replay;
  LearnedModelOptions model;
};

// ---- Data ----

std::vector<MeasuredTask> readTasks(const ModelStudy &options) {
  Target target = Target::parse(options.target);
  std::vector<MeasuredTask> tasks;
  for (const std::string &name : options.files)
    for (const TimedKernel &kernel : kernelsIn(readJson(name))) {
      MeasuredTask task{kernel.label, kernel.text, {}, {}};
      auto read = std::make_shared<TaskFacts>(kernel.text, target);
      task.facts = {read, read->facts.get()};
      for (const TimedSchedule &timed : kernel.schedules)
        if (Schedule schedule = readSchedule(timed.schedule); legal(*task.facts, schedule))
          task.schedules.push_back({std::move(schedule), {timed.halves[0], timed.halves[1]}});
      tasks.push_back(std::move(task));
    }
  require(!tasks.empty(), "the files have no tasks");
  return tasks;
}

// ---- Models ----

void evaluateModels(const std::vector<MeasuredTask> &tasks, const ModelStudy &options) {
  std::vector<ModelQuality> all;
  for (HeldOut heldOut : {HeldOut::schedules, HeldOut::groups}) {
    EvaluationOptions split;
    split.heldOut = heldOut;
    split.seed = options.seed;
    for (ModelQuality &one : modelQualities(tasks, split, options.model))
      all.push_back(std::move(one));
  }
  fmt::print("{}", modelTable(all).str());
}

// ---- Searchers ----

struct SearchTable {
  const MeasuredTask *task;
  std::unique_ptr<TableSpace> table;
  std::unique_ptr<Space> whole; // with --whole: the space that the table is a part of
  std::function<double(const Point &)> secondsOf;

  const Space &space() const { return whole ? *whole : *table; }
};

SearchTable makeTable(const MeasuredTask &task, const ModelStudy &options) {
  SearchTable table{&task, std::make_unique<TableSpace>(*task.facts, task.schedules), nullptr, {}};
  if (!options.whole) {
    table.secondsOf = [space = table.table.get()](const Point &point) { return space->secondsOf(point); };
    return table;
  }
  std::vector<Schedule> schedules;
  for (const MeasuredSchedule &one : task.schedules)
    schedules.push_back(one.schedule);
  table.whole = std::make_unique<Space>(*task.facts, schedules);
  auto machine = std::make_shared<InterpolatedMachine>(*table.whole, task.schedules);
  table.secondsOf = [machine](const Point &point) { return machine->secondsOf(point); };
  return table;
}

/// Tables on which search matters: of enough points, few of them near the best one, and the median
/// more than 5 % above it.
std::vector<SearchTable> makeTables(const std::vector<MeasuredTask> &tasks, const ModelStudy &options) {
  std::vector<SearchTable> tables;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].schedules.size() < options.least)
      continue;
    SearchTable table = makeTable(tasks[i], options);
    std::vector<double> times;
    for (const MeasuredSchedule &one : tasks[i].schedules)
      if (auto point = table.table->point(one.schedule))
        times.push_back(table.table->secondsOf(*point) / table.table->leastSeconds());
    auto near = std::count_if(times.begin(), times.end(), [](double ratio) { return ratio <= 1.03; });
    if (table.table->size() >= options.least && double(near) <= options.near * double(times.size()) &&
        spreadOf(times).median > 1.05)
      tables.push_back(std::move(table));
  }
  return tables;
}

/// What a searcher starts from on the table of a task: as in `lathe tune`, a model of the other tasks of
/// its kernel family. `reversed`: what was fast counts as slow.
class OtherTasks {
public:
  OtherTasks(const std::string &searcher, std::vector<MeasuredTask> tasks, bool reversed, uint64_t seed) {
    std::optional<ModelKind> kind = modelKindOf(searcher);
    require(kind.has_value(), "searcher {} has no model", searcher);
    std::map<std::string, std::vector<MeasuredTask>> families;
    std::set<std::string> groups;
    for (MeasuredTask &task : tasks) {
      groups.insert(task.group);
      for (MeasuredSchedule &one : task.schedules)
        for (double &seconds : one.seconds)
          seconds = reversed ? 1 / seconds : seconds;
      families[task.facts->family].push_back(std::move(task));
    }
    for (auto &[family, own] : families)
      models.emplace(family, TransferModels(sampled(std::move(own), {}, seed), groups, *kind));
  }
  StartModel startOf(const MeasuredTask &task) {
    return [this, &task] { return models.at(task.facts->family).modelFor(task.group); };
  }

private:
  std::map<std::string, TransferModels> models; // by family
};

/// The trials of each seed on each table, of one searcher.
struct Searches {
  std::vector<std::vector<std::vector<double>>> seconds; // by table, by seed: of each trial
  double spent = 0;                                      // seconds of a search
};

Searches runSearcher(const std::string &name, const std::vector<SearchTable> &tables,
                     const std::vector<MeasuredTask> &tasks, const ModelStudy &options) {
  bool reversed = name.ends_with("-"), warm = reversed || name.ends_with("+");
  std::string searcher = warm ? name.substr(0, name.size() - 1) : name;
  std::optional<OtherTasks> others;
  if (warm)
    others.emplace(searcher, tasks, reversed, options.seed);
  Searches searches;
  double start = lab::steadySeconds();
  for (const SearchTable &table : tables) {
    ReplayOptions replaying = options.replay;
    replaying.enough = options.whole ? 0 : table.table->leastSeconds();
    searches.seconds.emplace_back();
    for (size_t i = 0; i < options.seeds; ++i)
      searches.seconds.back().push_back(replay(table.space(), table.secondsOf, searcher, options.seed + i, replaying,
                                               others ? others->startOf(*table.task) : StartModel()));
  }
  searches.spent = (lab::steadySeconds() - start) / double(tables.size() * options.seeds);
  return searches;
}

/// By table: the median over seeds of the trials until a time was within a share of the least known
/// one.
std::vector<double> trialsWithin(const Searches &searches, const std::vector<double> &least, double share) {
  std::vector<double> medians;
  for (size_t i = 0; i < least.size(); ++i) {
    std::vector<double> needed;
    for (const std::vector<double> &trials : searches.seconds[i])
      needed.push_back(trialsUntil(trials, least[i] * (1 + share)));
    medians.push_back(spreadOf(needed).median);
  }
  return medians;
}

std::string text(const Spread &spread) {
  return fmt::format("{:.0f} ({:.0f} to {:.0f})", spread.median, spread.low, spread.high);
}

/// The least time of each table: of the table, or of all searches where they are on the whole
/// space.
std::vector<double> leastTimes(const std::vector<SearchTable> &tables, const std::vector<Searches> &all,
                               const ModelStudy &options) {
  std::vector<double> least;
  for (size_t i = 0; i < tables.size(); ++i) {
    least.push_back(options.whole ? INFINITY : tables[i].table->leastSeconds());
    for (const Searches &searches : all)
      for (const std::vector<double> &trials : searches.seconds[i])
        for (double seconds : trials)
          least.back() = std::min(least.back(), seconds);
  }
  return least;
}

/// The best time after so many trials over the least known one: the geometric mean over tables and
/// seeds.
double bestAfter(const Searches &searches, const std::vector<double> &least, size_t trials) {
  double sum = 0, count = 0;
  for (size_t i = 0; i < least.size(); ++i)
    for (const std::vector<double> &seconds : searches.seconds[i]) {
      auto end = seconds.begin() + static_cast<ptrdiff_t>(std::min(trials, seconds.size()));
      sum += std::log(*std::min_element(seconds.begin(), end) / least[i]);
      ++count;
    }
  return std::exp(sum / count);
}

/// By searcher: trials until it is near the least known time, and how near it is after some trials.
void printSearchers(const std::vector<Searches> &all, const std::vector<double> &least,
                    const std::vector<std::vector<double>> &within3, const ModelStudy &options) {
  constexpr size_t after[] = {8, 16, 32, 64, 128};
  std::vector<std::string> titles = {"searcher", "within 3 %", "within 5 %", "worst table, 3 %", "over random, 3 %"};
  for (size_t trials : after)
    titles.push_back(fmt::format("best after {}", trials));
  titles.push_back("ms a search");
  MarkdownTable printed(titles);
  const std::vector<std::string> &names = options.searchers;
  auto random = static_cast<size_t>(std::find(names.begin(), names.end(), "random") - names.begin());
  for (size_t i = 0; i < all.size(); ++i) {
    std::vector<double> ratios;
    for (size_t table = 0; random < all.size() && table < least.size(); ++table)
      if (within3[random][table] < INFINITY)
        ratios.push_back(within3[i][table] / within3[random][table]);
    std::vector<std::string> cells = {names[i], text(spreadOf(within3[i])),
                                      text(spreadOf(trialsWithin(all[i], least, 0.05))),
                                      fmt::format("{:.0f}", *std::max_element(within3[i].begin(), within3[i].end())),
                                      fmt::format("{:.2f}", spreadOf(ratios).median)};
    for (size_t trials : after)
      cells.push_back(fmt::format("{:.3f}", bestAfter(all[i], least, trials)));
    cells.push_back(fmt::format("{:.0f}", all[i].spent * 1e3));
    printed.row(cells);
  }
}

void runSearchers(const std::vector<MeasuredTask> &tasks, const ModelStudy &options) {
  std::vector<SearchTable> tables = makeTables(tasks, options);
  require(!tables.empty(), "no table has {} points and at most a share of {} near its best", options.least,
          options.near);
  fmt::print("\n{} tables of at least {} points, of which at most {:.0f} % are within 3 % of the best{}; {} seeds, "
             "batches of {}; trials: median over tables of the median over seeds (quartiles over tables)\n\n",
             tables.size(), options.least, options.near * 100,
             options.whole ? "; whole spaces with interpolated times" : "", options.seeds, options.replay.batch);
  std::vector<Searches> all;
  for (const std::string &name : options.searchers)
    all.push_back(runSearcher(name, tables, tasks, options));
  std::vector<double> least = leastTimes(tables, all, options);
  std::vector<std::vector<double>> within3;
  for (const Searches &searches : all)
    within3.push_back(trialsWithin(searches, least, 0.03));
  printSearchers(all, least, within3, options);
  fmt::print("\n");
  std::vector<std::string> titles = {"table", "points"};
  titles.insert(titles.end(), options.searchers.begin(), options.searchers.end());
  MarkdownTable printed(titles);
  for (size_t i = 0; i < tables.size(); ++i) {
    std::vector<std::string> cells = {tables[i].task->label, std::to_string(tables[i].table->size())};
    for (const std::vector<double> &needed : within3)
      cells.push_back(fmt::format("{:.0f}", needed[i]));
    printed.row(cells);
  }
}

void judgeModels(const ModelStudy &options) {
  std::vector<MeasuredTask> tasks = readTasks(options);
  if (options.models || options.searchers.empty())
    evaluateModels(tasks, options);
  if (!options.searchers.empty())
    runSearchers(tasks, options);
}

} // namespace

void addModel(CLI::App &program) {
  static ModelStudy options;
  CLI::App &command = *program.add_subcommand(
      "model", "How well learned cost models order measured schedules, and how many trials searchers need on tables of "
               "them");
  command.add_option("FILE", options.files, "What `rank --json` wrote; kernels are read again from their text")
      ->required();
  command.add_flag(
      "--models", options.models,
      "State pairwise accuracy, peak@1, peak@5 and RMSE of each feature set and objective, with schedules and "
      "with whole tasks held out (default without --searchers)");
  addList(
      command, "--searchers", options.searchers,
      "State the trials until the best time is within 3 % and 5 % of the table's best; NAME+ starts from a model of "
      "other tasks as `lathe tune` does, NAME- from one of their times in reversed order");
  command.add_flag("--whole", options.whole, "Search whole spaces, with times interpolated from the tables");
  command.add_option("--trials", options.replay.trials, "Trials of a search, at most");
  command.add_option("--target", options.target, "Read the facts for this target: the CPU of the measurements");
  command.add_option("--seed", options.seed, "Seed of the first search and of the parts that are held out");
  command.add_option("--seeds", options.seeds, "Searches of each task and searcher");
  command.add_option("--least", options.least, "Points of a table, at least");
  command.add_option("--near", options.near, "Share of a table's points within 3 % of the best, at most");
  command.add_option("--batch", options.replay.batch, "Trials between reports to a searcher");
  command.add_option("--rounds", options.model.rounds, "Trees of the models of --models");
  command.add_option("--depth", options.model.depth, "Depth of the trees");
  command.add_option("--rate", options.model.rate, "Learning rate of the trees");
  command.callback([] { judgeModels(options); });
}

} // namespace lathe::study
