// Instructions that run beside each other: what can stand in two streams at once, errors, cancelled runs.
#include "runtime/plan/Program.h"
#include "runtime/testing/ContextTesting.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <thread>

using namespace lathe;
using namespace lathe::runtime;
using namespace lathe::runtime::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

/// Instructions that copy dims[0] floats and end only when `expected` of them have begun. A minute without the others
/// counts as a failure.
struct Meeting {
  static inline std::atomic<int> arrived{0}, expected{0};
  static inline std::atomic<bool> alone{false};

  static void kernel(void *const *buffers, const int64_t *dims, int64_t, int64_t, void *) {
    auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    int number = ++arrived, last = expected ? (number + expected - 1) / expected * expected : 0;
    while (arrived < last && !alone) {
      if (std::chrono::steady_clock::now() > limit)
        alone = true;
      std::this_thread::yield();
    }
    std::memcpy(buffers[1], buffers[0], static_cast<size_t>(dims[0]) * sizeof(float));
  }
  static void begin(int count) {
    arrived = 0;
    alone = false;
    expected = count;
  }
};

/// A plan with two branches that begin by waiting for each other.
class Branches : public WithTestReferences {
protected:
  TestPlan p;
  std::vector<std::pair<uint32_t, uint32_t>> places;

  size_t instructions() { return p.plan().blocks.empty() ? 0 : p.plan().blocks[0]->instructions.size(); }

  /// Adds both branches: `add` gets the number of the branch and a value of four floats, which is computed first.
  void branches(const std::function<void(int, uint32_t)> &add) {
    for (int number : {0, 1}) {
      std::string n = std::to_string(number);
      uint32_t x = p.input("x" + n, {"4"}), met = p.temporary("met" + n, {"4"});
      p.relay(Meeting::kernel, {x, met}, "4", "1");
      add(number, met);
      places.resize(instructions(), {number * 2, 2});
    }
    p.setPlaces(4, places);
  }

  void setInputs(Context &context, float first = -2) {
    for (size_t i = 0; i < context.model().inputs().size(); ++i)
      if (context.model().inputs()[i].name[0] == 'x')
        context.setInput(i, ramp(4, first + static_cast<float>(i)));
  }

  /// Runs the plan in its order, then with both branches beside each other, then in random orders: equal outputs.
  void expectEqualRuns(const std::function<void(Context &)> &prepare = {}) {
    auto model = p.model();
    auto outputs = [&](Context &context, const RunOptions &options) {
      setInputs(context);
      if (prepare)
        prepare(context);
      std::vector<Value> values;
      for (int repeat = 0; repeat < 3; ++repeat) {
        context.run(options);
        for (size_t i = 0; i < model->outputs().size(); ++i)
          values.push_back(context.output(i).tensor().clone());
      }
      return values;
    };
    Meeting::begin(0);
    Context sequence(model, {.threads = 1}), beside(model, {.threads = 4});
    std::vector<Value> expected = outputs(sequence, {});
    Meeting::begin(2);
    expectEqual(outputs(beside, {}), expected, "beside each other");
    EXPECT_EQ(Meeting::arrived, 6);
    EXPECT_FALSE(Meeting::alone) << "the branches did not run at the same time";
    Meeting::begin(2);
    Context traced(model, {.threads = 8});
    expectEqual(outputs(traced, {.profile = true, .trace = true}), expected, "traced, on twice the slots");
    EXPECT_FALSE(Meeting::alone);
    Meeting::begin(0);
    for (uint64_t seed = 1; seed < 20; ++seed) {
      Context shuffled(model, {.threads = 4});
      expectEqual(outputs(shuffled, {.shuffle = seed}), expected, "in the order of seed " + std::to_string(seed));
    }
    std::vector<uint32_t> observed;
    Context watched(model, {.threads = 4});
    expectEqual(outputs(watched, {.observe = [&](uint32_t id) { observed.push_back(id); }}), expected, "observed");
    EXPECT_TRUE(std::adjacent_find(observed.begin(), observed.begin() + long(observed.size() / 3),
                                   std::greater_equal<>()) == observed.begin() + long(observed.size() / 3) ||
                watched.plan().blocks.size() > 1);
  }
  static void expectEqual(const std::vector<Value> &got, const std::vector<Value> &expected, const std::string &how) {
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      const Tensor &a = got[i].tensor(), &b = expected[i].tensor();
      ASSERT_EQ(a.dims(), b.dims()) << how;
      if (a.type() == ElementType::string)
        EXPECT_EQ(a.strings(), b.strings()) << how;
      else
        EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(b.bytes())), 0) << how << ", output " << i;
    }
  }
};

