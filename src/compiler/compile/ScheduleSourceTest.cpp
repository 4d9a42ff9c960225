#include "compile/Compile.h"

#include "ir/Context.h"

#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>

namespace lathe {
namespace {

using testing::HasSubstr;

/// A source that tests fill and that records the tasks it is asked for.
struct Records {
  std::string name;
  std::map<std::string, std::string> schedules; // by task
  std::vector<std::string> asked;               // tasks
  std::shared_ptr<const ScheduleSource> source =
      std::make_shared<TaskSchedules>(name, [this](const std::string &task) -> std::optional<TaskSchedules::Entry> {
        asked.push_back(task);
        auto found = schedules.find(task);
        return found == schedules.end() ? std::nullopt : std::optional(TaskSchedules::Entry{found->second, name});
      });

  Records(std::string name) : name(std::move(name)) {}
  Records(const Records &) = delete; // other objects point at this source
};

class ScheduleSourceTest : public testing::Test {
protected:
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  Target target = Target::parse("x86-64-v3");
  Records records{"records"}, later{"later"};
  mlir::OwningOpRef<mlir::ModuleOp> module;

  static std::string kernel(const std::string &name, const std::string &attributes = "") {
    return fmt::format("func.func private @{}(%x: tensor<65536xf32>) -> tensor<65536xf32> attributes {{nn.family = "
                       "\"elementwise\"{}}} {{\n  %0 = nn.relu %x : (tensor<65536xf32>) -> tensor<65536xf32>\n"
                       "  return %0 : tensor<65536xf32>\n}}\n",
                       name, attributes);
  }
  std::vector<mlir::func::FuncOp> parse(const std::string &text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    EXPECT_TRUE(module);
    auto functions = module->getOps<mlir::func::FuncOp>();
    return {functions.begin(), functions.end()};
  }
  std::string task(mlir::func::FuncOp function) { return ScheduleTask(KernelProblem{{}, function, target}).text(); }
  KernelLibrary library(ScheduleBook &book) { return KernelLibrary(target, {}, book, {records.source, later.source}); }
};

TEST_F(ScheduleSourceTest, asksInOrder) {
  mlir::func::FuncOp own = parse(kernel("k", ", nn.schedule = \"map/2 interleave=4\""))[0];
  ScheduleBook none, book("# by hand\nk: map/2 interleave=1\n", "mine.txt");
  KernelLibrary all = library(book);
  EXPECT_EQ(all.compiled(own).schedule.number("interleave"), 1);
  EXPECT_EQ(all.originOf(own), "mine.txt, line 2");
  EXPECT_TRUE(records.asked.empty()) << "the file has an answer";
  KernelLibrary written = library(none);
  EXPECT_EQ(written.compiled(own).schedule.number("interleave"), 4);
  EXPECT_EQ(written.originOf(own), "nn.schedule of the kernel");

  mlir::func::FuncOp plain = parse(kernel("k"))[0];
  later.schedules[task(plain)] = "map/2 interleave=2";
  KernelLibrary second = library(none);
  EXPECT_EQ(second.compiled(plain).schedule.number("interleave"), 2);
  EXPECT_EQ(second.originOf(plain), "later");
  EXPECT_FALSE(records.asked.empty());
  records.schedules[task(plain)] = "map/2 interleave=3";
  KernelLibrary first = library(none);
  EXPECT_EQ(first.compiled(plain).schedule.number("interleave"), 3);
  EXPECT_EQ(first.originOf(plain), "records");
}

TEST_F(ScheduleSourceTest, thePriorIsLast) {
  mlir::func::FuncOp function = parse(kernel("k"))[0];
  ScheduleBook none;
  KernelLibrary all = library(none);
  std::string prior = priorSchedule(KernelProblem{{}, function, target})->str();
  EXPECT_EQ(Schedule::parse(all.compiled(function).schedule.str()).algorithm, Schedule::parse(prior).algorithm);
  EXPECT_THAT(all.originOf(function), testing::AnyOf("the prior's rule", "the prior's model"));
  EXPECT_EQ(records.asked.front(), task(function));
  EXPECT_EQ(later.asked.front(), task(function));
}

/// A record of another build may be illegal now, but a line of a file must be legal, because the user asks for it.
TEST_F(ScheduleSourceTest, onlyARequiredScheduleMustBeLegal) {
  mlir::func::FuncOp function = parse(kernel("k"))[0];
  const char *foreign = "softmax/2 grain=1";
  records.schedules[task(function)] = foreign;
  later.schedules[task(function)] = "map/2 interleave=2";
  ScheduleBook none, book(fmt::format("k: {}\n", foreign), "mine.txt");
  KernelLibrary all = library(none);
  EXPECT_EQ(all.declines(function), "");
  EXPECT_EQ(all.compiled(function).schedule.number("interleave"), 2);
  EXPECT_EQ(all.originOf(function), "later");
  KernelLibrary strict = library(book);
  try {
    strict.declines(function);
    ADD_FAILURE() << "an illegal line of the file is an error";
  } catch (const Error &error) {
    EXPECT_THAT(error.what(), HasSubstr("schedule 'softmax/2 grain=1' is not legal"));
  }
}

TEST_F(ScheduleSourceTest, recordsAreOfOneTask) {
  auto functions = parse(kernel("k"));
  ScheduleTask asked(KernelProblem{{}, functions[0], target});
  Outcome<FoundSchedule> none = records.source->find(asked);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.reason(), "records has no schedule for the task " + asked.text());
}

/// The version of an algorithm may have been removed since a record was made.
TEST_F(ScheduleSourceTest, undeclaredSchedulesAreNoted) {
  mlir::func::FuncOp function = parse(kernel("k"))[0];
  ScheduleBook none;
  KernelLibrary without = library(none);
  std::string prior = without.compiled(function).schedule.str();
  EXPECT_THAT(without.notes(), testing::IsEmpty());
  records.schedules[task(function)] = "map/2 nonsense=1";
  later.schedules[task(function)] = "softmax/2 grain=1";
  KernelLibrary all = library(none);
  EXPECT_EQ(all.compiled(function).schedule.str(), prior);
  EXPECT_THAT(all.originOf(function), testing::AnyOf("the prior's rule", "the prior's model"));
  EXPECT_THAT(all.notes(), testing::UnorderedElementsAre(
                               testing::AllOf(testing::StartsWith("records is not used: "), HasSubstr("nonsense")),
                               testing::AllOf(testing::StartsWith("later is not used for "), HasSubstr("softmax/2"),
                                              HasSubstr("is not legal: "))));
}

TEST_F(ScheduleSourceTest, recordsKeepThePrecision) {
  mlir::func::FuncOp function = parse(
      "func.func private @k(%x: tensor<4x64xf32>, %w: tensor<64x32xf32> {nn.constant}) -> tensor<4x32xf32> attributes "
      "{nn.family = \"contraction\"} {\n  %0 = nn.matmul %x, %w : (tensor<4x64xf32>, tensor<64x32xf32>) -> "
      "tensor<4x32xf32>\n  return %0 : tensor<4x32xf32>\n}\n")[0];
  auto entry = [](const std::string &) -> std::optional<TaskSchedules::Entry> {
    return TaskSchedules::Entry{"gemm/2 type=bf16", "a record"};
  };
  TaskSchedules asked("asked", entry), kept("kept", entry, true);
  KernelOptions rounding;
  rounding.precision = Precision::bf16;
  ScheduleTask exact(KernelProblem{{}, function, target}), rounded(KernelProblem{rounding, function, target});
  EXPECT_TRUE(asked.find(exact));
  EXPECT_TRUE(kept.find(rounded));
  EXPECT_THAT(kept.notes(), testing::IsEmpty());
  EXPECT_FALSE(kept.find(exact));
  EXPECT_THAT(kept.notes(), testing::ElementsAre("a record is not used: schedule 'gemm/2 type=bf16' rounds operands, "
                                                 "expected --precision bf16"));
}

/// Predictions use the prior's schedules, even if records have others.
TEST_F(ScheduleSourceTest, recordsDoNotPredict) {
  mlir::func::FuncOp function = parse(kernel("k"))[0];
  ScheduleBook none, book("k: map/2 interleave=1 grain=64\n", "mine.txt");
  double prior = *KernelLibrary(target, {}, none).predictCycles(function);
  records.schedules[task(function)] = "map/2 interleave=1 grain=64";
  EXPECT_EQ(*library(none).predictCycles(function), prior);
  double given = *library(book).predictCycles(function);
  EXPECT_NE(given, prior);
  KernelLibrary recorded = library(none);
  EXPECT_EQ(recorded.compiled(function).predictedCycles,
            given); // the plan has the prediction of its schedule
}

/// A graph chosen by times of default schedules does not change when a search finds better schedules for its kernels.
TEST_F(ScheduleSourceTest, timesAreOfSchedulesThatRecordsDoNotChange) {
  mlir::func::FuncOp function = parse(kernel("k"))[0];
  ScheduleBook none, book("k: map/2 interleave=1 grain=64\n", "mine.txt");
  std::vector<std::pair<std::string, std::string>> asked;
  std::optional<double> answer = 2e-6;
  auto times = [&](const ScheduleTask &task, const Schedule &schedule, BatchOrder) {
    asked.push_back({task.text(), schedule.str()});
    return answer;
  };
  std::string prior = priorSchedule(KernelProblem{{}, function, target})->str();
  records.schedules[task(function)] = "map/2 interleave=2";
  EXPECT_EQ(*KernelLibrary(target, {}, none, {records.source}, times).measuredSeconds(function), 2e-6);
  EXPECT_EQ(*KernelLibrary(target, {}, book, {records.source}, times).measuredSeconds(function), 2e-6);
  answer.reset();
  KernelLibrary library(target, {}, none, {records.source}, times);
  EXPECT_FALSE(library.measuredSeconds(function));
  EXPECT_THAT(asked, testing::ElementsAre(testing::Pair(task(function), prior),
                                          testing::Pair(task(function), "map/2 grain=64"),
                                          testing::Pair(task(function), prior)));
  EXPECT_FALSE(KernelLibrary(target, {}, none).measuredSeconds(function));
  EXPECT_EQ(library.size(), 0u);
}

TEST_F(ScheduleSourceTest, equalKernelsShareCodeNotOrigins) {
  auto functions = parse(kernel("a") + kernel("b"));
  ScheduleBook book("a: map/2 interleave=2\n", "mine.txt");
  records.schedules[task(functions[1])] = "map/2 interleave=2";
  KernelLibrary all = library(book);
  EXPECT_EQ(&all.compiled(functions[0]), &all.compiled(functions[1]));
  EXPECT_EQ(all.size(), 1u);
  EXPECT_EQ(all.originOf(functions[0]), "mine.txt, line 1");
  EXPECT_EQ(all.originOf(functions[1]), "records");
}

TEST_F(ScheduleSourceTest, kernelsWithoutAnyScheduleAreDeclined) {
  mlir::func::FuncOp function =
      parse("func.func private @k(%x: tensor<4x0xf32>) -> tensor<4x0xf32> attributes {nn.family = \"elementwise\"} {\n"
            "  %0 = nn.relu %x : (tensor<4x0xf32>) -> tensor<4x0xf32>\n  return %0 : tensor<4x0xf32>\n}\n")[0];
  ScheduleBook none;
  KernelLibrary all = library(none);
  EXPECT_THAT(all.declines(function), HasSubstr("no elements"));
  EXPECT_EQ(all.originOf(function), "");
}

/// The plan has the origins of schedules and their predicted costs.
TEST_F(ScheduleSourceTest, reachesThePlan) {
  std::string text = kernel("k") + "func.func @main(%x: tensor<65536xf32>) -> tensor<65536xf32> {\n"
                                   "  %0 = call @k(%x) : (tensor<65536xf32>) -> tensor<65536xf32>\n"
                                   "  return %0 : tensor<65536xf32>\n}\n";
  mlir::func::FuncOp function = parse(text)[0];
  KernelProblem problem{{}, function, target};
  records.schedules[task(function)] = "map/2 interleave=2";
  CompileOptions options;
  options.target = "x86-64-v3";
  options.schedules = {records.source, later.source};
  EXPECT_THAT(emitLevel(*module, options, Level::schedule),
              testing::ContainsRegex("\nk: map/2 interleave=2[^\n]*  # records\n"));
  ScheduleBook none;
  KernelLibrary all = library(none);
  package::Constants constants;
  BuiltPlan built = buildPlan(*module, all, constants);
  ASSERT_EQ(built.plan->kernels.size(), 1u);
  const plan::KernelT &row = *built.plan->kernels[0];
  EXPECT_EQ(row.origin, "records");
  EXPECT_EQ(row.predicted_cycles, (*readFacts(problem))->predict(readSchedule(row.schedule)).total());
  EXPECT_GT(row.predicted_cycles, 0);
}

} // namespace
} // namespace lathe
