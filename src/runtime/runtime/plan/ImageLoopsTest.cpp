#include "runtime/plan/ImageCost.h"
#include "runtime/testing/ContextTesting.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

using namespace lathe;
using namespace lathe::runtime;
using namespace lathe::runtime::testing;

namespace {

using ImageLoopsTest = WithTestReferences;

/// out = (x / 2 + x / 4) + x, late = (x / 2 + x / 4) / 2; N images of 40960 elements, all but the last kernel by
/// images. With `stages`, 100 stages of 13 N units, called by images as well, stand in the middle of them.
TestPlan batches(bool stages = false) {
  TestPlan p;
  const std::vector<std::string> image = {"N", "40960"};
  uint32_t x = p.input("x", image), half = p.temporary("half", image), quarter = p.temporary("quarter", image);
  uint32_t sum = p.temporary("sum", image), out = p.output("out", image), late = p.output("late", image);
  p.half(x, half, "N*40960");
  p.half(half, quarter, "N*40960");
  if (stages)
    p.waves(p.output("waves", {"13*N"}, ElementType::i64), "13*N", "100");
  p.add(half, quarter, sum, "N*40960");
  p.add(sum, x, out, "N*40960");
  for (auto &instruction : p.plan().blocks[0]->instructions)
    instruction->operation.AsCallKernel()->images = "N";
  p.half(sum, late, "N*40960");
  p.imageCosts({{600000, 0.02}, {0, 0.1}}, 100); // one image of a call stays near, two do not
  return p;
}

TEST_F(ImageLoopsTest, callsInStagesRunWholeBesideImages) {
  auto model = batches(true).model();
  for (int threads : {1, 2, 3, 8}) {
    constexpr int64_t images = 16;
    Context context(model, {.threads = threads});
    Tensor x = ramp(images * 40960);
    context.setInput(0, Tensor::borrow(ElementType::f32, {images, 40960}, x.data()));
    context.run();
    const int64_t *got = context.output(2).tensor().as<int64_t>();
    EXPECT_EQ(std::vector<int64_t>(got, got + 13 * images), wavesAfter(100, 13 * images)) << threads << " threads";
    int64_t last = images * 40960 - 1;
    EXPECT_EQ(floats(context.output(0))[static_cast<size_t>(last)],
              float(last) * 0.5f + float(last) * 0.25f + float(last));
  }
}

TEST_F(ImageLoopsTest, batchesPassImageByImage) {
  auto model = batches().model();
  for (int threads : {1, 2, 3, 8})
    for (int64_t images : {1, 2, 7, 8, 16}) {
      Context context(model, {.threads = threads});
      Tensor x = ramp(images * 40960);
      context.setInput(0, Tensor::borrow(ElementType::f32, {images, 40960}, x.data()));
      context.run();
      std::vector<float> out = floats(context.output(0)), late = floats(context.output(1));
      uint64_t arena = context.memory().arenaBytes;
      for (int64_t i : {int64_t(0), images * 40960 / 2, images * 40960 - 1}) {
        EXPECT_EQ(out[i], float(i) * 0.5f + float(i) * 0.25f + float(i)) << threads << " threads, image " << i / 40960;
        EXPECT_EQ(late[i], (float(i) * 0.5f + float(i) * 0.25f) * 0.5f);
      }
      // Observed, every value is there after every instruction; the results are the same.
      int seen = 0;
      RunOptions observed;
      observed.observe = [&](uint32_t instruction) {
        if (instruction == 1) {
          EXPECT_EQ(floats(context.readValue(2)).back(), float(images * 40960 - 1) * 0.25f);
        }
        ++seen;
      };
      context.run(observed);
      EXPECT_EQ(seen, 5);
      EXPECT_EQ(floats(context.output(0)), out);
      EXPECT_EQ(floats(context.output(1)), late);
      if (images >= 7 && threads < images / 2) {
        EXPECT_LT(arena, context.memory().arenaBytes) << images << " images, " << threads << " threads";
      }
      context.run({.profile = true});
      EXPECT_EQ(context.profileRows().size(), 5u);
      EXPECT_EQ(floats(context.output(0)), out);
    }
}

TEST_F(ImageLoopsTest, thePlanSaysWhichBatchesPassImageByImage) {
  using Levels = std::vector<std::pair<double, double>>;
  auto arena = [](const Levels &levels, double callCycles, int threads, int64_t images = 16) {
    TestPlan p = batches();
    p.imageCosts(levels, callCycles);
    Context context(p.model(), {.threads = threads});
    Tensor x = ramp(images * 40960);
    context.setInput(0, Tensor::borrow(ElementType::f32, {images, 40960}, x.data()));
    context.run();
    return context.memory().arenaBytes;
  };
  // `half` and `quarter` live inside: an image of them instead of 16. `sum` is used after the loop.
  const Levels near = {{600000, 0.02}, {0, 0.1}}, large = {{1e9, 0.02}, {0, 0.1}}, flat = {{600000, 0.1}, {0, 0.1}};
  uint64_t whole = arena({}, 0, 1), looped = arena(near, 100, 1);
  EXPECT_EQ(looped, whole - 2 * 15 * 40960 * 4);
  EXPECT_EQ(arena(large, 0, 1), whole);                     // one level holds the whole batch
  EXPECT_EQ(arena(flat, 0, 1), whole);                      // no level is faster
  EXPECT_EQ(arena(near, 1e6, 1), whole);                    // starting kernels costs more than it saves
  EXPECT_EQ(arena(near, 100, 2), looped + 2 * 40960 * 4);   // a replica a thread
  EXPECT_EQ(arena({{2e6, 0.02}, {0, 0.1}}, 100, 8), whole); // two images of each thread stay near
  EXPECT_EQ(arena(near, 100, 16), whole);                   // one image for each thread
}

TEST_F(ImageLoopsTest, measuredTimesDecideWhereAllAreKnown) {
  const std::vector<std::pair<double, double>> near = {{600000, 0.02}, {0, 0.1}}, flat = {{600000, 0.1}, {0, 0.1}};
  auto arena = [](const auto &levels, double byImages, int threads = 1, size_t timed = 4) {
    TestPlan p = batches();
    p.imageCosts(levels, 100);
    p.program.threads = 1;
    for (size_t i = 0; i < timed; ++i) {
      plan::CallKernelT &call = *p.plan().blocks[0]->instructions[i]->operation.AsCallKernel();
      call.call_seconds = 1e-5;
      call.images_seconds = 1e-5 * byImages;
    }
    Context context(p.model(), {.threads = threads});
    Tensor x = ramp(16 * 40960);
    context.setInput(0, Tensor::borrow(ElementType::f32, {16, 40960}, x.data()));
    context.run();
    for (int64_t i : {int64_t(0), int64_t(16 * 40960 - 1)})
      EXPECT_EQ(floats(context.output(0))[size_t(i)], float(i) * 0.5f + float(i) * 0.25f + float(i));
    EXPECT_EQ(context.instruction(4).imageByImage, false);
    uint64_t bytes = context.memory().arenaBytes;
    EXPECT_EQ(context.instruction(1).imageByImage, bytes < 3u * 16 * 40960 * 4) << bytes;
    return bytes;
  };
  uint64_t whole = arena(flat, 1), looped = arena(near, 1);
  EXPECT_LT(looped, whole);
  EXPECT_EQ(arena(near, 1.04), looped); // within imageDoubt
  EXPECT_EQ(arena(near, 1.06), whole);
  EXPECT_EQ(arena(flat, 0.96), whole);
  EXPECT_EQ(arena(flat, 0.9), looped);
  EXPECT_EQ(arena(near, 1.06, 1, 2), looped); // a call of the loop was not measured
  EXPECT_GT(arena(near, 1.06, 2), looped);    // the times are of one thread
  EXPECT_LT(arena(near, 1.06, 2), whole);
  EXPECT_EQ(arena(flat, 0.5, 2), whole);
}

TEST_F(ImageLoopsTest, aPlanWithoutCostsPassesWholeBatches) {
  TestPlan p = batches();
  p.plan().image_costs = nullptr;
  Context context(p.model(), {.threads = 1});
  Tensor x = ramp(16 * 40960);
  context.setInput(0, Tensor::borrow(ElementType::f32, {16, 40960}, x.data()));
  context.run();
  EXPECT_GE(context.memory().arenaBytes, 3u * 16 * 40960 * 4);
}

// ---- The decision alone

const ImageCosts twoLevels = {MemoryLevels({{1000, 0}, {0, 1}}), 1};

std::vector<std::pair<size_t, size_t>> stretches(const std::vector<ImageCall> &calls,
                                                 const std::vector<ImageValue> &values, int64_t images, int threads,
                                                 const ImageCosts &costs = twoLevels) {
  std::vector<std::pair<size_t, size_t>> result;
  for (const Stretch &stretch : imageStretches(calls, values, images, threads, costs))
    result.emplace_back(stretch.first, stretch.last);
  return result;
}

TEST(ImageCost, weightsThatAreReadAgainWeighAgainstValuesThatStayNear) {
  using ::testing::ElementsAre, ::testing::Pair, ::testing::IsEmpty;
  // Three calls hand on two values of 400 bytes an image; 800 bytes pass through a call.
  const std::vector<ImageValue> values = {{400, 0, 1, {0, 1}}, {400, 1, 2, {1, 2}}};
  auto calls = [](double first, double last) { return std::vector<ImageCall>{{800, first}, {800, 100}, {800, last}}; };
  EXPECT_THAT(stretches(calls(0, 0), values, 8, 1), ElementsAre(Pair(0, 3)));
  EXPECT_THAT(stretches(calls(0, 0), values, 8, 4), ElementsAre(Pair(0, 3)));
  EXPECT_THAT(stretches(calls(0, 0), values, 8, 8), IsEmpty());
  EXPECT_THAT(stretches(calls(0, 0), values, 1, 1), IsEmpty());
  // 190 bytes of weights beside an image fit alone but not together: (8 - 1) * 290 against 8 * 800 and 2 * 8 * 400.
  EXPECT_THAT(stretches(calls(0, 190), values, 8, 1), ElementsAre(Pair(0, 3)));
  // Weights that are far in both orders cost nothing; weights that only call by call keeps near do.
  EXPECT_THAT(stretches(calls(5000, 0), values, 8, 1), ElementsAre(Pair(0, 3)));
  const ImageCosts slowStart = {twoLevels.levels, 5000};
  EXPECT_THAT(stretches(calls(0, 0), values, 8, 1, slowStart), IsEmpty());
}

/// Cycles that `chosen` saves, computed in a simple way.
double saving(const std::vector<ImageCall> &calls, const std::vector<ImageValue> &values, double rounds,
              const ImageCosts &costs, const std::vector<std::pair<size_t, size_t>> &chosen) {
  double saved = 0;
  for (auto [first, last] : chosen) {
    double weights = 0, passing = 0;
    for (size_t i = first; i < last; ++i) {
      weights += calls[i].weights;
      passing = std::max(passing, calls[i].passing);
    }
    for (size_t i = first; i < last; ++i) {
      double before = costs.levels.cyclesPerByte(calls[i].weights + calls[i].passing);
      saved -= (rounds - 1) * (calls[i].weights * (costs.levels.cyclesPerByte(weights + passing) - before));
      saved -= (rounds - 1) * costs.callCycles;
    }
    for (const ImageValue &value : values)
      if (value.made >= first && value.last < last)
        for (size_t use : value.uses)
          saved += rounds * value.bytes *
                   (costs.levels.cyclesPerByte(calls[use].passing * rounds) -
                    costs.levels.cyclesPerByte(calls[use].passing));
  }
  return saved;
}

TEST(ImageCost, noDivisionIntoStretchesSavesMore) {
  uint64_t state = 20261123;
  auto random = [&](uint64_t most) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % (most + 1);
  };
  int several = 0;
  for (int round = 0; round < 400; ++round) {
    const size_t count = 1 + random(6);
    std::vector<ImageCall> calls(count);
    for (ImageCall &call : calls)
      call = {double(100 + random(900)), double(random(600))};
    std::vector<ImageValue> values;
    for (size_t i = 0; i < random(8); ++i) {
      size_t made = random(count - 1), last = made + random(count - 1 - made);
      values.push_back({double(random(800)), made, last, {made, last}});
    }
    const ImageCosts costs = {MemoryLevels({{500, 0}, {1500, 0.1}, {0, 1}}), double(random(100))};
    auto chosen = stretches(calls, values, 4, 1, costs);
    several += chosen.size() > 1;
    double best = 0; // over all divisions: cuts between calls, and a choice for each part
    for (size_t cuts = 0; cuts < size_t(1) << (count - 1); ++cuts) {
      double sum = 0;
      for (size_t first = 0, i = 0; i < count; ++i)
        if (i + 1 == count || (cuts >> i & 1)) {
          sum += std::max(0.0, saving(calls, values, 4, costs, {{first, i + 1}}));
          first = i + 1;
        }
      best = std::max(best, sum);
    }
    EXPECT_NEAR(saving(calls, values, 4, costs, chosen), best, 1e-6) << "round " << round;
  }
  EXPECT_GT(several, 5);
}

