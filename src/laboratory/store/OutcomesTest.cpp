// Merging of tuning records: the result does not depend on the order, and a schedule that lost is not chosen.
#include "store/Outcomes.h"

#include "store/Archive.h"
#include "store/StoreTesting.h"

#include <fstream>
#include <set>
#include <sstream>

using namespace lathe;
using namespace lathe::store;

namespace {

std::string dayText(int day) { return fmt::format("2026-{:02}-{:02}T00:00:00.000000Z", 1 + day / 28, 1 + day % 28); }

/// An outcome measured on a day. `seconds` 0: without a time.
TuningOutcome measuredOn(int day, double seconds, const std::string &searcher = "xgb",
                         TuningVerdict verdict = TuningVerdict::open) {
  TuningOutcome outcome;
  outcome.measured = dayText(day);
  outcome.searcher = searcher;
  if (seconds > 0) {
    outcome.seconds = seconds;
    if (!searcher.empty())
      outcome.samples = {int64_t(seconds * 1e9), int64_t(seconds * 1e9) + day};
    outcome.verdict = verdict;
  } else {
    outcome.status = PointStatus::timedOut;
    outcome.reason = "10 s";
  }
  return outcome;
}

TuningRecord recordOf(const TuningOutcome &outcome, const std::string &schedule = "direct/1 px=4") {
  TuningRecord record;
  static_cast<TuningOutcome &>(record) = outcome;
  record.platform = "p";
  record.task = "task/2 | conv";
  record.schedule = schedule;
  return record;
}

TuningRecord merged(const std::vector<TuningOutcome> &outcomes) {
  TuningRecord record = recordOf(outcomes.at(0));
  for (const TuningOutcome &outcome : outcomes)
    merge(record, recordOf(outcome));
  return record;
}

TuningOutcome failedOn(int day, PointStatus status, const std::string &searcher = "xgb") {
  TuningOutcome outcome = measuredOn(day, 0, searcher);
  outcome.status = status;
  outcome.reason = "it is";
  return outcome;
}

/// A random outcome; few days, so that many outcomes have the same time.
TuningOutcome anyOutcome(std::mt19937 &random) {
  int day = int(random() % 4);
  switch (random() % 6) {
  case 0:
    return failedOn(day, random() % 2 ? PointStatus::failed : PointStatus::crashed, random() % 2 ? "xgb" : "");
  case 1:
    return failedOn(day, random() % 2 ? PointStatus::timedOut : PointStatus::unimplemented, random() % 2 ? "ga" : "");
  case 2:
    return measuredOn(day, 1e-3 * (1 + double(random() % 3)), "");
  default:
    TuningOutcome outcome =
        measuredOn(day, 1e-3 * (1 + double(random() % 3)), random() % 2 ? "xgb" : "ga", TuningVerdict(random() % 3));
    outcome.experiment = random() % 2 ? "e1" : "";
    return outcome;
  }
}

TuningRecord anyRecord(std::mt19937 &random) {
  std::vector<TuningOutcome> outcomes;
  for (size_t count = 1 + random() % 4; count; --count)
    outcomes.push_back(anyOutcome(random));
  return merged(outcomes);
}

TuningRecord mergeOf(TuningRecord a, const TuningRecord &b) {
  merge(a, b);
  return a;
}

} // namespace

TEST(Outcomes, MeasurementsKeepAVerdict) {
  TuningOutcome found = measuredOn(2, 3e-3, "xgb", TuningVerdict::noGain);
  found.experiment = "e";
  TuningRecord record = merged({measuredOn(1, 2e-3), found, measuredOn(3, 1e-3, "")});
  EXPECT_EQ(record.verdict, TuningVerdict::noGain);
  EXPECT_EQ(record.searcher, "xgb");
  EXPECT_EQ(record.experiment, "e");
  EXPECT_EQ(record.measured, dayText(2));
  EXPECT_EQ(record.seconds, 2.5e-3); // of the search; `ops bench` measures with other caches
  EXPECT_EQ(record.samples.size(), 4u);
  EXPECT_EQ(record.outcomes.size(), 3u);
  EXPECT_EQ(leadingOutcome(record).seconds, 3e-3);
  EXPECT_EQ(merged({measuredOn(1, 2e-3, ""), measuredOn(2, 4e-3, ""), measuredOn(3, 3e-3, "")}).seconds, 3e-3);
}

