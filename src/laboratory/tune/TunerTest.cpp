// The tuner on a simulated machine: times are predictions with errors, some schedules fail, and a clock counts the time
// that measuring would take.
#include "tune/Tuner.h"
#include "tune/Features.h"

#include "codegen/testing/FactsTesting.h"
#include "codegen/testing/RandomTesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace lathe::tune {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// Two convolutions of a model; the first one runs four times.
struct Model {
  std::vector<std::unique_ptr<TaskFacts>> facts;
  std::vector<TaskToTune> tasks;

  Model() {
    for (int64_t channels : {64, 128}) {
      facts.push_back(std::make_unique<TaskFacts>(conv3x3(channels, channels, 28), Target::parse("znver4")));
      const KernelFacts &kernel = *facts.back()->facts;
      TaskToTune task;
      task.task.key = std::to_string(channels);
      task.task.count = channels == 64 ? 4 : 1;
      task.facts = &kernel;
      task.prior = priorSchedule(kernel)->str();
      task.predictedSeconds = kernel.predict(readSchedule(task.prior)).total() * 1e-9;
      task.floorSeconds = 0.5 * task.predictedSeconds;
      tasks.push_back(std::move(task));
    }
  }
};

/// A machine that deviates from the cost model.
class FakeRunner : public TrialRunner {
public:
  explicit FakeRunner(const Model &model) : model(model) {
    for (const TaskToTune &task : model.tasks) {
      Space space(*task.facts, {readSchedule(task.prior)}, 0);
      priors.push_back(space.schedule(*space.point(readSchedule(task.prior))).str());
    }
  }

  double clock = 0;
  std::map<std::string, size_t> trials; // by task
  std::set<std::string> twice;          // schedules that were measured again
  double priorFactor = 1;               // on the times of the prior's schedules
  double flatness = 1;                  // 0: all schedules are equally fast
  double wideFactor = 1;                // on the times of register blocks of several vectors
  size_t wide = 0;                      // number of measured schedules of this kind
  double turnsFactor = 1;               // factor on the times of other schedules in turns
  bool priorFails = false;
  std::string declined; // key of a task that cannot be measured

  /// For schedules other than the prior's.
  static bool passes(const std::string &schedule) { return std::hash<std::string>()(schedule) % 7 != 0; }

  double secondsOf(const Task &task, const std::string &schedule) const {
    const TaskToTune &own = model.tasks[indexOf(task)];
    if (schedule == priors[indexOf(task)])
      return own.predictedSeconds * priorFactor;
    double seconds = own.facts->predict(readSchedule(schedule)).total() * 1e-9 * (isWide(schedule) ? wideFactor : 1);
    double error = 1 + 0.3 * (double(std::hash<std::string>()(schedule) >> 8 & 0xff) / 255 - 0.5);
    return flatness ? seconds * error : own.predictedSeconds;
  }

  std::vector<Measurement> measure(const Task &task, const std::vector<std::string> &schedules, double) override {
    std::vector<Measurement> results;
    for (const std::string &schedule : schedules) {
      if (!known.insert(task.key + schedule).second)
        twice.insert(schedule);
      clock += 0.1;
      ++trials[task.key];
      wide += isWide(schedule);
      Measurement one;
      one.schedule = schedule;
      one.status = store::PointStatus::passed;
      bool prior = schedule == priors[indexOf(task)];
      if (prior ? priorFails : !passes(schedule)) {
        one.status = store::PointStatus::crashed;
        one.reason = "signal 11";
      } else {
        one.seconds = {secondsOf(task, schedule), secondsOf(task, schedule) * 1.01};
      }
      results.push_back(one);
    }
    return results;
  }

  Outcome<bool> prepare(const Task &task) override {
    if (task.key == declined)
      return NotApplicable{"no reference"};
    return true;
  }