/// Seconds that `chosen` takes by measured times, computed in a simple way; infinite if `chosen` is not allowed.
double measuredCost(const std::vector<ImageCall> &calls, const std::vector<ImageValue> &values, const ImageCosts &costs,
                    const std::vector<Stretch> &predicted, const std::vector<Stretch> &chosen) {
  constexpr double never = std::numeric_limits<double>::infinity(), doubt = 1 + imageDoubt;
  auto in = [](const std::vector<Stretch> &stretches, size_t call) {
    return std::find_if(stretches.begin(), stretches.end(),
                        [&](const Stretch &s) { return s.first <= call && call < s.last; });
  };
  double sum = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    auto before = in(predicted, i), now = in(chosen, i);
    bool wasInside = before != predicted.end(), isInside = now != chosen.end(),
         kept = wasInside && isInside && *before == *now;
    auto isMeasured = [&](const Stretch &stretch) {
      return std::all_of(calls.begin() + long(stretch.first), calls.begin() + long(stretch.last),
                         [](const ImageCall &call) { return call.isMeasured(); });
    };
    if (wasInside && !isMeasured(*before)) {
      if (!kept)
        return never;
      continue;
    }
    double byCall = calls[i].callSeconds * (wasInside ? doubt : 1),
           byImages = calls[i].imagesSeconds * (wasInside ? 1 : doubt);
    if (!isInside) {
      sum += byCall;
    } else if (kept) {
      sum += byImages;
    } else {
      double weights = 0, passing = 0, inside = 0;
      for (size_t other = now->first; other < now->last; ++other) {
        weights += calls[other].weights;
        passing = std::max(passing, calls[other].passing);
      }
      if (!isMeasured(*now) || (calls[i].weights > 0 && costs.levels.levelOf(weights + passing) >
                                                            costs.levels.levelOf(calls[i].weights + calls[i].passing)))
        return never;
      for (const ImageValue &value : values)
        if (value.made >= now->first && value.last < now->last)
          inside += value.bytes * double(std::count(value.uses.begin(), value.uses.end(), i));
      sum += byImages > byCall ? byImages : byCall - (byCall - byImages) * inside / calls[i].passing;
    }
  }
  return sum;
}

