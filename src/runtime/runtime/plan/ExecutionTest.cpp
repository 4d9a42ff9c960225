#include "runtime/testing/ContextTesting.h"

#include <gmock/gmock.h>

#include <cstring>
#include <fstream>
#include <unistd.h>

using namespace lathe;
using namespace lathe::runtime;
using namespace lathe::runtime::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

using ExecutionTest = WithTestReferences;

TEST_F(ExecutionTest, callsReferences) {
  TestPlan p;
  uint32_t x = p.input("x", {"N"}), t = p.temporary("t", {"N"}), out = p.output("out", {"N"});
  p.reference("negate", {int32_t(x)}, {t});
  p.half(t, out, "N");
  for (int threads : {1, 3}) {
    Context context(p.model(), {.threads = threads});
    context.setInput(0, ramp(5));
    context.run();
    EXPECT_THAT(floats(context.output(0)), ElementsAre(0, -0.5f, -1, -1.5f, -2));
  }
}

/// Resident bytes of this process.
int64_t residentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// So the kernels' first writes place the pages of temporary values, each team's in the memory next to it.
TEST_F(ExecutionTest, noPageOfTheArenaIsTouchedBeforeTheRun) {
  constexpr int64_t count = int64_t(16) << 20, bytes = 4 * count;
  TestPlan p;
  uint32_t x = p.input("x", {"N"}), t = p.temporary("t", {"N"}), out = p.output("out", {"N"});
  p.half(x, t, "N");
  p.half(t, out, "N");
  Context context(p.model(), {.threads = 2});
  Tensor input(ElementType::f32, {count}), output(ElementType::f32, {count});
  std::memset(input.data(), 0, bytes);
  std::memset(output.data(), 0, bytes);
  context.setInput(0, Tensor::borrow(ElementType::f32, {count}, input.data()));
  context.setOutput(0, Tensor::borrow(ElementType::f32, {count}, output.data()));
  const int64_t before = residentBytes();
  context.outputDims(0); // plans the memory
  EXPECT_GE(context.memory().arenaBytes, uint64_t(bytes));
  EXPECT_LT(residentBytes() - before, bytes / 8);
  context.run();
  EXPECT_GT(residentBytes() - before, bytes / 2);
}

TEST_F(ExecutionTest, referencesThatFailNameTheNode) {
  TestPlan p;
  uint32_t x = p.input("x", {"N"}), out = p.output("out", {"N"});
  p.reference("fail", {int32_t(x)}, {out});
  for (int threads : {1, 4}) {
    Context context(p.model("m.lathe"), {.threads = threads});
    context.setInput(0, ramp(5));
    EXPECT_EQ(errorOf([&] { context.run(); }), "m.lathe: 'node_fail' (fail): broken on purpose");
  }
  TestPlan q;
  uint32_t y = q.input("y", {"N"});
  q.reference("no_such_thing", {int32_t(y)}, {q.output("out", {"N"})});
  EXPECT_EQ(errorOf([&] { q.model("m.lathe"); }),
            "m.lathe: operator 'no_such_thing': unknown operator 'no_such_thing'");
}

TEST_F(ExecutionTest, extentsThatDependOnData) {
  TestPlan p;
  uint32_t x = p.input("x", {"N"});
  uint32_t kept = p.dynamic("kept", {"?0"});
  uint32_t late = p.temporary("late", {"?0"}); // written by a kernel once ?0 is known
  uint32_t out = p.output("out", {"?0"});
  p.reference("nonnegative", {int32_t(x)}, {kept});
  p.half(kept, late, "?0");
  p.add(kept, late, out, "?0");
  Context context(p.model());
  context.setInput(0, Tensor::of<float>({5}, {1, -1, 2, -2, 3}));
  EXPECT_THAT(errorOf([&] { context.outputDims(0); }), HasSubstr("depends on data"));
  context.run();
  EXPECT_THAT(floats(context.output(0)), ElementsAre(1.5f, 3, 4.5f));
  context.setInput(0, Tensor::of<float>({5}, {1, -1, -2, -2, -3}));
  context.run();
  EXPECT_THAT(floats(context.output(0)), ElementsAre(1.5f));
  context.setInput(0, Tensor::of<float>({4}, {1, 2, 4, 8}));
  float mine[4];
  context.setOutput(0, Tensor::borrow(ElementType::f32, {4}, mine));
  context.run();
  EXPECT_THAT(mine, ElementsAre(1.5f, 3, 6, 12));
}

TEST_F(ExecutionTest, shapesComputedFromValues) {
  TestPlan p;
  uint32_t shape = p.input("shape", {"1"}, ElementType::i64);
  uint32_t out = p.output("out", {"M"});
  plan::ComputeShapeT compute;
  compute.from = shape;
  compute.symbols = {"M"};
  p.instruction(compute);
  p.table(out, "M");
  Context context(p.model("m.lathe"));
  for (int64_t m : {3, 0, 5}) {
    context.setInput(0, Tensor::of<int64_t>({1}, {m}));
    context.run();
    EXPECT_EQ(context.output(0).tensor().dims(), std::vector<int64_t>{m});
  }
  EXPECT_EQ(floats(context.output(0))[4], 1.5f);
  context.setInput(0, Tensor::of<int64_t>({1}, {-3}));
  EXPECT_NE(errorOf([&] { context.run(); }), "no error");
  context.setInput(0, Tensor::of<int64_t>({1}, {int64_t(1) << 61}));
  EXPECT_NE(errorOf([&] { context.run(); }), "no error");
}