  std::vector<TurnMeasurement> inTurns(const Task &task, const std::vector<std::string> &schedules,
                                       double seconds) override {
    clock += seconds;
    std::vector<TurnMeasurement> all;
    for (size_t i = 0; i < schedules.size(); ++i) {
      TurnMeasurement one;
      one.schedule = schedules[i];
      one.status = store::PointStatus::passed;
      one.seconds = {secondsOf(task, schedules[i]) * (i ? turnsFactor : 1)};
      double ratio = i ? all[0].best() / one.best() : 1;
      lab::RatioEstimate estimate{ratio, {ratio * 0.99, ratio * 1.01}};
      one.toFirst = {estimate, lab::verdictOn(estimate, estimate)};
      all.push_back(one);
    }
    return all;
  }

  static bool isWide(const std::string &text) {
    Schedule schedule = readSchedule(text);
    return schedule.numbers.contains("oc") && schedule.number("oc") > 1;
  }

private:
  const Model &model;
  std::set<std::string> known;

  std::vector<std::string> priors; // as the space writes them

  static size_t indexOf(const Task &task) { return task.key == "64" ? 0 : 1; }
};

TuneOptions quick(FakeRunner &runner) {
  TuneOptions options;
  options.seed = baseSeed();
  options.clock = [&runner] { return runner.clock; };
  return options;
}

std::vector<TunedTask> searchAndSettle(const Model &model, FakeRunner &runner, const TuneOptions &options) {
  Tuner tuner(model.tasks, runner, options);
  tuner.search();
  return tuner.settle();
}

TEST(Tuner, keepsFasterSchedulesAndNoneThatIsNot) {
  Model model;
  FakeRunner runner(model);
  size_t told = 0;
  std::vector<size_t> settled;
  Tuner tuner(model.tasks, runner, quick(runner),
              {.measured = [&](size_t, const std::vector<Measurement> &all) { told += all.size(); },
               .progress =
                   [&](const TuneState &state) {
                     EXPECT_LE(state.modelSeconds, state.beforeSeconds * 1.0001);
                     EXPECT_LE(state.best, state.current);
                   },
               .settled = [&](size_t task, const TunedTask &) { settled.push_back(task); }});
  tuner.search();
  EXPECT_EQ(tuner.endReason(), "no more is expected to be gained");
  std::vector<TunedTask> tuned = tuner.settle();
  EXPECT_THAT(settled, testing::ElementsAre(0u, 1u));
  EXPECT_EQ(told, runner.trials["64"] + runner.trials["128"]);
  EXPECT_TRUE(runner.twice.empty());
  for (size_t i = 0; i < tuned.size(); ++i) {
    EXPECT_TRUE(tuned[i].gained) << i << ", LATHE_SEED=" << baseSeed();
    EXPECT_LT(tuned[i].after, 0.98 * tuned[i].before) << i;
    EXPECT_NEAR(tuned[i].after / runner.secondsOf(model.tasks[i].task, tuned[i].schedule), 1, 1e-9);
    EXPECT_GT(tuned[i].failures[store::PointStatus::crashed], 0u);
  }
}

TEST(Tuner, theTimeLeftIncludesTheTurns) {
  Model model;
  FakeRunner runner(model);
  TuneOptions options = quick(runner);
  options.settleSeconds = 1000;
  std::optional<double> left;
  Tuner tuner(model.tasks, runner, options, {.progress = [&](const TuneState &state) { left = state.secondsLeft; }});
  tuner.search();
  EXPECT_GE(left.value_or(0), 1000);
}

TEST(Tuner, staysWithThePriorWhereAllAreAlike) {
  Model model;
  FakeRunner runner(model);
  runner.flatness = 0;
  for (const TunedTask &task : searchAndSettle(model, runner, quick(runner))) {
    EXPECT_FALSE(task.gained);
    EXPECT_EQ(task.before, task.after);
  }
}