/// All divisions of `count` calls into stretches and calls between them.
std::vector<std::vector<Stretch>> divisions(size_t count) {
  std::vector<std::vector<Stretch>> all = {{}};
  for (size_t end = 1; end <= count; ++end)
    for (size_t first = 0; first < end; ++first)
      for (std::vector<Stretch> before : divisions(first)) {
        before.push_back({first, end});
        all.push_back(std::move(before));
      }
  return all;
}

TEST(ImageCost, noDivisionTakesLessMeasuredTime) {
  uint64_t state = 20261124;
  auto random = [&](uint64_t most) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % (most + 1);
  };
  const ImageCosts costs = {MemoryLevels({{500, 0}, {2200, 0.1}, {0, 1}}), 0};
  int changed = 0, added = 0;
  for (int round = 0; round < 1000; ++round) {
    const size_t count = 1 + random(4);
    std::vector<ImageCall> calls(count);
    for (ImageCall &call : calls)
      call = {double(1000 + random(600)), random(1) ? double(random(600)) : 0, 1e-6 * double(800 + random(400)),
              random(9) ? 1e-6 * double(700 + random(400)) : 0};
    std::vector<ImageValue> values;
    for (size_t i = 0; i + 1 < count; ++i)
      if (random(4))
        values.push_back({double(100 + random(400)), i, i + 1, {i, i + 1}});
    std::vector<Stretch> predicted;
    for (size_t first = random(1); first < count;) {
      size_t last = first + 1 + random(count - first - 1);
      predicted.push_back({first, last});
      first = last + random(2);
    }
    std::vector<Stretch> chosen = measuredStretches(calls, values, predicted, costs);
    double best = std::numeric_limits<double>::infinity();
    for (const std::vector<Stretch> &division : divisions(count))
      best = std::min(best, measuredCost(calls, values, costs, predicted, division));
    EXPECT_NEAR(measuredCost(calls, values, costs, predicted, chosen), best, 1e-12) << "round " << round;
    changed += chosen != predicted;
    for (const Stretch &stretch : chosen)
      added += std::find(predicted.begin(), predicted.end(), stretch) == predicted.end();
    for (ImageCall &call : calls)
      call.imagesSeconds = 0;
    EXPECT_EQ(measuredStretches(calls, values, predicted, costs), predicted) << "without times";
  }
  EXPECT_GT(changed, 150);
  EXPECT_GT(added, 40);
}

} // namespace