TEST(Outcomes, ALaterComparisonDecides) {
  TuningOutcome faster = measuredOn(2, 1e-3, "xgb", TuningVerdict::faster),
                noGain = measuredOn(3, 1e-3, "ga", TuningVerdict::noGain);
  EXPECT_EQ(merged({faster, noGain}).verdict, TuningVerdict::noGain);
  EXPECT_EQ(merged({noGain, faster}).verdict, TuningVerdict::noGain);
  faster.measured = dayText(4);
  EXPECT_EQ(merged({noGain, faster}).verdict, TuningVerdict::faster);
  EXPECT_EQ(merged({noGain, faster}).searcher, "xgb");
  noGain.measured = faster.measured;
  EXPECT_EQ(merged({noGain, faster}).verdict, merged({faster, noGain}).verdict);
}

TEST(Outcomes, WhatFailsHasNoVerdictUntilItPasses) {
  TuningOutcome faster = measuredOn(2, 1e-3, "xgb", TuningVerdict::faster);
  for (PointStatus status : {PointStatus::failed, PointStatus::crashed}) {
    TuningRecord wrong = merged({faster, failedOn(3, status, "")});
    EXPECT_EQ(wrong.status, status);
    EXPECT_EQ(wrong.reason, "it is");
    EXPECT_EQ(wrong.verdict, TuningVerdict::open);
    EXPECT_FALSE(wrong.seconds);
    EXPECT_EQ(wrong.searcher, "xgb");
    check(wrong);
    TuningRecord again = mergeOf(wrong, recordOf(measuredOn(4, 2e-3)));
    EXPECT_EQ(again.verdict, TuningVerdict::faster);
    EXPECT_EQ(again.seconds, 1.5e-3);
    EXPECT_EQ(merged({faster, failedOn(1, status)}).verdict, TuningVerdict::faster);
  }
  // A busy machine or another layout tells nothing about the schedule.
  for (PointStatus status : {PointStatus::timedOut, PointStatus::memoryExceeded, PointStatus::unimplemented}) {
    EXPECT_EQ(merged({faster, failedOn(3, status, "")}).verdict, TuningVerdict::faster);
    EXPECT_EQ(merged({failedOn(3, status), failedOn(2, PointStatus::timedOut)}).status, status);
  }
}

TEST(Outcomes, EqualOutcomesAreOne) {
  TuningOutcome trial = measuredOn(1, 1e-3), shipped = trial;
  trial.experiment = "e";
  TuningRecord record = merged({shipped, trial, shipped});
  EXPECT_TRUE(record.outcomes.empty());
  EXPECT_EQ(record.experiment, "e");
  EXPECT_EQ(textOf(record), textOf(recordOf(trial)));
}

TEST(Outcomes, MergingIsCommutativeAssociativeAndIdempotent) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random{seed};
    TuningRecord a = anyRecord(random), b = anyRecord(random), c = anyRecord(random);
    EXPECT_EQ(textOf(mergeOf(a, b)), textOf(mergeOf(b, a)));
    EXPECT_EQ(textOf(mergeOf(mergeOf(a, b), c)), textOf(mergeOf(a, mergeOf(b, c))));
    EXPECT_EQ(textOf(mergeOf(a, a)), textOf(a));
    EXPECT_EQ(textOf(mergeOf(mergeOf(a, b), b)), textOf(mergeOf(a, b)));
    TuningRecord all = mergeOf(a, b);
    check(all);
    EXPECT_EQ(textOf(tuningRecordFromJson(toJson(all))), textOf(all));
  }
}

namespace {

/// Stores of three machines of one kind that exchange records, each with a plain list of all records that have reached
/// it.
class AnyOrderTest : public StoreFolder {
protected:
  struct Measured {
    int task = 0;
    std::string schedule;
    TuningOutcome outcome;
    bool operator<(const Measured &other) const { // all times differ
      return outcome.measured < other.outcome.measured;
    }
  };
  struct Machine {
    std::string path;
    Store store;
    std::set<Measured> known;
  };
  std::vector<Machine> machines;
  std::vector<std::pair<std::string, std::set<Measured>>> archives;
  std::mt19937 random;
  int day = 0;

  void begin(unsigned seed) {
    random.seed(seed);
    machines.clear();
    archives.clear();
    day = 0;
    for (int i = 0; i < 3; ++i) {
      std::string path = place(fmt::format("{}-{}.db", seed, i));
      machines.push_back({path, Store(path), {}});
    }
  }

  std::string anySchedule() { return fmt::format("direct/1 px={}", 2 + random() % 4); }
  /// Invented, so that no clock is needed.
  double anySeconds() { return 1e-4 * double(1 + random() % 100); }

  void put(Machine &machine, int task, const std::string &schedule, const TuningOutcome &outcome) {
    machine.known.insert({task, schedule, outcome});
    machine.store.addTuning({recordOf(outcome, schedule)}, someTask(task), somePlatform());
  }