TEST(Tuner, aTrialThatWasLuckyIsNotKept) {
  Model model;
  FakeRunner runner(model);
  runner.turnsFactor = 2;
  std::vector<TunedTask> tuned = searchAndSettle(model, runner, quick(runner));
  for (size_t i = 0; i < tuned.size(); ++i) {
    EXPECT_FALSE(tuned[i].gained);
    ASSERT_TRUE(tuned[i].ratio);
    EXPECT_EQ(tuned[i].ratio->verdict, lab::Verdict::slower);
  }
}

TEST(Tuner, endsInTimeForTheLastTurns) {
  Model model;
  FakeRunner runner(model);
  runner.priorFactor = 3; // much to gain
  TuneOptions options = quick(runner);
  options.margin = 0;
  options.deadline = 20;
  Tuner tuner(model.tasks, runner, options);
  tuner.search();
  EXPECT_EQ(tuner.endReason(), "the time is over");
  EXPECT_GT(runner.clock, 15);
  tuner.settle();
  EXPECT_LE(runner.clock, 20);
}

TEST(Tuner, hasAsManyTrialsOfATaskAsAllowed) {
  Model model;
  FakeRunner runner(model);
  TuneOptions options = quick(runner);
  options.margin = 0;
  options.trials = 21;
  Tuner tuner(model.tasks, runner, options);
  tuner.search();
  EXPECT_EQ(tuner.endReason(), "every task is at its limit");
  EXPECT_EQ(runner.trials["64"], 21u);
  EXPECT_EQ(runner.trials["128"], 21u);
}

TEST(Tuner, stopsEarlyWithoutGain) {
  Model model;
  FakeRunner runner(model);
  runner.flatness = 0;
  TuneOptions options = quick(runner);
  options.margin = 0;
  options.earlyStopping = 16;
  Tuner tuner(model.tasks, runner, options);
  tuner.search();
  EXPECT_LE(runner.trials["64"], 16u + 8u + 1u);
}

TEST(Tuner, goesOnWhereAnEarlierRunEnded) {
  Model model;
  FakeRunner first(model);
  TuneOptions options = quick(first);
  options.trials = 25;
  options.margin = 0;
  std::vector<std::vector<Measurement>> records(2);
  Tuner before(model.tasks, first, options, {.measured = [&](size_t task, const std::vector<Measurement> &all) {
                 records[task].insert(records[task].end(), all.begin(), all.end());
               }});
  before.search();
  std::vector<TunedTask> earlier = before.settle();

  Model again;
  for (size_t i = 0; i < 2; ++i)
    again.tasks[i].known = records[i];
  FakeRunner second(again);
  options = quick(second);
  options.trials = 25;
  options.margin = 0;
  Tuner after(again.tasks, second, options);
  after.search();
  // Only the priors are measured again: the ratio of their times scales the earlier times.
  EXPECT_EQ(second.trials["64"] + second.trials["128"], 2u);
  std::vector<TunedTask> later = after.settle();
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(later[i].schedule, earlier[i].schedule);
    EXPECT_EQ(later[i].trials, earlier[i].trials);
    EXPECT_EQ(later[i].searched, 0u);
  }
}

TEST(Tuner, whatEarlierRunsKeptIsInTheTurnsAgain) {
  Model model;
  FakeRunner runner(model);
  Space space = spaceOf(model.tasks[0]);
  Random random(baseSeed());
  std::vector<Measurement> known;
  while (known.size() < 20) {
    std::string schedule = space.schedule(space.draw(random).value()).str();
    bool isNew = std::none_of(known.begin(), known.end(), [&](auto &one) { return one.schedule == schedule; });
    double seconds = model.tasks[0].predictedSeconds * (0.5 + 0.01 * double(known.size()));
    if (isNew)
      known.push_back({schedule, store::PointStatus::passed, "", {seconds}});
  }
  model.tasks[0].known = known;
  model.tasks[0].kept = {known.back().schedule}; // the slowest of them
  TuneOptions options = quick(runner);
  options.trials = 1;
  std::vector<std::string> finalists;
  std::vector<TunedTask> tuned = searchAndSettle(model, runner, options);
  for (const TurnMeasurement &one : tuned[0].finalists)
    finalists.push_back(one.schedule);
  EXPECT_EQ(finalists.size(), 1 + options.finalists + 1);
  EXPECT_THAT(finalists, testing::Contains(known.back().schedule));
}

