#include "jobs/tune/GraphTuning.h"

#include "jobs/Self.h"
#include "jobs/tune/TaskList.h"
#include "jobs/tune/TrialRecords.h"
#include "lab/judging/Turns.h"
#include "runtime/Context.h"

namespace lathe::jobs {
namespace {

/// For each kernel, whether a batch passes it image by image; empty if the extents follow from inputs.
std::vector<bool> ordersOf(const std::string &package, int threads) {
  runtime::Context context(runtime::Model::load(package), {.threads = threads});
  std::vector<bool> orders;
  try {
    (void)context.outputDims(0);
  } catch (const Error &) {
    return orders;
  }
  for (size_t i = 0; i < context.instructionCount(); ++i)
    orders.push_back(context.instruction(i).imageByImage);
  return orders;
}

/// Number of kernels that a batch passes in another order.
int otherOrders(const std::string &one, const std::string &other, int threads) {
  std::vector<bool> here = ordersOf(one, threads), there = ordersOf(other, threads);
  int count = 0;
  for (size_t i = 0; i < std::min(here.size(), there.size()); ++i)
    count += here[i] != there[i];
  return count;
}

} // namespace

GraphTuning::GraphTuning(const ModelOptions &model, const CompileOptions &compiling, Recording &recording,
                         const Beside *beside)
    : model(model), compiling(compiling), recording(recording), beside(beside) {
  if (recording.store())
    known = graphRecords(*recording.store(), recording.platformKey(), companyOf(beside));
}

MeasuredTimes GraphTuning::times() const {
  auto seconds = std::make_shared<std::map<std::pair<std::string, std::string>, double>>();
  for (auto &[key, record] : known)
    if (record.seconds && record.verdict == store::TuningVerdict::faster)
      (*seconds)[key] = *record.seconds;
  for (auto &[key, question] : questions) {
    seconds->erase(key);
    if (question.seconds && question.verdict == store::TuningVerdict::faster)
      (*seconds)[key] = *question.seconds;
  }
  if (seconds->empty())
    return {};
  return [seconds](const ScheduleTask &task, const Schedule &schedule, BatchOrder order) -> std::optional<double> {
    auto found = seconds->find({graphTask(task.text(), order), schedule.str()});
    return found == seconds->end() ? std::nullopt : std::optional(found->second);
  };
}

/// Compiles the model without machine code and collects the kernels whose times it asks for. Returns true if there are
/// new ones.
bool GraphTuning::ask(bool answered) {
  size_t before = questions.size();
  CompileOptions asking = compiling;
  asking.measured = [&](const ScheduleTask &task, const Schedule &schedule, BatchOrder order) -> std::optional<double> {
    std::pair<std::string, std::string> key(graphTask(task.text(), order), schedule.str());
    auto [found, added] = questions.try_emplace(key);
    if (added) {
      found->second.task = taskOf(task, order);
      found->second.schedule = key.second;
      if (auto record = known.find(key); record != known.end()) {
        found->second.measurement = measurementOf(record->second);
        found->second.seconds = record->second.seconds;
        found->second.verdict = record->second.verdict;
      }
    }
    return answered ? found->second.seconds : std::nullopt;
  };
  Source source = loadSource(model);
  checkCompiled(*source.module, asking);
  result.kernels = questions.size();
  return questions.size() != before;
}

/// True if earlier runs have measured and compared everything.
bool GraphTuning::isSettled() const {
  return std::all_of(questions.begin(), questions.end(), [](auto &entry) {
    const Question &question = entry.second;
    return question.measurement && (!question.seconds || question.verdict != store::TuningVerdict::open);
  });
}

/// True if an earlier run has measured everything, but ended before its model was verified.
bool GraphTuning::isInterrupted() const {
  bool any = false;
  for (auto &[key, question] : questions) {
    if (!question.measurement || (question.seconds && question.verdict != store::TuningVerdict::open))
      return false;
    any |= question.seconds.has_value();
  }
  return any;
}

void GraphTuning::measure(tune::TrialRunner &runner, double deadline, Progress &progress) {
  size_t done = 0;
  for (auto &[key, question] : questions) {
    progress.update("measuring kernels of other graphs", ++done, questions.size());
    if (question.measurement || lab::steadySeconds() > deadline)
      continue;
    question.measurement = measured(runner, question.task, question.schedule);
    if (question.measurement->passed())
      question.seconds = question.measurement->best();
    ++result.measured;
  }
}

/// Measures all kernels one after the other, because clocks differ between days.
void GraphTuning::measureAll(tune::TrialRunner &runner, double deadline, Progress &progress) {
  for (auto &[key, question] : questions) {
    question.measurement.reset();
    question.seconds.reset();
  }
  constexpr int rounds = 3; // new layouts may ask for other kernels
  for (int round = 0; round < rounds; ++round) {
    measure(runner, deadline, progress);
    if (!ask(true))
      break;
  }
}

/// True if compilations already use the time of this graph task and schedule.
bool GraphTuning::isUsed(const Key &key) const {
  auto record = known.find(key);
  return record != known.end() && record->second.seconds && record->second.verdict == store::TuningVerdict::faster;
}

std::vector<store::TunedTask> GraphTuning::recordsOf(store::TuningVerdict verdict, bool spareUsed) const {
  TrialRecords records(recording, "graph", companyOf(beside));
  std::vector<store::TunedTask> all;
  for (auto &[key, question] : questions) {
    if (!question.measurement || (spareUsed && isUsed(key)))
      continue;
    tune::Task task = question.task;
    task.key = key.first;
    task.family.clear(); // no search has an equal task
    task.kernel.clear();
    all.push_back(records.of(task, *question.measurement, verdict));
  }
  return all;
}

void GraphTuning::conclude(store::TuningVerdict verdict, bool spareUsed) {
  for (auto &[key, question] : questions)
    if (spareUsed && isUsed(key)) {
      question.seconds = known.at(key).seconds;
      question.verdict = store::TuningVerdict::faster;
    } else if (question.measurement) {
      question.verdict = verdict;
    }
}

bool GraphTuning::decide(tune::TrialRunner &runner, double deadline, double seconds, Progress &progress) {
  ask(false);
  if (isSettled() && !(ask(true) && !isSettled())) {
    result.kept = std::any_of(questions.begin(), questions.end(),
                              [](auto &entry) { return entry.second.verdict == store::TuningVerdict::faster; });
    return false;
  }
  if (!isInterrupted() || (ask(true) && !isInterrupted()))
    measureAll(runner, deadline, progress);
  std::string chosen = (temporaryFolder() / "graph.lathe").string(),
              standard = (temporaryFolder() / "standard.lathe").string();
  CompileOptions answered = compiling;
  answered.measured = [this](const ScheduleTask &task, const Schedule &schedule,
                             BatchOrder order) -> std::optional<double> {
    auto found = questions.find({graphTask(task.text(), order), schedule.str()});
    return found == questions.end() ? std::nullopt : found->second.seconds;
  };
  progress.update("compiling the graph that the times choose", 0, 0);
  CompileReport report = compile(*loadSource(model).module, answered, chosen);
  result.choices = report.measuredChoices;
  if (result.choices || report.timedBatches)
    compile(*loadSource(model).module, compiling, standard);
  if (!result.choices && report.timedBatches)
    result.choices = otherOrders(chosen, standard, compiling.threads);
  if (result.choices) {
    progress.updateUntil("comparing the graph that the times choose with the default one", seconds);
    result.comparison = compareTuned(model, chosen, standard, seconds, beside);
    result.kept = !result.comparison->slower && result.comparison->ratio >= 1;
  }
  decided = true;
  // Times that compilations already use stay in use unless this model contradicts them.
  bool spareUsed = result.kept || !result.choices;
  recording.add(recordsOf(result.kept ? store::TuningVerdict::open : store::TuningVerdict::noGain, spareUsed));
  conclude(result.kept ? store::TuningVerdict::faster : store::TuningVerdict::noGain, !result.choices);
  return true;
}

std::vector<store::TunedTask> GraphTuning::settled(bool keep) {
  bool changes = result.kept && (decided || !keep);
  result.kept = result.kept && keep;
  if (!changes)
    return {};
  store::TuningVerdict verdict = result.kept ? store::TuningVerdict::faster : store::TuningVerdict::noGain;
  conclude(verdict, false);
  return recordsOf(verdict, false);
}

} // namespace lathe::jobs
