// Records of one convolution, from this machine and others, as measured tasks with facts.
#include "tune/model/MeasuredTasks.h"

#include "codegen/testing/FactsTesting.h"
#include "compile/KernelTasks.h"
#include "store/StoreTesting.h"

#include <gmock/gmock.h>

namespace lathe::tune {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

const char *const schedules[] = {"direct/1 oc=2 px=4", "direct/1 px=7"};

/// A convolution on a target, as the kernel of records.
struct Kernel {
  TaskFacts read;
  store::TuningTask task;

  explicit Kernel(const Target &target, int threads = 1) : read(textFor(target), target, threads) {
    Outcome<KernelTask> kernel =
        kernelTask({{.threads = threads}, *read.module->getOps<mlir::func::FuncOp>().begin(), target});
    task = {kernel->task, "contraction", kernel->text};
  }
  /// With blocks of the length of the target's vectors.
  static std::string textFor(const Target &target) {
    std::string text = conv3x3(32, 32, 14);
    for (size_t at = 0; (at = text.find("<1, 16>", at)) != std::string::npos; ++at)
      text.replace(at, 7, fmt::format("<1, {}>", target.channelBlock()));
    return text;
  }
  double cycles(const std::string &schedule) const { return read.facts->predict(readSchedule(schedule)).total(); }
};

struct MeasuredTasksTest : store::StoreFolder {
  Target here = Target::parse("znver4");
  store::Platform platform = store::somePlatform();
  store::Store records{file("records.db")};

  /// Adds a record of each schedule, measured by an experiment on a machine with these facts.
  void add(const store::TuningTask &task, const store::Platform &measuredOn, const MachineFacts *machine,
           const std::function<void(store::TuningRecord &)> &change = {}) {
    store::Experiment experiment = store::someExperiment(store::ExperimentKind::tune);
    if (machine)
      experiment.settings = {{"machine", toJson(*machine)}};
    std::string uuid = records.addExperiment(experiment, measuredOn);
    std::vector<store::TuningRecord> all;
    for (const char *schedule : schedules) {
      store::TuningRecord record = store::someTuning(int(all.size()), uuid);
      record.schedule = schedule;
      if (change)
        change(record);
      all.push_back(std::move(record));
    }
    records.addTuning(all, task, measuredOn);
  }
  std::vector<MeasuredTask> read(const std::string &family = "contraction") {
    MeasuredTasks reader(records, here, platform.key());
    std::vector<MeasuredTask> tasks = reader.read(family);
    reader.addFacts(tasks);
    return tasks;
  }
};

TEST_F(MeasuredTasksTest, readsKernelsAndTimesAgain) {
  Kernel kernel(here);
  add(kernel.task, platform, &here.machine);
  std::vector<MeasuredTask> tasks = read();
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].group, MeasuredTasks::groupOf(kernel.task.text, platform.key()));
  std::vector<std::string> texts;
  for (const MeasuredSchedule &one : tasks[0].schedules) {
    texts.push_back(one.schedule.str());
    EXPECT_EQ(one.seconds.size(), 5u);
    EXPECT_NEAR(one.best(), 1e-3, 1e-6);
    EXPECT_EQ(tasks[0].facts->predict(one.schedule).total(), kernel.cycles(one.schedule.str()));
  }
  EXPECT_THAT(texts, UnorderedElementsAre(schedules[0], schedules[1]));
  EXPECT_EQ(read("").size(), 1u);
  EXPECT_THAT(read("softmax"), IsEmpty());
}