TEST(Tuner, startsFromAModelOfOtherTasks) {
  Model model;
  const TaskToTune &known = model.tasks[1];
  size_t wide[2] = {0, 0}; // without and with a model; over some seeds, because one search may draw many by chance
  for (uint64_t seed = baseSeed(); seed < baseSeed() + 4; ++seed)
    for (bool knows : {false, true}) {
      FakeRunner runner(model);
      runner.wideFactor = 8;
      std::vector<size_t> asked; // tasks
      TuneOptions options = quick(runner);
      options.seed = seed;
      options.searcher = "xgb_knob";
      options.trials = 9; // the prior's and one batch
      options.margin = 0;
      if (knows)
        options.startModel = [&](size_t task) {
          asked.push_back(task);
          Space space = spaceOf(known);
          Features features(*known.facts, FeatureSet::knob);
          Random random(seed);
          std::vector<TrainingExample> examples;
          for (int i = 0; i < 200; ++i) {
            Schedule schedule = space.schedule(space.draw(random).value());
            examples.push_back({features.example(schedule), runner.secondsOf(known.task, schedule.str())});
          }
          auto trained = std::make_shared<LearnedModel>();
          trained->fit(examples);
          return trained;
        };
      Tuner tuner(model.tasks, runner, options);
      EXPECT_THAT(asked, testing::IsEmpty()); // the search has not asked yet
      tuner.search();
      EXPECT_EQ(std::set<size_t>(asked.begin(), asked.end()), knows ? (std::set<size_t>{0, 1}) : std::set<size_t>());
      EXPECT_EQ(asked.size(), knows ? 2u : 0u); // once each
      wide[knows] += runner.wide;
    }
  EXPECT_LT(4 * wide[1], 3 * wide[0]) << "LATHE_SEED=" << baseSeed();
}

TEST(Tuner, beginsWithTheTaskOfWhichOthersTellTheMostGain) {
  Model model;
  for (size_t told : {0, 1}) { // for this task, other tasks tell that the prior is slow
    FakeRunner runner(model);
    TuneOptions options = quick(runner);
    options.searcher = "xgb_knob";
    options.margin = 0;
    options.trials = 9;
    options.startModel = [&](size_t task) {
      const KernelFacts &kernel = *model.tasks[task].facts;
      Space space = spaceOf(model.tasks[task]);
      Features features(kernel, FeatureSet::knob);
      Random random(baseSeed());
      Schedule prior = readSchedule(model.tasks[task].prior);
      std::vector<TrainingExample> examples;
      for (int i = 0; i < 100; ++i)
        for (bool isPrior : {false, true}) {
          Schedule schedule = isPrior ? prior : space.schedule(space.draw(random).value());
          examples.push_back({features.example(schedule), isPrior == (task == told) ? 2e-3 : 1e-3});
        }
      auto trained = std::make_shared<LearnedModel>();
      trained->fit(examples);
      return trained;
    };
    std::vector<std::pair<size_t, size_t>> batches; // task, schedules
    TuneWatch watch;
    watch.measured = [&](size_t task, const std::vector<Measurement> &all) { batches.emplace_back(task, all.size()); };
    Tuner(model.tasks, runner, options, watch).search();
    ASSERT_GE(batches.size(), 3u);
    EXPECT_EQ(batches[2], std::pair(told, options.batch / 2)) << "LATHE_SEED=" << baseSeed(); // after the priors
  }
}