TEST_F(Branches, kernelsAndReferences) {
  branches([&](int number, uint32_t x) {
    std::string n = std::to_string(number);
    uint32_t a = p.temporary("a" + n, {"4"}), b = p.temporary("b" + n, {"4"});
    p.reference("negate", {int32_t(x)}, {a});
    p.half(a, b, "4");
    p.add(a, b, p.output("out" + n, {"4"}), "4");
  });
  expectEqualRuns();
}

TEST_F(Branches, extentsThatDependOnData) {
  branches([&](int number, uint32_t x) {
    std::string n = std::to_string(number), extent = "?" + n;
    uint32_t kept = p.dynamic("kept" + n, {extent}), late = p.temporary("late" + n, {extent}),
             twice = p.temporary("twice" + n, {extent});
    p.reference("nonnegative", {int32_t(x)}, {kept});
    p.half(kept, late, extent);
    p.add(kept, late, twice, extent);
    p.rowsum(twice, p.output("sum" + n, {"1"}), "1", extent);
    p.half(twice, p.output("out" + n, {extent}), extent);
  });
  expectEqualRuns();
}

void firstIndex(void *const *buffers, const int64_t *, int64_t, int64_t, void *) {
  *static_cast<int64_t *>(buffers[1]) = static_cast<int64_t>(*static_cast<const float *>(buffers[0])) + 5;
}

TEST_F(Branches, computedExtents) {
  branches([&](int number, uint32_t x) {
    std::string n = std::to_string(number), extent = "S" + n;
    uint32_t count = p.temporary("count" + n, {"1"}, ElementType::i64);
    uint32_t late = p.temporary("late" + n, {extent}, ElementType::i64);
    p.relay(firstIndex, {x, count}, "1", "1");
    p.instruction(plan::ComputeShapeT{{}, count, {extent}});
    p.units(late, extent);
    p.relay([](void *const *buffers, const int64_t *dims, int64_t, int64_t,
               void *) { *static_cast<int64_t *>(buffers[1]) = dims[0] + static_cast<int64_t *>(buffers[0])[0]; },
            {late, p.output("out" + n, {"1"}, ElementType::i64)}, extent, "1");
  });
  expectEqualRuns();
}

TEST_F(Branches, valuesWithoutMemoryInTheArena) {
  branches([&](int number, uint32_t x) {
    std::string n = std::to_string(number);
    uint32_t letters =
        p.constant("letters" + n, {"2"}, ElementType::string, {1, 0, 0, 0, char('a' + number), 1, 0, 0, 0, 'z'});
    uint32_t upper = p.dynamic("upper" + n, {"2"}, ElementType::string);
    p.reference("upper", {int32_t(letters)}, {upper});
    p.reference("upper", {int32_t(upper)}, {p.output("text" + n, {"2"}, ElementType::string)});
    p.half(x, p.output("out" + n, {"4"}), "4");
  });
  expectEqualRuns();
}

