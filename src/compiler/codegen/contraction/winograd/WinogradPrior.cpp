// The schedule of `winograd` without search: cycles of its three parts, caches, and what slots do.
#include "codegen/contraction/direct/DirectPlan.h"
#include "codegen/contraction/winograd/WinogradPlan.h"
#include "codegen/space/RegisterBlock.h"
#include "codegen/target/Caches.h"

#include <array>
#include <cmath>

namespace lathe {
namespace {

// A stage more: a fork and a join, and lines that another core wrote last arriving one after the other.
constexpr double stageCycles = 1500;

/// Register blocks of all chunks of an image. With open extents chunks differ by a tile at most, so that few are less
/// full than in a schedule for static extents, all but the last of whose chunks are full.
int64_t blocksOfImage(const WinogradPlan &plan) {
  if (!plan.conv.open)
    return plan.chunks() * plan.blocks;
  int64_t inChunk = (plan.tiles() + plan.chunks() - 1) / plan.chunks();
  return plan.chunks() * ((inChunk + plan.px - 1) / plan.px);
}

/// Cycles in which the weights of a step arrive where the second level does not hold a panel and the next one, which is
/// fetched meanwhile: from memory, once more for each register block.
double panelCycles(const WinogradPlan &plan, const Caches &caches) {
  double line = double(plan.wide()) * plan.format.unitBytes();
  return 2 * line * double(plan.steps()) > 0.75 * caches.secondLevel ? line / caches.fromMemory : 0;
}

/// Of all slots together. `in` and `out`: operations of the input's and the output's transform.
double predictedCycles(const Target &target, const WinogradPlan &plan, double in, double out, int threads) {
  Caches caches = cachesOf(target, 1);
  double alpha = plan.alpha(), m = plan.m(), inBlocks = plan.inBlocks(), outVectors = plan.outVectors();
  // Two multiply-adds, two loads, one store a cycle; a transform is two passes of alpha (or m) rows.
  auto pass = [](double count, double loads, double operations, double stores) {
    return count * std::max({loads / 2, operations / 2, stores, 1.0}) * 1.3;
  };
  double padded = std::min(1.0, 2.0 * (plan.tileRows() + plan.tileColumns()) / plan.tiles());
  double shares = plan.pointShares; // each reads nearly all of a tile for its own rows
  double input = plan.tiles() * inBlocks * plan.split *
                 (shares * pass(alpha, alpha, in / shares, alpha / shares) + pass(alpha, alpha, in, alpha) +
                  padded * alpha * 2 * shares);
  double output = plan.tiles() * outVectors * (pass(alpha, alpha, out, m) + pass(m, alpha, out, m) + m * m);
  double rows = plan.px, vectors = plan.oc;
  double step = stepCycles(target, plan.px, plan.oc, panelIsFar(target, plan.steps(), plan.oc), plan.format);
  step = std::max(step, panelCycles(plan, caches));
  double products =
      double(blocksOfImage(plan)) * plan.points() * plan.channelTiles() * (plan.steps() * step + 1.5 * rows * vectors);
  double weights = double(plan.points()) * plan.steps() * outVectors * plan.lanes * 4;
  // Slots that share the points read their own points' weights.
  double readers = plan.staged() ? std::min<double>(shares, threads) : 1;
  auto reading = [&](const Caches &from) { return from.read(weights / readers) * readers * plan.chunks(); };
  double again = reading(caches);
  double held = plan.productsAt() * 4.0; // the transformed input passes by once a tile of channels
  double inputAgain =
      caches.read(held) * plan.channelTiles() * plan.chunks() * (held > caches.secondLevel * 0.7 ? 1 : 0.3);
  double handed = 0;
  if (plan.staged())
    handed = threads * stageCycles + plan.points() * plan.tiles() * outVectors * plan.lanes * 4 * (readers - 1) /
                                         readers / otherCoreBytesPerCycle;
  double alone =
      input + output + std::max(products, again) + 0.25 * std::min(products, again) + 0.5 * inputAgain + handed;
  // Memory that the slots share decides between numbers of weights, hardly between register blocks of as many weights.
  constexpr double filled = 0.75;
  return alone + filled * std::max(0.0, reading(cachesOf(target, threads)) - alone);
}

/// The same where a run knows the extents: the mean over images of other sizes, of as many outputs as the assumed one.
double predictedOfSizes(const Target &target, const WinogradPlan &plan, double in, double out, int threads) {
  constexpr std::array sizes = {0.75, 1.0, 1.4}; // times each extent
  double mean = 0;
  for (double times : sizes) {
    WinogradPlan other = plan;
    for (int axis = 1; axis < 3; ++axis)
      other.conv.out[axis] = std::max<int64_t>(1, std::llround(double(plan.conv.out[axis]) * times));
    mean += predictedCycles(target, other, in, out, threads) * double(plan.conv.outPixels()) /
            double(other.conv.outPixels()) / sizes.size();
  }
  return mean;
}

/// Work of the busiest of `threads` slots over an equal share, in register blocks: the last chunk of an image may be
/// smaller than the others, and shares of the channels may differ by a tile, those of the points by a row.
double slotWaste(const WinogradPlan &plan, int64_t images, int64_t threads) {
  if (plan.staged()) {
    int64_t most = 0;
    for (int64_t slot = 0; slot < threads; ++slot)
      most = std::max(most, plan.firstRowOf(plan.pointShares * (slot + 1) / threads) -
                                plan.firstRowOf(plan.pointShares * slot / threads));
    return double(most * threads) / double(plan.alpha());
  }
  int64_t units = images * plan.chunks() * plan.split;
  if (units > 100000)
    return 1;
  double total = 0, busiest = 0;
  for (int64_t slot = 0; slot < threads; ++slot) {
    double work = 0;
    for (int64_t unit = units * slot / threads; unit < units * (slot + 1) / threads; ++unit) {
      int64_t share = unit % plan.split, chunk = unit / plan.split % plan.chunks();
      int64_t tiles = std::min(plan.chunk(), plan.tiles() - chunk * plan.chunk());
      int64_t channels = plan.channelTiles() * (share + 1) / plan.split - plan.channelTiles() * share / plan.split;
      work += double((tiles + plan.px - 1) / plan.px) * channels;
    }
    total += work;
    busiest = std::max(busiest, work);
  }
  return busiest * threads / total;
}

/// The fastest plan by prediction, over tile sizes and register blocks.
class PlanSearch {
public:
  /// Only plans with less than `least` predicted cycles are taken.
  PlanSearch(const KernelFacts &facts, const ConvGeometry &conv, double least)
      : facts(facts), conv(conv), lanes(facts.target.lanes(32)), vectors((conv.outChannels + lanes - 1) / lanes),
        images(conv.images.isConstant() ? conv.images.constant() : 1), threads(facts.threads), least(least) {}