TEST(Tuner, leavesATaskThatEarlierRunsHaveSearched) {
  Model model;
  FakeRunner runner(model);
  Space space = spaceOf(model.tasks[0]);
  Random random(baseSeed());
  std::string prior = space.schedule(*space.point(readSchedule(model.tasks[0].prior))).str();
  std::set<std::string> drawn = {prior};
  while (drawn.size() < 65)
    drawn.insert(space.schedule(space.draw(random).value()).str());
  for (const std::string &schedule : drawn)
    model.tasks[0].known.push_back(runner.measure(model.tasks[0].task, {schedule}, never)[0]);
  TuneOptions options = quick(runner);
  std::vector<size_t> order;
  TuneWatch watch;
  watch.measured = [&](size_t task, const std::vector<Measurement> &) { order.push_back(task); };
  Tuner(model.tasks, runner, options, watch).search();
  ASSERT_GE(order.size(), 3u);
  EXPECT_EQ(order[2], 1u) << "LATHE_SEED=" << baseSeed(); // though the first task runs four times
}

TEST(Tuner, whatOthersKeptIsMeasuredFirstAndIsInTheTurns) {
  Model model;
  FakeRunner runner(model);
  TaskToTune &task = model.tasks[0];
  Space space = spaceOf(task);
  Random random(baseSeed());
  Schedule shipped = space.schedule(space.draw(random).value());
  while (shipped == space.schedule(*space.point(readSchedule(task.prior))) || !runner.passes(shipped.str()))
    shipped = space.schedule(space.draw(random).value());
  Schedule illegal = shipped;
  illegal.algorithm = "softmax";
  illegal.version = emptySchedule("softmax").version;
  illegal.numbers.clear();
  illegal.words.clear();
  task.rules.push_back(shipped);
  task.kept = {shipped.str(), task.prior, illegal.str()};
  TuneOptions options = quick(runner);
  options.trials = 1; // the prior uses this trial: nothing is searched
  std::vector<std::string> measured;
  TuneWatch watch;
  watch.measured = [&](size_t index, const std::vector<Measurement> &all) {
    for (const Measurement &one : all)
      if (index == 0)
        measured.push_back(one.schedule);
  };
  Tuner tuner(model.tasks, runner, options, watch);
  tuner.search();
  std::string prior = space.schedule(*space.point(readSchedule(task.prior))).str(); // as the space writes it
  EXPECT_EQ(measured, (std::vector<std::string>{prior, shipped.str()}));
  std::vector<TunedTask> tuned = tuner.settle();
  EXPECT_EQ(tuned[0].searched, 1u);
  std::vector<std::string> finalists;
  for (const TurnMeasurement &one : tuned[0].finalists)
    finalists.push_back(one.schedule);
  EXPECT_THAT(finalists, testing::Contains(shipped.str()));
}

TEST(Tuner, goesOnWithoutATaskThatCannotBeMeasured) {
  Model model;
  FakeRunner runner(model);
  runner.declined = "64";
  std::vector<TunedTask> tuned = searchAndSettle(model, runner, quick(runner));
  EXPECT_EQ(tuned[0].declined, "no reference");
  EXPECT_FALSE(tuned[0].gained);
  EXPECT_EQ(runner.trials["64"], 0u);
  EXPECT_EQ(tuned[1].declined, "");
  EXPECT_TRUE(tuned[1].gained);
}

TEST(Tuner, replacesAPriorThatFails) {
  Model model;
  FakeRunner runner(model);
  runner.priorFails = true;
  TuneOptions options = quick(runner);
  options.trials = 30;
  for (const TunedTask &task : searchAndSettle(model, runner, options)) {
    EXPECT_TRUE(task.gained);
    EXPECT_EQ(task.before, 0);
    EXPECT_GT(task.after, 0);
    EXPECT_LT(task.after, never);
  }
}

} // namespace
} // namespace lathe::tune