TEST_F(MeasuredTasksTest, predictsForTheMachineThatMeasured) {
  MachineFacts slow = here.machine; // the same CPU with slower memories
  slow.memoryBytesPerCycle /= 64;
  for (CacheFacts &cache : slow.caches)
    cache.readBytesPerCycle /= 64;
  Target alike = Target::parse("machine", &slow), other = Target::parse("sapphirerapids"),
         narrow = Target::parse("znver4,vector-width=256");
  ASSERT_EQ(alike.key(), here.key());
  store::Platform second = store::somePlatform("second"), third = store::somePlatform("third");
  Kernel own(here), there(alike), older(other), threads(here, 4), half(narrow);
  add(own.task, platform, &slow); // the facts before this machine was measured
  add(there.task, second, &slow);
  add(older.task, third, &other.machine);
  add(threads.task, platform, &here.machine);
  add(half.task, third, &narrow.machine);
  std::map<std::string, const Kernel *> expected = {
      {MeasuredTasks::groupOf(own.task.text, platform.key()), &own},
      {MeasuredTasks::groupOf(own.task.text, second.key()), &there},
      {MeasuredTasks::groupOf(older.task.text, third.key()), &older},
      {MeasuredTasks::groupOf(threads.task.text, platform.key()), &threads},
      {MeasuredTasks::groupOf(half.task.text, third.key()), &half},
  };
  MeasuredTasks reader(records, here, platform.key());
  std::vector<MeasuredTask> tasks = reader.read("");
  reader.addFacts(tasks);
  ASSERT_EQ(tasks.size(), expected.size());
  std::set<std::string> kernels;
  for (const MeasuredTask &task : tasks) {
    ASSERT_TRUE(expected.contains(task.group)) << task.group;
    for (const MeasuredSchedule &one : task.schedules)
      EXPECT_EQ(task.facts->predict(one.schedule).total(), expected[task.group]->cycles(one.schedule.str()))
          << task.group;
    kernels.insert(reader.kernelOf(task));
  }
  EXPECT_NE(own.cycles(schedules[0]), there.cycles(schedules[0]));
  EXPECT_EQ(kernels.size(), 2u)
      << "one with blocks of 16 channels, on all machines and with all numbers of threads, and "
         "one for narrow vectors";
}

TEST_F(MeasuredTasksTest, leavesOutWhatCannotBeCompared) {
  Kernel kernel(here);
  MachineFacts other = Target::parse("sapphirerapids").machine;
  store::Platform elsewhere = store::somePlatform("elsewhere");
  auto change = [&](auto member, auto value) { return [=](store::TuningRecord &record) { record.*member = value; }; };
  add(kernel.task, platform, &here.machine, change(&store::TuningRecord::searcher, std::string())); // `ops bench`
  add(kernel.task, elsewhere, &other);                       // this machine does not give such a target
  add(kernel.task, store::somePlatform("unknown"), nullptr); // nothing is known of the machine
  add({kernel.task.text + " ", "contraction", kernel.task.kernel}, platform, &here.machine); // another kernel
  store::TuningTask inCompany = kernel.task;
  inCompany.text = store::taskInCompany(kernel.task.text, store::someCompany());
  add(inCompany, platform, &here.machine);
  store::TuningTask old = kernel.task, damaged = kernel.task;
  old.text.replace(0, 6, "task/1");
  add(old, platform, &here.machine);
  damaged.text += " x";
  damaged.kernel = "func.func @kernel(";
  add(damaged, platform, &here.machine);
  add(kernel.task, platform, &here.machine, change(&store::TuningRecord::schedule, std::string("direct/99 px=7")));
  EXPECT_THAT(read(), IsEmpty());

  add(kernel.task, platform, &here.machine, [](store::TuningRecord &record) {
    if (record.schedule == schedules[0])
      record.schedule = "direct/1 px=7 unroll=3"; // illegal
  });
  std::vector<MeasuredTask> tasks = read();
  ASSERT_EQ(tasks.size(), 1u);
  ASSERT_EQ(tasks[0].schedules.size(), 1u);
  EXPECT_EQ(tasks[0].schedules[0].schedule.str(), schedules[1]);
}

/// Searches in company learn from measurements in the same company only, by medians.
TEST_F(MeasuredTasksTest, keepsCompanyApart) {
  Kernel kernel(here);
  std::string company = store::someCompany().str(), other = company + " x";
  for (const std::string &one : {std::string(), company, other}) {
    store::TuningTask task = kernel.task;
    task.text = store::taskInCompany(task.text, one);
    add(task, platform, &here.machine, [&](store::TuningRecord &record) {
      record.samples = {one.empty() ? 1000 : 2000, one == company ? 3000 : 5000, 9000};
    });
  }
  std::map<std::string, double> expected = {{"", 1e-6}, {company, 3e-6}, {other, 5e-6}, {"beside another", 0}};
  for (const auto &[asked, seconds] : expected) {
    MeasuredTasks reader(records, here, platform.key(), asked);
    std::vector<MeasuredTask> tasks = reader.read("contraction");
    reader.addFacts(tasks);
    ASSERT_EQ(tasks.size(), seconds > 0 ? 1u : 0u) << asked;
    for (const MeasuredTask &task : tasks) {
      EXPECT_EQ(task.group, MeasuredTasks::groupOf(kernel.task.text, platform.key()));
      for (const MeasuredSchedule &one : task.schedules)
        EXPECT_NEAR(one.best(), seconds, 1e-9) << asked;
    }
  }
}

} // namespace
} // namespace lathe::tune