  /// The schedule of the best plan. Of plans for open extents that differ little at the assumed size it is the one that
  /// is best over several sizes.
  std::optional<Schedule> best() const {
    const Tried *best = nullptr;
    for (const Tried &tried : plans)
      if (tried.cycles <= least * (1 + openTie) && (!best || tried.ofSizes < best->ofSizes))
        best = &tried;
    return best ? std::optional(scheduleOf(best->plan)) : std::nullopt;
  }

  /// Tries every plan of m outputs per tile and axis whose products are in `format`.
  void tryTiles(int64_t m, const ContractionFormat &format) {
    WinogradPlan plan{conv, transformFor(m, format), lanes, 1, 1, 1, 1, 1, true, format};
    plan.unroll = std::min<int64_t>(8, plan.blockSteps());
    in = operationsOf(plan.transform.input);
    out = operationsOf(plan.transform.output);
    int64_t most = plan.tiles() * (conv.open ? 2 : 1); // tiles of a chunk
    for (plan.oc = 1; plan.oc <= std::min<int64_t>(vectors, 6); ++plan.oc) {
      if (vectors % plan.oc)
        continue;
      for (plan.px = 1; plan.px <= std::min<int64_t>(plan.tiles(), 28); ++plan.px) {
        if (!fitsRegisters(facts.target, plan.px, plan.oc) || (conv.open && plan.px * plan.oc < fewestSums))
          continue;
        for (plan.blocks = 1; plan.blocks == 1 || plan.chunk() < most + plan.px; ++plan.blocks) {
          if (plan.scratchFloats() * 4 > 6 << 20)
            break;
          tryShares(plan);
        }
      }
    }
  }

private:
  struct Tried {
    WinogradPlan plan;
    double cycles, ofSizes;
  };
  static constexpr double openTie = 0.03;
  /// Small register blocks fit tiles of any number, and between two of them passes more time than is predicted: one of
  /// a vector took 1.36 ms where one of 8 x 2 took 0.75 ms (Zen 4, 256 channels of 14 x 14).
  static constexpr int64_t fewestSums = 12;

  const KernelFacts &facts;
  const ConvGeometry &conv;
  std::vector<Tried> plans; // each faster than those before it, or nearly so
  int64_t lanes, vectors, images, threads;
  double least, in = 0, out = 0;