TEST_F(Branches, branchesAndLoopsInside) {
  uint32_t condition = p.input("condition", {}, ElementType::boolean), trips = p.input("trips", {}, ElementType::i64);
  size_t block = 1;
  branches([&](int number, uint32_t x) {
    std::string n = std::to_string(number);
    uint32_t chosen = p.temporary("chosen" + n, {"4"});
    plan::IfT branch;
    branch.condition = condition;
    branch.then_block = static_cast<uint32_t>(block++);
    branch.else_block = static_cast<uint32_t>(block++);
    p.instruction(branch);
    p.add(x, x, chosen, "4", branch.then_block);
    p.half(x, chosen, "4", branch.else_block);
    uint32_t iteration = p.temporary("i" + n, {}, ElementType::i64);
    uint32_t go = p.temporary("go" + n, {}, ElementType::boolean);
    uint32_t carried = p.temporary("carried" + n, {"4"}), next = p.temporary("next" + n, {"4"});
    uint32_t grown = p.dynamic("grown" + n, {"?g" + n}), longer = p.dynamic("longer" + n, {"?h" + n});
    uint32_t last = p.output("last" + n, {"4"}), all = p.output("all" + n, {"?l" + n});
    plan::LoopT loop;
    loop.trip_count = int32_t(trips);
    loop.body = static_cast<uint32_t>(block++);
    loop.body_inputs = {iteration, go, carried, grown};
    loop.body_outputs = {go, next, longer};
    loop.initial = {chosen, x};
    loop.results = {last, all};
    p.instruction(loop);
    p.add(carried, x, next, "4", loop.body);
    p.reference("append", {int32_t(grown), int32_t(next)}, {longer}, loop.body);
  });
  for (bool taken : {true, false})
    expectEqualRuns([&](Context &context) {
      context.setInput(0, Tensor::of<bool>({}, {taken}));
      context.setInput(1, Tensor::of<int64_t>({}, {300}));
    });
}

TEST_F(Branches, imageLoops) {
  branches([&](int number, uint32_t x) {
    std::string n = std::to_string(number);
    const std::vector<std::string> image = {"8", "40960"};
    uint32_t in = p.input("y" + n, image), half = p.temporary("half" + n, image), quarter = p.temporary("q" + n, image);
    size_t first = instructions();
    p.half(in, half, "8*40960");
    p.half(half, quarter, "8*40960");
    p.add(half, quarter, p.output("sum" + n, image), "8*40960");
    for (size_t i = first; i < instructions(); ++i)
      p.plan().blocks[0]->instructions[i]->operation.AsCallKernel()->images = "8";
    p.half(x, p.output("out" + n, {"4"}), "4");
  });
  p.imageCosts({{600000, 0.02}, {0, 0.1}}, 100);
  Tensor images = ramp(8 * 40960).reshaped({8, 40960});
  bool looped = false;
  expectEqualRuns([&](Context &context) {
    context.setInput(1, images);
    context.setInput(3, images);
    context.outputDims(0);
    for (size_t i = 0; i < context.instructionCount(); ++i)
      looped = looped || (context.threads() == 4 && context.instruction(i).imageByImage);
  });
  EXPECT_TRUE(looped);
}

/// Writes past (P) and one new element behind each other; dims: P. Work items: the past, the new element.
void growByOne(void *const *buffers, const int64_t *dims, int64_t begin, int64_t end, void *) {
  for (int64_t item = begin; item < end; ++item)
    if (item == 0)
      std::memmove(buffers[2], buffers[0], static_cast<size_t>(dims[0]) * sizeof(float));
    else
      static_cast<float *>(buffers[2])[dims[0]] = *static_cast<const float *>(buffers[1]);
}

TEST_F(Branches, growingStates) {
  branches([&](int number, uint32_t x) {
    std::string n = std::to_string(number), positions = "P" + n;
    uint32_t past = p.input("past" + n, {positions}), present = p.output("present" + n, {positions + " + 1"});
    p.plan().values[present]->bytes = positions + ".capacity*4";
    p.relay(growByOne, {past, x, present}, positions, "2");
    p.plan().blocks[0]->instructions.back()->operation.AsCallKernel()->first_unit = positions + ".kept";
    p.rowsum(present, p.output("sum" + n, {"1"}), "1", positions + " + 1");
    auto growth = std::make_unique<plan::GrowthT>();
    growth->input = static_cast<uint32_t>(p.plan().inputs.size() - 1);
    growth->output = static_cast<uint32_t>(p.plan().outputs.size() - 2);
    growth->capacity = positions + ".capacity";
    growth->kept = positions + ".kept";
    p.plan().growths.push_back(std::move(growth));
  });
  expectEqualRuns([&](Context &context) {
    for (size_t number : {0, 1}) {
      context.keepState(2 * number + 1, 2 * number, 50);
      context.setInput(2 * number + 1, ramp(3, 7));
    }
  });
}

