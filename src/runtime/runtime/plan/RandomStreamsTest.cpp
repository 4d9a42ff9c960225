// Random plans whose instructions run beside each other: their results are those of the sequence.
#include "runtime/plan/Program.h"
#include "runtime/testing/ContextTesting.h"
#include "support/SeedTesting.h"

#include <algorithm>
#include <random>

using namespace lathe;
using namespace lathe::runtime;
using namespace lathe::runtime::testing;

namespace {

/// Kernels and references on random earlier values, on random places.
class RandomPlan {
public:
  explicit RandomPlan(uint64_t seed) : random(seed) {
    values = {p.input("x", {"64"})};
    threads = 2 + static_cast<int>(random() % 7);
    for (size_t i = 0, count = 4 + random() % 20; i < count; ++i)
      add(i);
    for (uint32_t value : values)
      if (value != values[0] && random() % 4 == 0)
        p.half(value, p.output(fmt::format("out{}", value), {"64"}), "64"), place();
    p.half(values.back(), p.output("out", {"64"}), "64"), place();
    p.setPlaces(threads, places);
  }

  TestPlan p;
  int threads;

private:
  std::mt19937_64 random;
  std::vector<uint32_t> values; // of 64 floats
  std::vector<std::pair<uint32_t, uint32_t>> places, teams;

  uint32_t pick() { return values[values.size() - 1 - random() % std::min<size_t>(values.size(), 5)]; }

  /// Gives the instruction that was added last a place. About every eighth instruction begins new teams.
  void place() {
    if (teams.empty() || random() % 8 == 0) {
      teams.clear();
      auto all = static_cast<uint32_t>(threads);
      for (uint32_t first = 0; first < all;) {
        auto count = static_cast<uint32_t>(1 + random() % (all - first));
        teams.push_back({first, count});
        first += count;
      }
      std::shuffle(teams.begin(), teams.end(), random);
    }
    places.push_back(random() % 10 == 0 ? std::pair(0u, 0u) : teams[random() % teams.size()]);
  }

  void add(size_t i) {
    std::string name = fmt::format("v{}", i);
    switch (random() % 5) {
    case 0:
      values.push_back(p.temporary(name, {"64"}));
      p.reference("negate", {int32_t(values[random() % (values.size() - 1)])}, {values.back()});
      break;
    case 1: { // two halves by two instructions
      uint32_t whole = p.temporary(name, {"64"}), a = p.alias(name + "a", {"32"}, whole),
               b = p.alias(name + "b", {"32"}, whole, "128");
      for (uint32_t value : {whole, a, b})
        p.plan().values[value]->bytes = value == whole ? "256" : "128";
      p.half(pick(), a, "32"), place();
      p.half(pick(), b, "32");
      values.push_back(whole);
      break;
    }
    case 2: { // a scratch of its own, rows of 8
      uint32_t sums = p.temporary(name + "s", {"8"}), wide = p.temporary(name, {"64"});
      p.rowsum(pick(), sums, "8", "8"), place();
      p.relay(
          [](void *const *buffers, const int64_t *dims, int64_t begin, int64_t end, void *) {
            for (int64_t i = begin; i < end; ++i)
              static_cast<float *>(buffers[1])[i] = static_cast<const float *>(buffers[0])[i / dims[0]] + float(i);
          },
          {sums, wide}, "8", "64");
      values.push_back(wide);
      break;
    }
    default:
      uint32_t out = p.temporary(name, {"64"});
      p.add(pick(), pick(), out, "64");
      values.push_back(out);
    }
    place();
  }
};

std::vector<std::vector<float>> outputsOf(Context &context, const RunOptions &options = {}) {
  context.setInput(0, ramp(64, 1));
  context.run(options);
  std::vector<std::vector<float>> outputs;
  for (size_t i = 0; i < context.model().outputs().size(); ++i)
    outputs.push_back(floats(context.output(i)));
  return outputs;
}

using RandomStreamsTest = WithTestReferences;

TEST_F(RandomStreamsTest, randomPlansEqualTheirSequence) {
  uint64_t seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  int beside = 0;
  for (uint64_t round = 0; round < 300; ++round) {
    RandomPlan plan(seed + round);
    auto model = plan.p.model();
    Context sequence(model, {.threads = 1});
    auto expected = outputsOf(sequence);
    for (int threads : {2, 3, 8, plan.threads}) {
      Context context(model, {.threads = threads});
      ASSERT_EQ(outputsOf(context), expected) << "round " << round << ", " << threads << " threads";
      ASSERT_EQ(outputsOf(context, {.observe = [](uint32_t) {}}), expected) << "round " << round;
      ASSERT_EQ(outputsOf(context, {.shuffle = seed + round + 1}), expected) << "round " << round << ", shuffled";
      ASSERT_EQ(outputsOf(context), expected) << "round " << round << ", " << threads << " threads, again";
      beside += context.memory().arenaBytes != sequence.memory().arenaBytes;
    }
  }
  EXPECT_GT(beside, 50) << "hardly any plan needed memory for streams";
}

/// A planner that lets values share bytes although their uses have no order is found by shuffled runs.
TEST_F(RandomStreamsTest, shuffledRunsFindSharedBytes) {
  uint64_t seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  int found = 0;
  for (uint64_t round = 0; round < 100; ++round) {
    RandomPlan plan(seed + round);
    auto model = plan.p.model();
    Context sequence(model, {.threads = 1});
    auto expected = outputsOf(sequence);
    auto &changed = const_cast<Plan &>(model->program().plans[0]);
    for (StreamLife &life : changed.streamLives) // as if an instruction waited for all that stand before it
      for (uint32_t &begin : life.begins)
        begin = std::max(begin, *std::max_element(life.begins.begin(), life.begins.end()));
    Context context(model, {.threads = plan.threads});
    for (uint64_t order = 1; order < 6; ++order)
      if (outputsOf(context, {.shuffle = order}) != expected) {
        ++found;
        break;
      }
  }
  EXPECT_GT(found, 0);
}

} // namespace