  void tryShares(WinogradPlan &plan) {
    // Each share of the channels repeats the input's transform: more of them only where slots would wait.
    for (plan.split = 1; plan.split <= std::min(plan.channelTiles(), std::max<int64_t>(2, 2 * threads)); ++plan.split)
      if (!consider(plan))
        break;
    plan.split = 1;
    // Shares of the points repeat nothing, but wait for each other and hand all products on: for one tile of
    // channels, which cannot be shared.
    bool shares = threads > 1 && !conv.open && conv.images == Dim(1) && plan.chunks() == 1 && plan.channelTiles() == 1;
    for (plan.pointShares = 2; shares && plan.pointShares <= plan.alpha(); ++plan.pointShares)
      consider(plan);
    plan.pointShares = 1;
  }

  static Schedule scheduleOf(const WinogradPlan &plan) {
    Schedule schedule = emptySchedule("winograd");
    schedule.numbers = {{"m", plan.m()},       {"mr", plan.px},         {"mc", plan.blocks}, {"oc", plan.oc},
                        {"split", plan.split}, {"unroll", plan.unroll}, {"prefetch", 1}};
    if (plan.staged())
      schedule.numbers["pointsplit"] = plan.pointShares;
    schedule.words.clear();
    if (plan.format.converts)
      schedule.words = {{"type", plan.format.name}};
    return schedule;
  }

  /// False if the plan is slower even with equal shares for all slots.
  bool consider(const WinogradPlan &plan) {
    double cycles = predictedCycles(facts.target, plan, in, out, int(threads));
    const double limit = conv.open ? 1 + openTie : 0.999;
    if (cycles >= least * limit)
      return false;
    // What is compiled for one thread may run on two: of plans that are nearly as fast the one that can be halved.
    cycles *= threads > 1 ? slotWaste(plan, images, threads) : 1 + 0.02 * (slotWaste(plan, images, 2) - 1);
    if (cycles >= least * limit)
      return true;
    least = std::min(least, cycles);
    plans.push_back({plan, cycles, conv.open ? predictedOfSizes(facts.target, plan, in, out, int(threads)) : cycles});
    return true;
  }
};

} // namespace

std::optional<Schedule> winogradPrior(const KernelFacts &facts, const ConvGeometry &conv) {
  if (facts.target.vectorRegisters < 16)
    return std::nullopt;
  try {
    requireWinograd(facts, conv);
  } catch (const Illegal &) {
    return std::nullopt;
  }
  int64_t lanes = facts.target.lanes(32), vectors = (conv.outChannels + lanes - 1) / lanes;
  double weights = 9.0 * conv.inChannels * vectors * lanes *
                   preferredFormat(facts.precision, facts.target, conv.types()).bytesPerStep();
  double direct = std::max(directCycles(facts, conv), cachesOf(facts.target, facts.threads).read(weights));
  PlanSearch search(facts, conv, direct * 0.95); // a change of algorithm has to be worth it
  ContractionFormat format = fastestFormat(facts.precision, facts.target, conv.types());
  if (format.sum == ElementType::i32) { // products of fours of bytes save more than the transforms
    if (format.group <= 2)
      search.tryTiles(2, format);
    return search.best();
  }
  for (int64_t m : {2, 4, 6})
    search.tryTiles(m, plainFormat(conv.type));
  if (format.rounds)
    for (int64_t m : {2, 3, 4})
      search.tryTiles(m, format);
  return search.best();
}

namespace {

/// The format of the products of integers at points.
ContractionFormat pairsOrSingles(const Target &target, const ConvGeometry &conv) {
  return formatNamed(formatApplies("i16", target, conv.types()) ? "i16" : "i32", conv.type);
}

} // namespace

Schedule winogradPriorOf(const KernelFacts &facts, const ConvGeometry &conv, std::optional<int64_t> m) {
  requireWinograd(facts, conv);
  PlanSearch search(facts, conv, INFINITY);
  if (conv.type == ElementType::i32)
    search.tryTiles(m.value_or(2), pairsOrSingles(facts.target, conv));
  else
    for (int64_t tile : {2, 4, 6})
      if (!m || tile == *m)
        search.tryTiles(tile, plainFormat(conv.type));
  std::optional<Schedule> best = search.best();
  if (!best)
    illegal("scratch", "no plan of winograd{} has less than 6 MiB of scratch", m ? fmt::format(" m={}", *m) : "");
  return *best;
}

} // namespace lathe