/// Element 0 of the branch's integer must be from 0 to 3.
class CheckedBranches : public Branches {
protected:
  CheckedBranches() {
    branches([&](int number, uint32_t x) {
      std::string n = std::to_string(number);
      uint32_t index = p.temporary("index" + n, {"1"}, ElementType::i64);
      p.relay(firstIndex, {x, index}, "1", "1");
      p.relay([](void *const *buffers, const int64_t *, int64_t, int64_t,
                 void *) { static_cast<float *>(buffers[1])[0] = float(*static_cast<int64_t *>(buffers[0])); },
              {index, p.output("out" + n, {"1"})}, "1", "1");
      auto range = std::make_unique<plan::ElementRangeT>();
      range->buffer = 1;
      range->least = {"0"};
      range->most = {"3"};
      range->operand = "index" + n;
      p.plan().blocks[0]->instructions.back()->operation.AsCallKernel()->element_ranges.push_back(std::move(range));
      for (int i = 0; i < 20; ++i) // more instructions behind it
        p.half(x, p.output(fmt::format("half{}.{}", number, i), {"4"}), "4");
    });
  }
};

TEST_F(CheckedBranches, elementsOfBothAreChecked) {
  expectEqualRuns([&](Context &context) { setInputs(context, -4); });
}

TEST_F(CheckedBranches, anErrorEndsBothAndTheContextRunsAgain) {
  auto model = p.model("m.lathe");
  for (int threads : {1, 4})
    for (int wrong : {0, 1}) {
      Context context(model, {.threads = threads});
      for (int repeat = 0; repeat < 20; ++repeat) {
        Meeting::begin(threads == 4 ? 2 : 0);
        setInputs(context, -4);
        context.setInput(static_cast<size_t>(wrong), ramp(4, 7));
        EXPECT_EQ(errorOf([&] { context.run(); }),
                  fmt::format("m.lathe: 'node_relay': index{}[0] is 12, expected a number from 0 to 3", wrong));
        EXPECT_THROW(context.output(0), Error);
        setInputs(context, -4);
        context.run();
        EXPECT_THAT(floats(context.output(0)), ElementsAre(1));
      }
    }
}

TEST_F(Branches, errorsOfReferencesNameTheNode) {
  branches([&](int number, uint32_t x) {
    std::string n = std::to_string(number);
    p.reference(number ? "fail" : "negate", {int32_t(x)}, {p.output("out" + n, {"4"})});
  });
  Context context(p.model("m.lathe"), {.threads = 4});
  setInputs(context);
  Meeting::begin(2);
  EXPECT_EQ(errorOf([&] { context.run(); }), "m.lathe: 'node_fail' (fail): broken on purpose");
}

// ---- Cancelled runs ----

/// Two loops without end, which begin together.
class Endless : public Branches {
protected:
  Endless() {
    size_t block = 1;
    uint32_t trips = p.input("trips", {}, ElementType::i64);
    branches([&](int number, uint32_t x) {
      std::string n = std::to_string(number);
      uint32_t iteration = p.temporary("i" + n, {}, ElementType::i64);
      uint32_t go = p.temporary("go" + n, {}, ElementType::boolean);
      uint32_t carried = p.temporary("carried" + n, {"4"}), next = p.temporary("next" + n, {"4"});
      plan::LoopT loop;
      loop.trip_count = int32_t(trips);
      loop.body = static_cast<uint32_t>(block++);
      loop.body_inputs = {iteration, go, carried};
      loop.body_outputs = {go, next};
      loop.initial = {x};
      loop.results = {p.output("last" + n, {"4"})};
      p.instruction(loop);
      p.half(carried, next, "4", loop.body);
    });
  }
  void start(Context &context, int64_t trips) {
    Meeting::begin(2);
    setInputs(context);
    context.setInput(0, Tensor::of<int64_t>({}, {trips}));
  }
  void expectCancelled(Context &context) {
    EXPECT_THROW(context.run(), Cancelled);
    EXPECT_FALSE(Meeting::alone);
    start(context, 1);
    context.run();
    EXPECT_THAT(floats(context.output(0)), ElementsAre(-0.5f, 0, 0.5f, 1));
  }
};