  /// Trials, and then, unless interrupted, comparisons of some of them.
  void tune(Machine &machine) {
    int task = int(random() % 2);
    for (size_t trials = 1 + random() % 3; trials; --trials)
      put(machine, task, anySchedule(), measuredOn(++day, random() % 5 ? anySeconds() : 0));
    for (size_t finalists = random() % 3; finalists; --finalists)
      put(machine, task, anySchedule(),
          measuredOn(++day, anySeconds(), "xgb", random() % 2 ? TuningVerdict::faster : TuningVerdict::noGain));
  }

  void bench(Machine &machine) {
    int task = int(random() % 2);
    if (random() % 4)
      put(machine, task, anySchedule(), measuredOn(++day, anySeconds(), ""));
    else
      put(machine, task, anySchedule(),
          failedOn(++day, random() % 2 ? PointStatus::timedOut : PointStatus::failed, ""));
  }

  void merge(Machine &into, const Machine &from) {
    if (&into == &from)
      return;
    importInto(into.store, {from.path}, random() % 2 ? Imported::tuning : Imported::everything);
    into.known.insert(from.known.begin(), from.known.end());
  }

  void save(Machine &machine) {
    archives.emplace_back(file(fmt::format("{}.jsonl", archives.size())), machine.known);
    exportTuning(machine.store, {}, archives.back().first);
  }

  void load(Machine &machine) {
    if (archives.empty())
      return;
    auto &[path, known] = archives[random() % archives.size()];
    importInto(machine.store, {path});
    machine.known.insert(known.begin(), known.end());
  }

  /// The verdict on a schedule that follows from the list, computed in a simple way.
  static TuningVerdict verdictOf(const Machine &machine, int task, const std::string &schedule) {
    TuningVerdict last = TuningVerdict::open;
    bool works = false;
    for (const Measured &one : machine.known) { // sorted by time
      if (one.task != task || one.schedule != schedule)
        continue;
      if (one.outcome.verdict != TuningVerdict::open)
        last = one.outcome.verdict;
      if (one.outcome.status == PointStatus::passed)
        works = true;
      if (one.outcome.status == PointStatus::failed)
        works = false;
    }
    return works ? last : TuningVerdict::open;
  }

  void expectNoLoser(Machine &machine) {
    std::map<std::string, ChosenSchedule> chosen;
    for (const ChosenSchedule &one : machine.store.chosenSchedules(somePlatform().key()))
      chosen[one.task] = one;
    for (int task = 0; task < 2; ++task) {
      std::map<TuningVerdict, int> verdicts;
      for (int number = 0; number < 4; ++number)
        ++verdicts[verdictOf(machine, task, fmt::format("direct/1 px={}", 2 + number))];
      auto found = chosen.find(someTask(task).text);
      if (found == chosen.end()) {
        EXPECT_EQ(verdicts[TuningVerdict::faster] + verdicts[TuningVerdict::noGain], 0);
        continue;
      }
      const ChosenSchedule &choice = found->second;
      EXPECT_EQ(choice.verdict == TuningVerdict::faster, verdicts[TuningVerdict::faster] > 0);
      EXPECT_EQ(choice.schedule.empty(), choice.verdict == TuningVerdict::noGain);
      if (!choice.schedule.empty()) {
        EXPECT_EQ(verdictOf(machine, task, choice.schedule), TuningVerdict::faster);
      }
    }
  }

  std::string contentOf(Store &store) {
    std::string path = file("content.jsonl");
    exportTuning(store, {}, path);
    std::stringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
};

} // namespace

TEST_F(AnyOrderTest, NoChosenScheduleHasLost) {
  for (unsigned seed = 1; seed <= (onServer() ? 2 : 5); ++seed) {
    SCOPED_TRACE(seed);
    begin(seed);
    for (int step = 0; step < 40; ++step) {
      SCOPED_TRACE(step);
      Machine &machine = machines[random() % machines.size()];
      switch (random() % 6) {
      case 0:
      case 1:
        tune(machine);
        break;
      case 2:
        bench(machine);
        break;
      case 3:
        merge(machine, machines[random() % machines.size()]);
        break;
      case 4:
        save(machine);
        break;
      default:
        load(machine);
      }
      expectNoLoser(machine);
    }
    // Merging everything in two orders, and some of it twice, gives the same bytes.
    Store one(place(fmt::format("{}-one.db", seed))), other(place(fmt::format("{}-other.db", seed)));
    importInto(one, {machines[0].path, machines[1].path, machines[2].path, machines[0].path});
    for (int i : {2, 1, 0})
      importInto(other, {machines[size_t(i)].path}, Imported::tuning);
    EXPECT_EQ(contentOf(one), contentOf(other));
  }
}