TEST_F(ExecutionTest, branches) {
  TestPlan p;
  uint32_t condition = p.input("condition", {}, ElementType::boolean);
  uint32_t x = p.input("x", {"N"}), out = p.output("out", {"N"});
  plan::IfT branch;
  branch.condition = condition;
  branch.then_block = 1;
  branch.else_block = 2;
  p.instruction(branch);
  p.add(x, x, out, "N", 1);
  p.half(x, out, "N", 2);
  Context context(p.model());
  context.setInput(1, ramp(3));
  for (bool taken : {true, false, true}) {
    context.setInput(0, Tensor::of<bool>({}, {taken}));
    context.run();
    EXPECT_EQ(floats(context.output(0))[2], taken ? 4.0f : 1.0f);
  }
}

/// Runs x -> x + x `trips` times while the counter is below `limit`; scans every x; also appends to a growing vector.
TestPlan loopPlan() {
  TestPlan p;
  uint32_t trips = p.input("trips", {}, ElementType::i64), limit = p.input("limit", {}, ElementType::i64);
  uint32_t x = p.input("x", {"2"});
  uint32_t iteration = p.temporary("i", {}, ElementType::i64), go = p.temporary("go", {}, ElementType::boolean);
  uint32_t carried = p.temporary("carried", {"2"}), twice = p.temporary("twice", {"2"});
  uint32_t grown = p.dynamic("grown", {"?g"}), longer = p.dynamic("longer", {"?h"});
  uint32_t next = p.temporary("next", {}, ElementType::i64), more = p.temporary("more", {}, ElementType::boolean);
  uint32_t last = p.output("last", {"2"}), all = p.output("all", {"?l"}), scan = p.output("scan", {"?s", "2"});
  plan::LoopT loop;
  loop.trip_count = int32_t(trips);
  loop.body = 1;
  loop.body_inputs = {iteration, go, carried, grown};
  loop.body_outputs = {more, twice, longer, twice};
  loop.initial = {x, x};
  loop.results = {last, all, scan};
  p.instruction(loop);
  p.add(carried, carried, twice, "2", 1);
  p.reference("append", {int32_t(grown), int32_t(twice)}, {longer}, 1);
  p.reference("increment", {int32_t(iteration)}, {next}, 1);
  p.reference("less", {int32_t(next), int32_t(limit)}, {more}, 1);
  return p;
}

TEST_F(ExecutionTest, loops) {
  Context context(loopPlan().model());
  auto run = [&](int64_t trips, int64_t limit) {
    context.setInput(0, Tensor::of<int64_t>({}, {trips}));
    context.setInput(1, Tensor::of<int64_t>({}, {limit}));
    context.setInput(2, Tensor::of<float>({2}, {1, 3}));
    context.run();
  };
  run(2, 100);
  EXPECT_THAT(floats(context.output(0)), ElementsAre(4, 12));
  EXPECT_THAT(floats(context.output(1)), ElementsAre(1, 3, 2, 6, 4, 12));
  EXPECT_THAT(floats(context.output(2)), ElementsAre(2, 6, 4, 12));
  EXPECT_EQ(context.output(2).tensor().dims(), (std::vector<int64_t>{2, 2}));
  run(100, 3); // the condition ends it
  EXPECT_THAT(floats(context.output(0)), ElementsAre(8, 24));
  run(0, 3); // no iteration
  EXPECT_THAT(floats(context.output(0)), ElementsAre(1, 3));
  EXPECT_THAT(floats(context.output(1)), ElementsAre(1, 3));
  EXPECT_EQ(context.output(2).tensor().dims(), (std::vector<int64_t>{0, 2}));
}

TEST_F(ExecutionTest, strings) {
  TestPlan p;
  uint64_t count;
  std::string words[] = {"a", "bc", ""};
  uint64_t offset = p.constants.addStrings(words, count);
  uint32_t c = p.constant("words", {"3"}, ElementType::string, {});
  p.plan().values[c]->offset = offset;
  p.plan().values[c]->bytes = std::to_string(count);
  uint32_t t = p.temporary("t", {"3"}, ElementType::string);
  p.reference("upper", {int32_t(c)}, {t});
  p.reference("upper", {int32_t(t)}, {p.output("out", {"3"}, ElementType::string)});
  Context context(p.model());
  context.run();
  EXPECT_THAT(context.output(0).tensor().strings(), ElementsAre("A", "BC", ""));
  Tensor mine(ElementType::string, {3});
  context.setOutput(0, mine);
  context.run();
  EXPECT_THAT(mine.strings(), ElementsAre("A", "BC", ""));
}
/// Values without elements are there although no instruction writes them; others are not.
TEST_F(ExecutionTest, emptyValuesThatNothingWrites) {
  TestPlan p;
  uint32_t t = p.temporary("t", {"N", "0"}, ElementType::string);
  p.input("x", {"N"});
  p.reference("upper", {int32_t(t)}, {p.output("out", {"N", "0"}, ElementType::string)});
  Context context(p.model());
  context.setInput(0, Tensor::of<float>({2}, {1, 3}));
  context.run();
  EXPECT_EQ(context.output(0).tensor().dims(), (std::vector<int64_t>{2, 0}));
  TestPlan q;
  uint32_t missing = q.temporary("missing", {"2"}, ElementType::string);
  q.reference("upper", {int32_t(missing)}, {q.output("out", {"2"}, ElementType::string)});
  Context other(q.model());
  EXPECT_THAT(errorOf([&] { other.run(); }), HasSubstr("'missing' is used before it is computed"));
}

} // namespace