constexpr int64_t endless = std::numeric_limits<int64_t>::max();

TEST_F(Endless, anotherThreadEndsBoth) {
  Context context(p.model(), {.threads = 4});
  for (int repeat = 0; repeat < 5; ++repeat) {
    start(context, endless);
    std::thread other([&] {
      while (Meeting::arrived < 2)
        std::this_thread::yield();
      context.cancel();
    });
    expectCancelled(context);
    other.join();
  }
}

Context *signalled = nullptr;

TEST_F(Endless, aSignalEndsBoth) {
  Context context(p.model(), {.threads = 4});
  signalled = &context;
  auto before = std::signal(SIGUSR1, [](int) { signalled->cancel(); });
  start(context, endless);
  pthread_t caller = pthread_self();
  std::thread other([&] {
    while (Meeting::arrived < 2)
      std::this_thread::yield();
    pthread_kill(caller, SIGUSR1);
  });
  expectCancelled(context);
  other.join();
  std::signal(SIGUSR1, before);
}

TEST_F(Endless, aCheckMayLetBothGoOn) {
  Context context(p.model(), {.threads = 4});
  std::atomic<int> asked{0};
  context.setCancelCheck([](void *data) { return ++*static_cast<std::atomic<int> *>(data) > 10 ? 1 : 0; }, &asked);
  start(context, endless);
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (Meeting::arrived < 2) // a stream that is asked to end waits before its next kernel
      std::this_thread::yield();
    while (!over) {
      context.cancel();
      std::this_thread::yield();
    }
  });
  EXPECT_THROW(context.run(), Cancelled);
  over = true;
  other.join();
  EXPECT_EQ(asked, 11);
  context.resetCancel();
  start(context, 1);
  context.run();
}

/// The caller's stream has ended long before the other one is cancelled.
TEST_F(Branches, theLongerBranchIsCancelled) {
  uint32_t trips = p.input("trips", {}, ElementType::i64);
  for (uint32_t longer : {0, 2}) {
    p = TestPlan();
    trips = p.input("trips", {}, ElementType::i64);
    uint32_t x = p.input("x", {"4"}), iteration = p.temporary("i", {}, ElementType::i64);
    uint32_t go = p.temporary("go", {}, ElementType::boolean), met = p.temporary("met", {"4"});
    uint32_t carried = p.temporary("carried", {"4"}), next = p.temporary("next", {"4"});
    p.half(x, p.output("out", {"4"}), "4");
    p.relay(Meeting::kernel, {x, met}, "4", "1");
    plan::LoopT loop;
    loop.trip_count = int32_t(trips);
    loop.body = 1;
    loop.body_inputs = {iteration, go, carried};
    loop.body_outputs = {go, next};
    loop.initial = {met};
    loop.results = {p.output("last", {"4"})};
    p.instruction(loop);
    p.half(carried, next, "4", 1);
    p.setPlaces(4, {{2 - longer, 2}, {longer, 2}, {longer, 2}});
    Context context(p.model(), {.threads = 4});
    context.setInput(0, Tensor::of<int64_t>({}, {endless}));
    context.setInput(1, ramp(4));
    Meeting::begin(0);
    std::thread other([&] {
      while (Meeting::arrived < 1)
        std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      context.cancel();
    });
    EXPECT_THROW(context.run(), Cancelled);
    other.join();
  }
}

} // namespace
